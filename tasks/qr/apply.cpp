// Multiplying by the Q of a factorization, and forming it: a task for each panel and part of C.
#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "basalt/qr.hpp"
#include "kernels/cpu/qr/block_reflector.hpp"
#include "kernels/on_stream.hpp"
#include "kernels/triangle.hpp"
#include "tasks/choices/require.hpp"
#include "tasks/on_gpus/substitution_on_gpus.hpp"
#include "tasks/qr/by_tiles.hpp"
#include "tasks/qr/gpu_reflections.hpp"
#include "tiles/copy.hpp"

namespace basalt {

namespace {

using detail::ColumnGpus;
using detail::DatumAddresses;
using detail::GpuReflections;
using detail::on_any_device;
using detail::Panel;
using detail::QrState;
using detail::require;
using detail::StepFromRight;
using detail::submit_tile_reflections;

std::string text(Index rows, Index cols) { return std::to_string(rows) + " x " + std::to_string(cols); }

/// What is known of C's columns left of a panel's first column, from its first row on.
enum class LeftColumns { any, zero };

template <class T>
class Reflections {
  public:
    Reflections(QrState<T>& qr, Reflection reflection, Matrix<T>& c)
        : qr_(qr), reflection_(reflection), c_(c), rows_a_task_(qr.runtime.tuning().cpu.qr.apply_rows) {}

    /// C = op(Q) C.
    void from_left(LeftColumns left) {
        if (!qr_.by_tiles) prepare_gpus();
        // Q = H_1 H_2 ...: its transpose applies the first one first
        for_each_panel(reflection_ == Reflection::transposed, [&](int k, const Panel& p) {
            const Index first_col = left == LeftColumns::zero ? p.first : 0;
            for (Index j = first_col / c_.tile_shape().width; j < c_.tile_cols(); ++j) {
                const Index begin = std::max<Index>(0, first_col - j * c_.tile_shape().width);
                from_left(k, p, j, begin);
            }
        });
    }

    /// C = C op(Q)
    void from_right() {
        for_each_panel(reflection_ == Reflection::plain, [&](int k, const Panel& p) {
            for (Index row = 0; row < c_.rows(); row += rows_a_task_)
                from_right(k, p, row, std::min(row + rows_a_task_, c_.rows()));
        });
    }

  private:
    template <class F>
    void for_each_panel(bool forward, const F& visit) const {
        const int steps = static_cast<int>(qr_.panels.size());
        for (int step = 0; step < steps; ++step) {
            const int k = forward ? step : steps - 1 - step;
            visit(k, qr_.panels[static_cast<std::size_t>(k)]);
        }
    }
    Index rows() const { return qr_.grid().rows(); }

    void from_left(int k, const Panel& p, Index j, Index begin) {
        const Region<T> column = c_.column(j);
        if (qr_.by_tiles)
            return submit_tile_reflections(qr_, k, reflection_, *c_.share_storage(), j, begin, column.cols, 0);
        if (!gpus_.empty()) return from_left_on_gpu(k, p, j, begin);
        qr_.runtime.submit({.name = "apply Q", .tile = {k, static_cast<int>(j)}, .place = Place::cpu()},
                           read(qr_.region(p, p.first, rows())), read(qr_.t_of(k)),
                           readwrite(c_.block(j, p.first, rows(), begin, column.cols)),
                           [reflection = reflection_](View<const T> panel, View<const T> t, View<T> c) {
                               const Index width = panel.cols();
                               std::vector<T> memory(static_cast<std::size_t>(panel.size()));
                               const auto vt = View<T>::row_major(memory.data(), width, panel.rows(), panel.rows());
                               explicit_reflectors<T>(panel, transposed(vt));
                               apply_block_reflector<T>(reflection, vt,
                                                        panel.block(width, 0, panel.rows() - width, width), t, c);
                           });
    }

    void prepare_gpus() {
        gpus_ = detail::gpus_for_reflections(qr_, c_.share_storage()->column_bytes());
        if (!gpus_.empty()) c_.share_storage()->pin_what_is_at_home();
    }

    /// On the GPU that has the panel.
    void from_left_on_gpu(int k, const Panel& p, Index j, Index begin) {
        const int gpu = gpus_[static_cast<std::size_t>(p.tile_column)];
        const auto device = static_cast<std::size_t>(gpu);
        const GpuReflections<T>& own = *qr_.reflections_on_gpus;
        qr_.runtime.submit(
            {.name = "apply Q", .tile = {k, static_cast<int>(j)}, .place = Place::gpu(gpu)},
            read(qr_.region(p, p.first, rows())), read(qr_.t_of(k)),
            readwrite(c_.block(j, p.first, rows(), begin, c_.column(j).cols)),
            write(own.v[device].rows(0, rows() - p.first, p.width)), write(own.workspaces[device].region()),
            on_any_device([reflection = reflection_, most = own.columns](
                              Stream stream, View<const T> a, View<const T> t, View<T> c, View<T> v, View<T> memory) {
                on_stream::explicit_reflectors<T>(stream, a, v);
                const View<const T> factor = reflection == Reflection::plain ? transposed(t) : t;
                for (Index first = 0; first < c.cols(); first += most) {
                    const TileColumns<T> part{&c(0, first),  1, 0, c.rows(), std::min(most, c.cols() - first),
                                              c.row_stride()};
                    on_stream::reflect_columns<T>(stream, v, factor, part, memory.data(), Multiplication::plain);
                }
            }));
    }

    /// For rows [begin, end) of C. Their columns from p.first on lie in several tile columns.
    void from_right(int k, const Panel& p, Index begin, Index end) {
        if (qr_.by_tiles) {
            const StepFromRight<T> step(qr_, k);
            return from_right(k, p, begin, end, step.data(),
                              [step, reflection = reflection_](const DatumAddresses& at, View<T> c) {
                                  step.multiply(reflection, at, c);
                              });
        }
        const Region<T> panel_region = qr_.region(p, p.first, rows());
        AccessList data;
        data.read(panel_region).read(qr_.t_of(k));
        from_right(
            k, p, begin, end, data,
            [reflection = reflection_, panel_region, t_region = qr_.t_of(k)](const DatumAddresses& at, View<T> c) {
                const View<const T> panel = read(panel_region).view(at[0]), t = read(t_region).view(at[1]);
                std::vector<T> memory(static_cast<std::size_t>(panel.size()));
                const auto v = View<T>::row_major(memory.data(), panel.rows(), panel.cols(), panel.cols());
                explicit_reflectors<T>(panel, v);
                apply_block_reflector_right<T>(reflection, v, t, c);
            });
    }

    /// The same with the data and the kernel of a task. The kernel gets those rows of C as one matrix.
    template <class Kernel>
    void from_right(int k, const Panel& p, Index begin, Index end, AccessList data, const Kernel& kernel) {
        const std::size_t before = data.records().size();
        const Index width = c_.tile_shape().width;
        for (Index j = p.first / width; j < c_.tile_cols(); ++j) {
            data.readwrite(c_.block(j, begin, end, std::max<Index>(0, p.first - j * width), c_.column(j).cols));
        }
        qr_.runtime.submit(
            {.name = "apply Q", .tile = {k, static_cast<int>(begin / rows_a_task_)}, .place = Place::cpu()}, data,
            [kernel, before, begin, end, first = p.first, width, cols = c_.cols()](const DatumAddresses& at) {
                std::vector<T> row_memory(static_cast<std::size_t>((end - begin) * (cols - first)));
                const auto c = View<T>::row_major(row_memory.data(), end - begin, cols - first, cols - first);
                const auto for_each_part = [&](const auto& visit) {
                    for (std::size_t i = before; i < at.size(); ++i) {
                        const Index j = first / width + static_cast<Index>(i - before),
                                    from = std::max(first, j * width);
                        const Index part = std::min((j + 1) * width, cols) - from;
                        visit(View<T>::row_major(static_cast<T*>(at[i]) + begin * width + (from - j * width),
                                                 end - begin, part, width),
                              c.block(0, from - first, end - begin, part));
                    }
                };
                for_each_part([](View<T> stored, View<T> gathered) { copy_elements<T>(stored, gathered); });
                kernel(at, c);
                for_each_part([](View<T> stored, View<T> gathered) { copy_elements<T>(gathered, stored); });
            });
    }

    QrState<T>& qr_;
    const Reflection reflection_;
    Matrix<T>& c_;
    const Index rows_a_task_;  ///< from the right
    ColumnGpus gpus_;          ///< from the left; empty: on cores
};

}  // namespace

template <class T>
void qr_apply(Runtime& runtime, const QrFactors<T>& qr, QrSide side, QrOp op, Matrix<T>& c) {
    const Index order = side == QrSide::left ? c.rows() : c.cols();
    require(order == qr.rows(),
            "qr_apply: C is " + text(c.rows(), c.cols()) + "; Q has order " + std::to_string(qr.rows()));
    const auto& state = qr.share_state();
    require(&state->runtime == &runtime && &c.runtime() == &runtime,
            "qr_apply: factors, C and runtime do not belong together");
    require(c.share_storage() != state->a, "qr_apply: C is the matrix of the factors");
    if (c.rows() == 0 || c.cols() == 0) return;
    Reflections<T> reflections(*state, op == QrOp::plain ? Reflection::plain : Reflection::transposed, c);
    if (side == QrSide::left) return reflections.from_left(LeftColumns::any);
    reflections.from_right();
}

template <class T>
Matrix<T> qr_form(Runtime& runtime, const QrFactors<T>& qr, std::optional<Index> wanted) {
    const Index m = qr.rows();
    const auto& state = qr.share_state();
    require(&state->runtime == &runtime, "qr_form: the factors belong to another runtime");
    const Index cols = wanted.value_or(std::min(m, qr.cols()));
    require(cols >= 0 && cols <= m,
            "qr_form: " + std::to_string(cols) + " columns; allowed is 0 to " + std::to_string(m) + ", all of Q");
    const TileShape shape = state->grid().shape();
    Matrix<T> q(runtime, m, cols, {shape.height, std::clamp<Index>(cols, 1, shape.width)}, "Q");
    for (Index j = 0; j < q.tile_cols(); ++j) {
        const Region<T> column = q.column(j);
        runtime.submit({.name = "unit", .tile = {static_cast<int>(j)}, .place = Place::cpu()},
                       readwrite(q.block(j, j * q.tile_shape().width,
                                         std::min(m, j * q.tile_shape().width + column.cols), 0, column.cols)),
                       [](View<T> diagonal) {
                           for (Index i = 0; i < diagonal.rows(); ++i) diagonal(i, i) = T{1};
                       });
    }
    Reflections<T>(*state, Reflection::plain, q).from_left(LeftColumns::zero);
    return q;
}

template void qr_apply(Runtime&, const QrFactors<float>&, QrSide, QrOp, Matrix<float>&);
template void qr_apply(Runtime&, const QrFactors<double>&, QrSide, QrOp, Matrix<double>&);
template Matrix<float> qr_form(Runtime&, const QrFactors<float>&, std::optional<Index>);
template Matrix<double> qr_form(Runtime&, const QrFactors<double>&, std::optional<Index>);

}  // namespace basalt
