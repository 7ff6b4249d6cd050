#include "kernels/cpu/triangle_solve.hpp"

#include "kernels/cpu/blas.hpp"
#include "kernels/cpu/blas_serial.hpp"

namespace basalt::cpu_kernels {

template <class T>
void solve_triangle(Triangle triangle, Diagonal diagonal, std::type_identity_t<View<const T>> t, View<T> x) {
    const BlasSerial serial;
    blas::trsm<T>(Side::left, triangle, diagonal, T{1}, t, x);
}

template <class T>
void subtract_from_rows(std::type_identity_t<View<const T>> a, std::type_identity_t<View<const T>> x, View<T> y) {
    const BlasSerial serial;
    blas::gemm<T>(T{-1}, a, x, T{1}, y);
}

template void solve_triangle<float>(Triangle, Diagonal, View<const float>, View<float>);
template void solve_triangle<double>(Triangle, Diagonal, View<const double>, View<double>);
template void subtract_from_rows<float>(View<const float>, View<const float>, View<float>);
template void subtract_from_rows<double>(View<const double>, View<const double>, View<double>);

}  // namespace basalt::cpu_kernels
