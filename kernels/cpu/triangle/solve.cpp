#include "kernels/cpu/blas/blas.hpp"
#include "kernels/cpu/blas/serial.hpp"
#include "kernels/cpu/triangle/substitution.hpp"
#include "kernels/on_stream/implement.hpp"
#include "kernels/on_stream/products.hpp"
#include "kernels/on_stream/triangle.hpp"

namespace basalt::on_stream {

template <class T>
void run_on_cpu(SolveTriangle<T>, Triangle triangle, Diagonal diagonal, View<const T> t, View<T> x) {
    cpu_kernels::solve_triangle<T>(triangle, diagonal, t, x);
}

template <class T>
void run_on_cpu(SubtractFromRows<T>, View<const T> a, View<const T> x, View<T> y) {
    const BlasSerial serial;
    blas::gemm<T>(T{-1}, a, x, T{1}, y);
}

template <>
const SolveTriangle<float>::Cpu Code<SolveTriangle<float>>::cpu = cpu_code<SolveTriangle<float>>;
template <>
const SolveTriangle<double>::Cpu Code<SolveTriangle<double>>::cpu = cpu_code<SolveTriangle<double>>;
template <>
const SubtractFromRows<float>::Cpu Code<SubtractFromRows<float>>::cpu = cpu_code<SubtractFromRows<float>>;
template <>
const SubtractFromRows<double>::Cpu Code<SubtractFromRows<double>>::cpu = cpu_code<SubtractFromRows<double>>;

}  // namespace basalt::on_stream
