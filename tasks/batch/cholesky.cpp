// Cholesky of batches: the whole on the calling thread, or a task for each slice.
#include "basalt/batch_cholesky.hpp"

#include <cstddef>

#include "kernels/cpu/batch/cholesky.hpp"
#include "tasks/batch/operands.hpp"
#include "tasks/batch/share.hpp"
#include "tasks/batch/work.hpp"

namespace basalt {

namespace {

template <class T>
detail::BatchShape cholesky_shape(const BatchView<const T>& a, const BatchView<const T>* b) {
    return {.count = a.count(),
            .alike = a.uniform() && (b == nullptr || b->uniform()),
            .lanes = cpu_kernels::batch_lanes<T>()};
}

template <class T>
auto cholesky_work_of(const BatchView<const T>& a, const BatchView<const T>* b) {
    return [&a, b](Index k) { return detail::cholesky_work(a[k].rows(), b != nullptr ? (*b)[k].cols() : 0); };
}

/// Calls work(begin, end) for stretches of the batch that cover it, on several cores if that pays.
template <class T, class Run>
void share_cholesky(Runtime& runtime, const char* name, const BatchView<const T>& a, const BatchView<const T>* b,
                    const Run& run) {
    detail::share_batch(runtime, name, cholesky_shape(a, b), cholesky_work_of(a, b), run);
}

/// submit(begin, end) for each slice.
template <class T, class Submit>
void submit_cholesky(const Runtime& runtime, const BatchView<const T>& a, const BatchView<const T>* b,
                     const Submit& submit) {
    detail::submit_slices(runtime, cholesky_shape(a, b), cholesky_work_of(a, b), submit);
}

}  // namespace

template <class T>
void batch_cholesky_factor(Runtime& runtime, Triangle triangle, const BatchView<T>& a, std::span<Index> info) {
    detail::check_square<const T>("batch_cholesky_factor", "A", a);
    detail::check_info("batch_cholesky_factor", a.count(), std::ssize(info));
    share_cholesky<T>(runtime, "batch potrf", a, nullptr, [&](Index begin, Index end) {
        cpu_kernels::batch_factor<T>(triangle, a.part(begin, end), info.data() + begin);
    });
}

template <class T>
void batch_cholesky_solve(Runtime& runtime, Triangle triangle, const BatchView<const T>& factors,
                          const BatchView<T>& b) {
    const BatchView<const T> right(b);
    detail::check_square<const T>("batch_cholesky_solve", "A", factors);
    detail::check_right_sides<T>("batch_cholesky_solve", factors, right);
    share_cholesky<T>(runtime, "batch potrs", factors, &right, [&](Index begin, Index end) {
        cpu_kernels::batch_solve<T>(triangle, factors.part(begin, end), b.part(begin, end));
    });
}

namespace {

template <class T>
void factor_solve_part(Triangle triangle, const BatchView<T>& a, const BatchView<T>& b, Index* info,
                       BatchFactor factor) {
    if (factor == BatchFactor::keep) {
        cpu_kernels::batch_factor_solve<T>(triangle, a, b, info);
    } else {
        cpu_kernels::batch_factor_solve<T>(triangle, BatchView<const T>(a), b, info);
    }
}

}  // namespace

template <class T>
void batch_cholesky_factor_solve(Runtime& runtime, Triangle triangle, const BatchView<T>& a, const BatchView<T>& b,
                                 std::span<Index> info, BatchFactor factor) {
    const BatchView<const T> right(b);
    detail::check_square<const T>("batch_cholesky_factor_solve", "A", a);
    detail::check_right_sides<T>("batch_cholesky_factor_solve", a, right);
    detail::check_info("batch_cholesky_factor_solve", a.count(), std::ssize(info));
    share_cholesky<T>(runtime, "batch posv", a, &right, [&](Index begin, Index end) {
        factor_solve_part(triangle, a.part(begin, end), b.part(begin, end), info.data() + begin, factor);
    });
}

template <class T>
void batch_cholesky_factor(Runtime& runtime, Triangle triangle, const Batch<T>& a, const Array<Index>& info) {
    detail::check_square<const T>("batch_cholesky_factor", "A", a.view());
    detail::check_info("batch_cholesky_factor", a.count(), info.size());
    submit_cholesky<T>(runtime, BatchView<const T>(a.view()), nullptr, [&](Index begin, Index end) {
        const auto slice = a.slice(begin, end);
        runtime.submit({.name = "batch potrf", .place = Place::cpu()}, readwrite(slice), write(info.rows(begin, end)),
                       [triangle, matrices = slice.view()](View<Index> info) {
                           cpu_kernels::batch_factor<T>(triangle, matrices, info.data());
                       });
    });
}

template <class T>
void batch_cholesky_solve(Runtime& runtime, Triangle triangle, const Batch<T>& factors, const Batch<T>& b) {
    detail::check_square<const T>("batch_cholesky_solve", "A", factors.view());
    detail::check_right_sides<T>("batch_cholesky_solve", factors.view(), b.view());
    const BatchView<const T> matrices(factors.view()), sides(b.view());
    submit_cholesky<T>(runtime, matrices, &sides, [&](Index begin, Index end) {
        const auto slice = factors.slice(begin, end), right = b.slice(begin, end);
        runtime.submit({.name = "batch potrs", .place = Place::cpu()}, read(slice), readwrite(right),
                       [triangle, a = BatchView<const T>(slice.view()), b = right.view()] {
                           cpu_kernels::batch_solve<T>(triangle, a, b);
                       });
    });
}

template <class T>
void batch_cholesky_factor_solve(Runtime& runtime, Triangle triangle, const Batch<T>& a, const Batch<T>& b,
                                 const Array<Index>& info, BatchFactor factor) {
    detail::check_square<const T>("batch_cholesky_factor_solve", "A", a.view());
    detail::check_right_sides<T>("batch_cholesky_factor_solve", a.view(), b.view());
    detail::check_info("batch_cholesky_factor_solve", a.count(), info.size());
    const AccessMode mode = factor == BatchFactor::keep ? AccessMode::readwrite : AccessMode::read;
    const BatchView<const T> matrices(a.view()), sides(b.view());
    submit_cholesky<T>(runtime, matrices, &sides, [&](Index begin, Index end) {
        const auto slice = a.slice(begin, end), right = b.slice(begin, end);
        runtime.submit({.name = "batch posv", .place = Place::cpu()}, slice.access(mode), readwrite(right),
                       write(info.rows(begin, end)),
                       [triangle, factor, a = slice.view(), b = right.view()](View<Index> info) {
                           factor_solve_part(triangle, a, b, info.data(), factor);
                       });
    });
}

template void batch_cholesky_factor<float>(Runtime&, Triangle, const BatchView<float>&, std::span<Index>);
template void batch_cholesky_factor<double>(Runtime&, Triangle, const BatchView<double>&, std::span<Index>);
template void batch_cholesky_solve<float>(Runtime&, Triangle, const BatchView<const float>&, const BatchView<float>&);
template void batch_cholesky_solve<double>(Runtime&, Triangle, const BatchView<const double>&,
                                           const BatchView<double>&);
template void batch_cholesky_factor_solve<float>(Runtime&, Triangle, const BatchView<float>&, const BatchView<float>&,
                                                 std::span<Index>, BatchFactor);
template void batch_cholesky_factor_solve<double>(Runtime&, Triangle, const BatchView<double>&,
                                                  const BatchView<double>&, std::span<Index>, BatchFactor);
template void batch_cholesky_factor<float>(Runtime&, Triangle, const Batch<float>&, const Array<Index>&);
template void batch_cholesky_factor<double>(Runtime&, Triangle, const Batch<double>&, const Array<Index>&);
template void batch_cholesky_solve<float>(Runtime&, Triangle, const Batch<float>&, const Batch<float>&);
template void batch_cholesky_solve<double>(Runtime&, Triangle, const Batch<double>&, const Batch<double>&);
template void batch_cholesky_factor_solve<float>(Runtime&, Triangle, const Batch<float>&, const Batch<float>&,
                                                 const Array<Index>&, BatchFactor);
template void batch_cholesky_factor_solve<double>(Runtime&, Triangle, const Batch<double>&, const Batch<double>&,
                                                  const Array<Index>&, BatchFactor);

}  // namespace basalt
