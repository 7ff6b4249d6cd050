// Reflectors that another library has computed: their triangles T.
#include <memory>

#include "basalt/qr.hpp"
#include "kernels/cpu/qr/block_reflector.hpp"
#include "kernels/on_stream.hpp"
#include "tasks/qr/gpu_reflections.hpp"

namespace basalt {

namespace {

using detail::ColumnGpus;
using detail::GpuReflections;
using detail::on_any_device;
using detail::Panel;
using detail::QrState;

template <class T>
void submit_triangle(QrState<T>& qr, int k, const Panel& p, const T* tau) {
    qr.runtime.submit({.name = "T", .tile = {k}, .place = Place::cpu()}, read(qr.region(p, p.first, qr.grid().rows())),
                      write(qr.t_of(k)), [tau = tau + p.first](View<const T> panel, View<T> t) {
                          triangle_of_reflectors<T>(panel, tau, t);
                      });
}

/// The GPU that has the panel makes V^T V, whose elements a core turns into T.
template <class T>
void submit_triangle_by_gram_matrix(QrState<T>& qr, int k, const Panel& p, const T* tau, int gpu) {
    const Index rows = qr.grid().rows();
    const GpuReflections<T>& own = *qr.reflections_on_gpus;
    const auto device = static_cast<std::size_t>(gpu);
    qr.runtime.submit({.name = "V^T V", .tile = {k}, .place = Place::gpu(gpu)}, read(qr.region(p, p.first, rows)),
                      write(qr.t_of(k)), write(own.v[device].rows(0, rows - p.first, p.width)),
                      write(own.workspaces[device].region()),
                      on_any_device([](Stream stream, View<const T> a, View<T> gram, View<T> v, View<T> workspace) {
                          on_stream::explicit_reflectors<T>(stream, a, v);
                          on_stream::gram_matrix<T>(stream, v, gram, workspace.data());
                      }));
    qr.runtime.submit({.name = "T", .tile = {k}, .place = Place::cpu()}, readwrite(qr.t_of(k)),
                      [tau = tau + p.first](View<T> t) { triangle_of_gram<T>(t, tau, t); });
}

}  // namespace

template <class T>
QrFactors<T> qr_adopt(Runtime& runtime, Matrix<T>& a, const T* tau) {
    if (&a.runtime() != &runtime) throw UsageError("qr_adopt: the matrix belongs to another runtime");
    QrOptions options;
    options.mode = detail::gpus_to_solve_on(*a.share_storage(), 0).empty() ? QrMode::cpu : QrMode::gpu;
    const detail::QrChoices choices(runtime.tuning(), options, a.rows(), a.cols(), runtime.workers(), runtime.gpus());
    auto state = std::make_shared<QrState<T>>(runtime, a.share_storage(), choices);
    const ColumnGpus gpus = detail::gpus_for_reflections(*state, 0);
    for (int k = 0; k < static_cast<int>(state->panels.size()); ++k) {
        const Panel& p = state->panels[static_cast<std::size_t>(k)];
        if (gpus.empty()) {
            submit_triangle(*state, k, p, tau);
        } else {
            submit_triangle_by_gram_matrix(*state, k, p, tau, gpus[static_cast<std::size_t>(p.tile_column)]);
        }
    }
    return QrFactors<T>(std::move(state));
}

template QrFactors<float> qr_adopt(Runtime&, Matrix<float>&, const float*);
template QrFactors<double> qr_adopt(Runtime&, Matrix<double>&, const double*);

}  // namespace basalt
