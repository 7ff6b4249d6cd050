// QR of batches: the whole on the calling thread, or a task for each slice.
#include "basalt/batch_qr.hpp"

#include <algorithm>
#include <cstddef>

#include "kernels/cpu/batch/cholesky.hpp"
#include "kernels/cpu/batch/qr.hpp"
#include "tasks/batch/checks.hpp"
#include "tasks/batch/share.hpp"
#include "tasks/batch/work.hpp"

namespace basalt {

namespace {

template <class T>
struct QrOperands {
    BatchView<const T> a;
    const BatchView<const T>* b = nullptr;

    detail::BatchShape shape() const {
        return {.count = a.count(),
                .alike = a.uniform() && (b == nullptr || b->uniform()),
                .lanes = cpu_kernels::batch_lanes<T>()};
    }
    auto work() const {
        return [this](Index k) { return detail::qr_work(a[k].rows(), a[k].cols(), b != nullptr ? (*b)[k].cols() : 0); };
    }
};

template <class T, class Run>
void share_qr(Runtime& runtime, const char* name, const QrOperands<T>& operands, const Run& run) {
    detail::share_batch(runtime, name, operands.shape(), operands.work(), run);
}
template <class T, class Submit>
void submit_qr(const Runtime& runtime, const QrOperands<T>& operands, const Submit& submit) {
    detail::submit_slices(runtime, operands.shape(), operands.work(), submit);
}

}  // namespace

template <class T>
void batch_qr_factor(Runtime& runtime, const BatchView<T>& a, const BatchView<T>& tau) {
    detail::check_qr<T>("batch_qr_factor", a, tau);
    share_qr<T>(runtime, "batch geqrf", {a}, [&](Index begin, Index end) {
        cpu_kernels::batch_qr_factor<T>(a.part(begin, end), tau.part(begin, end));
    });
}

template <class T>
void batch_qr_form(Runtime& runtime, const BatchView<T>& a, const BatchView<const T>& tau) {
    detail::check_form<T>(a, tau);
    share_qr<T>(runtime, "batch orgqr", {a}, [&](Index begin, Index end) {
        cpu_kernels::batch_qr_form<T>(a.part(begin, end), tau.part(begin, end));
    });
}

template <class T>
void batch_least_squares(Runtime& runtime, const BatchView<T>& a, const BatchView<T>& b, std::span<Index> info) {
    const BatchView<const T> sides(b);
    detail::check_least_squares<T>(a, sides, std::ssize(info));
    share_qr<T>(runtime, "batch gels", {a, &sides}, [&](Index begin, Index end) {
        cpu_kernels::batch_least_squares<T>(a.part(begin, end), b.part(begin, end), info.data() + begin);
    });
}

template <class T>
void batch_qr_factor(Runtime& runtime, const Batch<T>& a, const Batch<T>& tau) {
    detail::check_qr<T>("batch_qr_factor", a.view(), tau.view());
    submit_qr<T>(runtime, {a.view()}, [&](Index begin, Index end) {
        const auto slice = a.slice(begin, end), scales = tau.slice(begin, end);
        runtime.submit({.name = "batch geqrf", .place = Place::cpu()}, readwrite(slice), write(scales),
                       [a = slice.view(), tau = scales.view()] { cpu_kernels::batch_qr_factor<T>(a, tau); });
    });
}

template <class T>
void batch_qr_form(Runtime& runtime, const Batch<T>& a, const Batch<T>& tau) {
    detail::check_form<T>(a.view(), tau.view());
    submit_qr<T>(runtime, {a.view()}, [&](Index begin, Index end) {
        const auto slice = a.slice(begin, end), scales = tau.slice(begin, end);
        runtime.submit(
            {.name = "batch orgqr", .place = Place::cpu()}, readwrite(slice), read(scales),
            [a = slice.view(), tau = BatchView<const T>(scales.view())] { cpu_kernels::batch_qr_form<T>(a, tau); });
    });
}

template <class T>
void batch_least_squares(Runtime& runtime, const Batch<T>& a, const Batch<T>& b, const Array<Index>& info) {
    const BatchView<const T> sides(b.view());
    detail::check_least_squares<T>(a.view(), sides, info.size());
    submit_qr<T>(runtime, {a.view(), &sides}, [&](Index begin, Index end) {
        const auto slice = a.slice(begin, end), right = b.slice(begin, end);
        runtime.submit({.name = "batch gels", .place = Place::cpu()}, readwrite(slice), readwrite(right),
                       write(info.rows(begin, end)), [a = slice.view(), b = right.view()](View<Index> info) {
                           cpu_kernels::batch_least_squares<T>(a, b, info.data());
                       });
    });
}

template void batch_qr_factor<float>(Runtime&, const BatchView<float>&, const BatchView<float>&);
template void batch_qr_form<float>(Runtime&, const BatchView<float>&, const BatchView<const float>&);
template void batch_least_squares<float>(Runtime&, const BatchView<float>&, const BatchView<float>&, std::span<Index>);
template void batch_qr_factor<float>(Runtime&, const Batch<float>&, const Batch<float>&);
template void batch_qr_form<float>(Runtime&, const Batch<float>&, const Batch<float>&);
template void batch_least_squares<float>(Runtime&, const Batch<float>&, const Batch<float>&, const Array<Index>&);
template void batch_qr_factor<double>(Runtime&, const BatchView<double>&, const BatchView<double>&);
template void batch_qr_form<double>(Runtime&, const BatchView<double>&, const BatchView<const double>&);
template void batch_least_squares<double>(Runtime&, const BatchView<double>&, const BatchView<double>&,
                                          std::span<Index>);
template void batch_qr_factor<double>(Runtime&, const Batch<double>&, const Batch<double>&);
template void batch_qr_form<double>(Runtime&, const Batch<double>&, const Batch<double>&);
template void batch_least_squares<double>(Runtime&, const Batch<double>&, const Batch<double>&, const Array<Index>&);

}  // namespace basalt
