// Built instead of the Cholesky kernels where CUDA was not found, so that tasks link. Nothing calls them: there is no
// device then whose stream they could be given.
#include <basalt/error.hpp>

#include "kernels/cuda/cholesky.hpp"
#include "kernels/cuda/triangle_copy.hpp"

namespace basalt::cuda_kernels {

namespace {

[[noreturn]] void refuse() {
    throw DeviceError("this build has no GPU kernels: CUDA was not found when it was configured", -1, false);
}

}  // namespace

template <class T>
std::size_t cholesky_workspace(Index, Index) {
    refuse();
}
template <class T>
void cholesky_panel(Stream, View<T>, CholeskyPanelPlan, Index*, void*) {
    refuse();
}
template <class T>
void subtract_transposed_products(Stream, Index, std::type_identity_t<Strided<const T>>,
                                  std::type_identity_t<Strided<const T>>, Strided<T>) {
    refuse();
}
template <class T>
void save_above_diagonal(Stream, std::type_identity_t<View<const T>>, View<T>) {
    refuse();
}
template <class T>
void restore_above_diagonal(Stream, std::type_identity_t<View<const T>>, View<T>) {
    refuse();
}
template <class T>
void copy_triangle(Stream, Triangle, Index, std::type_identity_t<View<const T>>, View<T>) {
    refuse();
}

template std::size_t cholesky_workspace<float>(Index, Index);
template void cholesky_panel<float>(Stream, View<float>, CholeskyPanelPlan, Index*, void*);
template void subtract_transposed_products<float>(Stream, Index, Strided<const float>, Strided<const float>,
                                                  Strided<float>);
template void save_above_diagonal<float>(Stream, View<const float>, View<float>);
template void restore_above_diagonal<float>(Stream, View<const float>, View<float>);
template void copy_triangle<float>(Stream, Triangle, Index, View<const float>, View<float>);
template std::size_t cholesky_workspace<double>(Index, Index);
template void cholesky_panel<double>(Stream, View<double>, CholeskyPanelPlan, Index*, void*);
template void subtract_transposed_products<double>(Stream, Index, Strided<const double>, Strided<const double>,
                                                   Strided<double>);
template void save_above_diagonal<double>(Stream, View<const double>, View<double>);
template void restore_above_diagonal<double>(Stream, View<const double>, View<double>);
template void copy_triangle<double>(Stream, Triangle, Index, View<const double>, View<double>);

}  // namespace basalt::cuda_kernels
