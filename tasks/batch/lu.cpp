// LU of batches: the whole on the calling thread, or a task for each slice.
#include "basalt/batch_lu.hpp"

#include <cstddef>

#include "kernels/cpu/batch/cholesky.hpp"
#include "kernels/cpu/batch/lu.hpp"
#include "tasks/batch/checks.hpp"
#include "tasks/batch/share.hpp"
#include "tasks/batch/work.hpp"

namespace basalt {

namespace {

/// The operands of a call: A, and right-hand sides or none.
template <class T>
struct LuOperands {
    BatchView<const T> a;
    const BatchView<const T>* b = nullptr;

    detail::BatchShape shape() const {
        return {.count = a.count(),
                .alike = a.uniform() && (b == nullptr || b->uniform()),
                .lanes = cpu_kernels::batch_lanes<T>()};
    }
    auto work() const {
        return [this](Index k) { return detail::lu_work(a[k].rows(), b != nullptr ? (*b)[k].cols() : 0); };
    }
};

template <class T, class Run>
void share_lu(Runtime& runtime, const char* name, const LuOperands<T>& operands, const Run& run) {
    detail::share_batch(runtime, name, operands.shape(), operands.work(), run);
}
template <class T, class Submit>
void submit_lu(const Runtime& runtime, const LuOperands<T>& operands, const Submit& submit) {
    detail::submit_slices(runtime, operands.shape(), operands.work(), submit);
}

}  // namespace

template <class T>
void batch_lu_factor(Runtime& runtime, const BatchView<T>& a, const BatchView<Index>& pivots, std::span<Index> info) {
    const BatchView<const Index> order(pivots);
    detail::check_lu<T>("batch_lu_factor", a, nullptr, &order);
    detail::check_info("batch_lu_factor", a.count(), std::ssize(info));
    share_lu<T>(runtime, "batch getrf", {a}, [&](Index begin, Index end) {
        cpu_kernels::batch_lu_factor<T>(a.part(begin, end), pivots.part(begin, end), info.data() + begin);
    });
}

template <class T>
void batch_lu_factor(Runtime& runtime, const BatchView<T>& a, std::span<Index> info) {
    detail::check_lu<T>("batch_lu_factor", a, nullptr, nullptr);
    detail::check_info("batch_lu_factor", a.count(), std::ssize(info));
    share_lu<T>(runtime, "batch getrf", {a}, [&](Index begin, Index end) {
        cpu_kernels::batch_lu_factor<T>(a.part(begin, end), info.data() + begin);
    });
}

template <class T>
void batch_lu_solve(Runtime& runtime, const BatchView<const T>& factors, const BatchView<const Index>& pivots,
                    const BatchView<T>& b) {
    const BatchView<const T> sides(b);
    detail::check_lu<T>("batch_lu_solve", factors, &sides, &pivots);
    share_lu<T>(runtime, "batch getrs", {factors, &sides}, [&](Index begin, Index end) {
        const auto order = pivots.part(begin, end);
        cpu_kernels::batch_lu_solve<T>(factors.part(begin, end), &order, b.part(begin, end));
    });
}

template <class T>
void batch_lu_solve(Runtime& runtime, const BatchView<const T>& factors, const BatchView<T>& b) {
    const BatchView<const T> sides(b);
    detail::check_lu<T>("batch_lu_solve", factors, &sides, nullptr);
    share_lu<T>(runtime, "batch getrs", {factors, &sides}, [&](Index begin, Index end) {
        cpu_kernels::batch_lu_solve<T>(factors.part(begin, end), nullptr, b.part(begin, end));
    });
}

template <class T>
void batch_lu_factor_solve(Runtime& runtime, const BatchView<T>& a, const BatchView<Index>& pivots,
                           const BatchView<T>& b, std::span<Index> info) {
    const BatchView<const T> sides(b);
    const BatchView<const Index> order(pivots);
    detail::check_lu<T>("batch_lu_factor_solve", a, &sides, &order);
    detail::check_info("batch_lu_factor_solve", a.count(), std::ssize(info));
    share_lu<T>(runtime, "batch gesv", {a, &sides}, [&](Index begin, Index end) {
        cpu_kernels::batch_lu_factor_solve<T>(a.part(begin, end), pivots.part(begin, end), b.part(begin, end),
                                              info.data() + begin);
    });
}

template <class T>
void batch_lu_factor_solve(Runtime& runtime, const BatchView<const T>& a, const BatchView<T>& b,
                           std::span<Index> info) {
    const BatchView<const T> sides(b);
    detail::check_lu<T>("batch_lu_factor_solve", a, &sides, nullptr);
    detail::check_info("batch_lu_factor_solve", a.count(), std::ssize(info));
    share_lu<T>(runtime, "batch gesv", {a, &sides}, [&](Index begin, Index end) {
        cpu_kernels::batch_lu_factor_solve<T>(a.part(begin, end), b.part(begin, end), info.data() + begin);
    });
}

template <class T>
void batch_lu_invert(Runtime& runtime, const BatchView<T>& factors, const BatchView<const Index>& pivots,
                     std::span<Index> info) {
    detail::check_lu<T>("batch_lu_invert", factors, nullptr, &pivots);
    detail::check_info("batch_lu_invert", factors.count(), std::ssize(info));
    const BatchView<const T> matrices(factors);
    share_lu<T>(runtime, "batch getri", {matrices, &matrices}, [&](Index begin, Index end) {
        cpu_kernels::batch_lu_invert<T>(factors.part(begin, end), pivots.part(begin, end), info.data() + begin);
    });
}

template <class T>
void batch_lu_factor(Runtime& runtime, const Batch<T>& a, const Batch<Index>& pivots, const Array<Index>& info) {
    const BatchView<const Index> order(pivots.view());
    detail::check_lu<T>("batch_lu_factor", a.view(), nullptr, &order);
    detail::check_info("batch_lu_factor", a.count(), info.size());
    submit_lu<T>(runtime, {a.view()}, [&](Index begin, Index end) {
        const auto slice = a.slice(begin, end);
        const auto ipiv = pivots.slice(begin, end);
        runtime.submit({.name = "batch getrf", .place = Place::cpu()}, readwrite(slice), write(ipiv),
                       write(info.rows(begin, end)), [a = slice.view(), ipiv = ipiv.view()](View<Index> info) {
                           cpu_kernels::batch_lu_factor<T>(a, ipiv, info.data());
                       });
    });
}

template <class T>
void batch_lu_factor(Runtime& runtime, const Batch<T>& a, const Array<Index>& info) {
    detail::check_lu<T>("batch_lu_factor", a.view(), nullptr, nullptr);
    detail::check_info("batch_lu_factor", a.count(), info.size());
    submit_lu<T>(runtime, {a.view()}, [&](Index begin, Index end) {
        const auto slice = a.slice(begin, end);
        runtime.submit({.name = "batch getrf", .place = Place::cpu()}, readwrite(slice), write(info.rows(begin, end)),
                       [a = slice.view()](View<Index> info) { cpu_kernels::batch_lu_factor<T>(a, info.data()); });
    });
}

template <class T>
void batch_lu_solve(Runtime& runtime, const Batch<T>& factors, const Batch<Index>& pivots, const Batch<T>& b) {
    const BatchView<const T> sides(b.view());
    const BatchView<const Index> order(pivots.view());
    detail::check_lu<T>("batch_lu_solve", factors.view(), &sides, &order);
    submit_lu<T>(runtime, {factors.view(), &sides}, [&](Index begin, Index end) {
        const auto slice = factors.slice(begin, end), right = b.slice(begin, end);
        const auto ipiv = pivots.slice(begin, end);
        runtime.submit({.name = "batch getrs", .place = Place::cpu()}, read(slice), read(ipiv), readwrite(right),
                       [a = BatchView<const T>(slice.view()), ipiv = BatchView<const Index>(ipiv.view()),
                        b = right.view()] { cpu_kernels::batch_lu_solve<T>(a, &ipiv, b); });
    });
}

template <class T>
void batch_lu_solve(Runtime& runtime, const Batch<T>& factors, const Batch<T>& b) {
    const BatchView<const T> sides(b.view());
    detail::check_lu<T>("batch_lu_solve", factors.view(), &sides, nullptr);
    submit_lu<T>(runtime, {factors.view(), &sides}, [&](Index begin, Index end) {
        const auto slice = factors.slice(begin, end), right = b.slice(begin, end);
        runtime.submit({.name = "batch getrs", .place = Place::cpu()}, read(slice), readwrite(right),
                       [a = BatchView<const T>(slice.view()), b = right.view()] {
                           cpu_kernels::batch_lu_solve<T>(a, nullptr, b);
                       });
    });
}

template <class T>
void batch_lu_factor_solve(Runtime& runtime, const Batch<T>& a, const Batch<Index>& pivots, const Batch<T>& b,
                           const Array<Index>& info) {
    const BatchView<const T> sides(b.view());
    const BatchView<const Index> order(pivots.view());
    detail::check_lu<T>("batch_lu_factor_solve", a.view(), &sides, &order);
    detail::check_info("batch_lu_factor_solve", a.count(), info.size());
    submit_lu<T>(runtime, {a.view(), &sides}, [&](Index begin, Index end) {
        const auto slice = a.slice(begin, end), right = b.slice(begin, end);
        const auto ipiv = pivots.slice(begin, end);
        runtime.submit({.name = "batch gesv", .place = Place::cpu()}, readwrite(slice), write(ipiv), readwrite(right),
                       write(info.rows(begin, end)),
                       [a = slice.view(), ipiv = ipiv.view(), b = right.view()](View<Index> info) {
                           cpu_kernels::batch_lu_factor_solve<T>(a, ipiv, b, info.data());
                       });
    });
}

template <class T>
void batch_lu_factor_solve(Runtime& runtime, const Batch<T>& a, const Batch<T>& b, const Array<Index>& info) {
    const BatchView<const T> sides(b.view());
    detail::check_lu<T>("batch_lu_factor_solve", a.view(), &sides, nullptr);
    detail::check_info("batch_lu_factor_solve", a.count(), info.size());
    submit_lu<T>(runtime, {a.view(), &sides}, [&](Index begin, Index end) {
        const auto slice = a.slice(begin, end), right = b.slice(begin, end);
        runtime.submit({.name = "batch gesv", .place = Place::cpu()}, read(slice), readwrite(right),
                       write(info.rows(begin, end)),
                       [a = BatchView<const T>(slice.view()), b = right.view()](View<Index> info) {
                           cpu_kernels::batch_lu_factor_solve<T>(a, b, info.data());
                       });
    });
}

template <class T>
void batch_lu_invert(Runtime& runtime, const Batch<T>& factors, const Batch<Index>& pivots, const Array<Index>& info) {
    const BatchView<const Index> order(pivots.view());
    detail::check_lu<T>("batch_lu_invert", factors.view(), nullptr, &order);
    detail::check_info("batch_lu_invert", factors.count(), info.size());
    const BatchView<const T> matrices(factors.view());
    submit_lu<T>(runtime, {matrices, &matrices}, [&](Index begin, Index end) {
        const auto slice = factors.slice(begin, end);
        const auto ipiv = pivots.slice(begin, end);
        runtime.submit({.name = "batch getri", .place = Place::cpu()}, readwrite(slice), read(ipiv),
                       write(info.rows(begin, end)),
                       [a = slice.view(), ipiv = BatchView<const Index>(ipiv.view())](View<Index> info) {
                           cpu_kernels::batch_lu_invert<T>(a, ipiv, info.data());
                       });
    });
}

template void batch_lu_factor<float>(Runtime&, const BatchView<float>&, const BatchView<Index>&, std::span<Index>);
template void batch_lu_factor<float>(Runtime&, const BatchView<float>&, std::span<Index>);
template void batch_lu_solve<float>(Runtime&, const BatchView<const float>&, const BatchView<const Index>&,
                                    const BatchView<float>&);
template void batch_lu_solve<float>(Runtime&, const BatchView<const float>&, const BatchView<float>&);
template void batch_lu_factor_solve<float>(Runtime&, const BatchView<float>&, const BatchView<Index>&,
                                           const BatchView<float>&, std::span<Index>);
template void batch_lu_factor_solve<float>(Runtime&, const BatchView<const float>&, const BatchView<float>&,
                                           std::span<Index>);
template void batch_lu_invert<float>(Runtime&, const BatchView<float>&, const BatchView<const Index>&,
                                     std::span<Index>);
template void batch_lu_factor<float>(Runtime&, const Batch<float>&, const Batch<Index>&, const Array<Index>&);
template void batch_lu_factor<float>(Runtime&, const Batch<float>&, const Array<Index>&);
template void batch_lu_solve<float>(Runtime&, const Batch<float>&, const Batch<Index>&, const Batch<float>&);
template void batch_lu_solve<float>(Runtime&, const Batch<float>&, const Batch<float>&);
template void batch_lu_factor_solve<float>(Runtime&, const Batch<float>&, const Batch<Index>&, const Batch<float>&,
                                           const Array<Index>&);
template void batch_lu_factor_solve<float>(Runtime&, const Batch<float>&, const Batch<float>&, const Array<Index>&);
template void batch_lu_invert<float>(Runtime&, const Batch<float>&, const Batch<Index>&, const Array<Index>&);
template void batch_lu_factor<double>(Runtime&, const BatchView<double>&, const BatchView<Index>&, std::span<Index>);
template void batch_lu_factor<double>(Runtime&, const BatchView<double>&, std::span<Index>);
template void batch_lu_solve<double>(Runtime&, const BatchView<const double>&, const BatchView<const Index>&,
                                     const BatchView<double>&);
template void batch_lu_solve<double>(Runtime&, const BatchView<const double>&, const BatchView<double>&);
template void batch_lu_factor_solve<double>(Runtime&, const BatchView<double>&, const BatchView<Index>&,
                                            const BatchView<double>&, std::span<Index>);
template void batch_lu_factor_solve<double>(Runtime&, const BatchView<const double>&, const BatchView<double>&,
                                            std::span<Index>);
template void batch_lu_invert<double>(Runtime&, const BatchView<double>&, const BatchView<const Index>&,
                                      std::span<Index>);
template void batch_lu_factor<double>(Runtime&, const Batch<double>&, const Batch<Index>&, const Array<Index>&);
template void batch_lu_factor<double>(Runtime&, const Batch<double>&, const Array<Index>&);
template void batch_lu_solve<double>(Runtime&, const Batch<double>&, const Batch<Index>&, const Batch<double>&);
template void batch_lu_solve<double>(Runtime&, const Batch<double>&, const Batch<double>&);
template void batch_lu_factor_solve<double>(Runtime&, const Batch<double>&, const Batch<Index>&, const Batch<double>&,
                                            const Array<Index>&);
template void batch_lu_factor_solve<double>(Runtime&, const Batch<double>&, const Batch<double>&, const Array<Index>&);
template void batch_lu_invert<double>(Runtime&, const Batch<double>&, const Batch<Index>&, const Array<Index>&);

}  // namespace basalt
