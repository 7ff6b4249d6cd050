// The CPU twins of the batched kernels for GPUs.
#include "kernels/cpu/batch/cholesky.hpp"
#include "kernels/on_stream/batch.hpp"
#include "kernels/on_stream/implement.hpp"

namespace basalt::on_stream {

template <class T>
void run_on_cpu(BatchPotrf<T>, Triangle triangle, BatchView<T> a, Index* info, BatchPlan) {
    cpu_kernels::batch_factor<T>(triangle, a, info);
}

template <class T>
void run_on_cpu(BatchPotrs<T>, Triangle triangle, BatchView<const T> factors, BatchView<T> b, BatchPlan) {
    cpu_kernels::batch_solve<T>(triangle, factors, b);
}

template <class T>
void run_on_cpu(BatchPosv<T>, Triangle triangle, BatchView<T> a, BatchView<T> b, Index* info, BatchFactor factor,
                BatchPlan) {
    if (factor == BatchFactor::keep) {
        cpu_kernels::batch_factor_solve<T>(triangle, a, b, info);
    } else {
        cpu_kernels::batch_factor_solve<T>(triangle, BatchView<const T>(a), b, info);
    }
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
