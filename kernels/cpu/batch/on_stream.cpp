// The CPU twins of the batched kernels for GPUs.
#include "kernels/cpu/batch/cholesky.hpp"
#include "kernels/on_stream/batch.hpp"
#include "kernels/on_stream/batch_shapes.hpp"
#include "kernels/on_stream/implement.hpp"

namespace basalt::on_stream {

template <class T>
void run_on_cpu(BatchPotrf<T>, Triangle triangle, BatchView<T> a, Index* info, BatchPlan) {
    for_each_treated(BatchShapes::square, a, info, [&](Index begin, Index end) {
        cpu_kernels::batch_factor<T>(triangle, a.part(begin, end), info + begin);
    });
}

template <class T>
void run_on_cpu(BatchPotrs<T>, Triangle triangle, BatchView<const T> factors, BatchView<T> b) {
    for_each_treated(BatchShapes::square, factors, nullptr, [&](Index begin, Index end) {
        cpu_kernels::batch_solve<T>(triangle, factors.part(begin, end),
                                    belonging(b, factors, begin, end, as_many_rows));
    });
}

template <class T>
void run_on_cpu(BatchPosv<T>, Triangle triangle, BatchView<T> a, BatchView<T> b, Index* info, BatchFactor factor,
                BatchPlan) {
    for_each_treated(BatchShapes::square, a, info, [&](Index begin, Index end) {
        const BatchView<T> own = a.part(begin, end), sides = belonging(b, a, begin, end, as_many_rows);
        if (factor == BatchFactor::keep) {
            cpu_kernels::batch_factor_solve<T>(triangle, own, sides, info + begin);
        } else {
            cpu_kernels::batch_factor_solve<T>(triangle, BatchView<const T>(own), sides, info + begin);
        }
    });
}

template <>
const BatchPotrf<float>::Cpu Code<BatchPotrf<float>>::cpu = cpu_code<BatchPotrf<float>>;
template <>
const BatchPotrf<double>::Cpu Code<BatchPotrf<double>>::cpu = cpu_code<BatchPotrf<double>>;
template <>
const BatchPotrs<float>::Cpu Code<BatchPotrs<float>>::cpu = cpu_code<BatchPotrs<float>>;
template <>
const BatchPotrs<double>::Cpu Code<BatchPotrs<double>>::cpu = cpu_code<BatchPotrs<double>>;
template <>
const BatchPosv<float>::Cpu Code<BatchPosv<float>>::cpu = cpu_code<BatchPosv<float>>;
template <>
const BatchPosv<double>::Cpu Code<BatchPosv<double>>::cpu = cpu_code<BatchPosv<double>>;

}  // namespace basalt::on_stream
