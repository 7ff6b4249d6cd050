// The CPU twins of the batched LU and QR kernels for GPUs.
#include <algorithm>
#include <optional>

#include "kernels/cpu/batch/lu.hpp"
#include "kernels/cpu/batch/qr.hpp"
#include "kernels/on_stream/batch_lu.hpp"
#include "kernels/on_stream/batch_shapes.hpp"
#include "kernels/on_stream/implement.hpp"

namespace basalt::on_stream {

// How many rows of what belongs to a matrix are used.
constexpr auto smaller_of = [](const auto& matrix) { return std::min(matrix.rows(), matrix.cols()); };
constexpr auto larger_of = [](const auto& matrix) { return std::max(matrix.rows(), matrix.cols()); };

template <class T>
void run_on_cpu(BatchGetrf<T>, BatchView<T> a, std::optional<BatchView<Index>> pivots, Index* info, BatchLuPlan) {
    for_each_treated(BatchShapes::square, a, info, [&](Index begin, Index end) {
        const BatchView<T> own = a.part(begin, end);
        if (pivots) {
            cpu_kernels::batch_lu_factor<T>(own, belonging(*pivots, a, begin, end, as_many_rows), info + begin);
        } else {
            cpu_kernels::batch_lu_factor<T>(own, info + begin);
        }
    });
}

template <class T>
void run_on_cpu(BatchGetrs<T>, BatchView<const T> factors, std::optional<BatchView<const Index>> pivots,
                BatchView<T> b) {
    for_each_treated(BatchShapes::square, factors, nullptr, [&](Index begin, Index end) {
        const auto order = pivots ? std::optional(belonging(*pivots, factors, begin, end, as_many_rows)) : std::nullopt;
        cpu_kernels::batch_lu_solve<T>(factors.part(begin, end), order ? &*order : nullptr,
                                       belonging(b, factors, begin, end, as_many_rows));
    });
}

template <class T>
void run_on_cpu(BatchGesv<T>, BatchView<T> a, BatchView<Index> pivots, BatchView<T> b, Index* info, BatchLuPlan) {
    for_each_treated(BatchShapes::square, a, info, [&](Index begin, Index end) {
        cpu_kernels::batch_lu_factor_solve<T>(a.part(begin, end), belonging(pivots, a, begin, end, as_many_rows),
                                              belonging(b, a, begin, end, as_many_rows), info + begin);
    });
}

/// INFO of getri: the first zero on the diagonal.
template <class T>
Index singular_at(const View<const T>& factors) {
    for (Index i = 0; i < factors.rows(); ++i) {
        if (factors(i, i) == T{}) return i + 1;
    }
    return 0;
}

template <class T>
void run_on_cpu(BatchGetri<T>, BatchView<const T> factors, BatchView<const Index> pivots, BatchView<T> inverse,
                Index* info) {
    for_each_treated(BatchShapes::square, factors, info, [&](Index begin, Index end) {
        for (Index k = begin; k < end; ++k) {
            const View<const T> from = factors[k];
            info[k] = singular_at(from);
            for (Index j = 0; info[k] == 0 && j < from.cols(); ++j) {
                for (Index i = 0; i < from.rows(); ++i) inverse[k](i, j) = from(i, j);
            }
            if (info[k] != 0) continue;
            const View<T> to = inverse[k];
            const auto own = BatchView<T>::strided(to.data(), 1, from.rows(), from.cols(), to.col_stride(), 0);
            cpu_kernels::batch_lu_invert<T>(own, belonging(pivots, factors, k, k + 1, as_many_rows), info + k);
        }
    });
}

template <class T>
void run_on_cpu(BatchGeqrf<T>, BatchView<T> a, BatchView<T> tau, BatchLuPlan) {
    for_each_treated(BatchShapes::any, a, nullptr, [&](Index begin, Index end) {
        cpu_kernels::batch_qr_factor<T>(a.part(begin, end), belonging(tau, a, begin, end, smaller_of));
    });
}

template <class T>
void run_on_cpu(BatchOrgqr<T>, BatchView<T> a, BatchView<const T> tau) {
    for_each_treated(BatchShapes::tall, a, nullptr, [&](Index begin, Index end) {
        const auto reflectors = [&](const View<T>& matrix) { return std::min(tau[begin].rows(), matrix.cols()); };
        cpu_kernels::batch_qr_form<T>(a.part(begin, end), belonging(tau, a, begin, end, reflectors));
    });
}

template <class T>
void run_on_cpu(BatchGels<T>, BatchView<T> a, BatchView<T> b, Index* info) {
    for_each_treated(BatchShapes::any, a, info, [&](Index begin, Index end) {
        cpu_kernels::batch_least_squares<T>(a.part(begin, end), belonging(b, a, begin, end, larger_of), info + begin);
    });
}

template <>
const BatchGetrf<float>::Cpu Code<BatchGetrf<float>>::cpu = cpu_code<BatchGetrf<float>>;
template <>
const BatchGetrf<double>::Cpu Code<BatchGetrf<double>>::cpu = cpu_code<BatchGetrf<double>>;
template <>
const BatchGetrs<float>::Cpu Code<BatchGetrs<float>>::cpu = cpu_code<BatchGetrs<float>>;
template <>
const BatchGetrs<double>::Cpu Code<BatchGetrs<double>>::cpu = cpu_code<BatchGetrs<double>>;
template <>
const BatchGesv<float>::Cpu Code<BatchGesv<float>>::cpu = cpu_code<BatchGesv<float>>;
template <>
const BatchGesv<double>::Cpu Code<BatchGesv<double>>::cpu = cpu_code<BatchGesv<double>>;
template <>
const BatchGetri<float>::Cpu Code<BatchGetri<float>>::cpu = cpu_code<BatchGetri<float>>;
template <>
const BatchGetri<double>::Cpu Code<BatchGetri<double>>::cpu = cpu_code<BatchGetri<double>>;
template <>
const BatchGeqrf<float>::Cpu Code<BatchGeqrf<float>>::cpu = cpu_code<BatchGeqrf<float>>;
template <>
const BatchGeqrf<double>::Cpu Code<BatchGeqrf<double>>::cpu = cpu_code<BatchGeqrf<double>>;
template <>
const BatchOrgqr<float>::Cpu Code<BatchOrgqr<float>>::cpu = cpu_code<BatchOrgqr<float>>;
template <>
const BatchOrgqr<double>::Cpu Code<BatchOrgqr<double>>::cpu = cpu_code<BatchOrgqr<double>>;
template <>
const BatchGels<float>::Cpu Code<BatchGels<float>>::cpu = cpu_code<BatchGels<float>>;
template <>
const BatchGels<double>::Cpu Code<BatchGels<double>>::cpu = cpu_code<BatchGels<double>>;

}  // namespace basalt::on_stream
