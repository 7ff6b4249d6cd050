// Cholesky of batches in a GPU's memory.
#include "basalt/batch_cholesky.hpp"

#include <string>

#include "kernels/on_stream/batch.hpp"
#include "tasks/batch/gpu_widths.hpp"
#include "tasks/batch/operands.hpp"

namespace basalt {

namespace {

void require_device_info(const char* call, Index count, const Index* info) {
    if (count > 0 && info == nullptr) throw UsageError(std::string(call) + ": info is missing (null)");
}

}  // namespace

template <class T>
void batch_cholesky_factor(Stream stream, Triangle triangle, const BatchView<T>& a, Index* info) {
    detail::check_device_square<const T>("batch_cholesky_factor", "A", a);
    require_device_info("batch_cholesky_factor", a.count(), info);
    const int width = detail::batch_width(detail::batch_widths<T>(stream).cholesky_factor, a.shape().rows());
    on_stream::batch_potrf<T>(stream, triangle, a, info, {width});
}

template <class T>
void batch_cholesky_solve(Stream stream, Triangle triangle, const BatchView<const T>& factors, const BatchView<T>& b) {
    detail::check_device_square<const T>("batch_cholesky_solve", "A", factors);
    detail::check_device_right_sides<T>("batch_cholesky_solve", factors, BatchView<const T>(b));
    on_stream::batch_potrs<T>(stream, triangle, factors, b);
}

template <class T>
void batch_cholesky_factor_solve(Stream stream, Triangle triangle, const BatchView<T>& a, const BatchView<T>& b,
                                 Index* info, BatchFactor factor) {
    detail::check_device_square<const T>("batch_cholesky_factor_solve", "A", a);
    detail::check_device_right_sides<T>("batch_cholesky_factor_solve", a, BatchView<const T>(b));
    require_device_info("batch_cholesky_factor_solve", a.count(), info);
    const int width = detail::batch_width(detail::batch_widths<T>(stream).cholesky_both, a.shape().rows());
    on_stream::batch_posv<T>(stream, triangle, a, b, info, factor, {width});
}

template void batch_cholesky_factor<float>(Stream, Triangle, const BatchView<float>&, Index*);
template void batch_cholesky_factor<double>(Stream, Triangle, const BatchView<double>&, Index*);
template void batch_cholesky_solve<float>(Stream, Triangle, const BatchView<const float>&, const BatchView<float>&);
template void batch_cholesky_solve<double>(Stream, Triangle, const BatchView<const double>&, const BatchView<double>&);
template void batch_cholesky_factor_solve<float>(Stream, Triangle, const BatchView<float>&, const BatchView<float>&,
                                                 Index*, BatchFactor);
template void batch_cholesky_factor_solve<double>(Stream, Triangle, const BatchView<double>&, const BatchView<double>&,
                                                  Index*, BatchFactor);

}  // namespace basalt
