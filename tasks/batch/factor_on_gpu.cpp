// LU and QR of batches in a GPU's memory.
#include <algorithm>
#include <string>

#include "basalt/batch_lu.hpp"
#include "basalt/batch_qr.hpp"
#include "kernels/on_stream/batch_lu.hpp"
#include "tasks/batch/gpu_widths.hpp"
#include "tasks/batch/operands.hpp"

namespace basalt {

namespace {

void require_lu_info(const char* call, Index count, const Index* info) {
    if (count > 0 && info == nullptr) throw UsageError(std::string(call) + ": info is missing (null)");
}

template <class T>
on_stream::BatchLuPlan lu_plan(Stream stream, const BatchView<T>& a) {
    return {detail::batch_width(detail::batch_widths<T>(stream).lu_factor, a.shape().rows())};
}

template <class T>
void check_device_matrices(const char* call, const BatchView<const T>& a) {
    detail::check_device_batch<const T>(call, "A", a);
    const Index rows = a.shape().rows(), cols = a.shape().cols();
    if (rows <= largest_gpu_lu_order && cols <= largest_gpu_lu_order) return;
    throw UsageError(std::string(call) + ": " + detail::shape_text("A", a) + "; allowed on GPUs are " +
                     std::to_string(largest_gpu_lu_order) + " rows and columns at most");
}

template <class T>
void check_device_lu(const char* call, const BatchView<const T>& a, const BatchView<const Index>* pivots) {
    check_device_matrices<T>(call, a);
    const Index n = a.shape().rows();
    if (n != a.shape().cols()) {
        throw UsageError(std::string(call) + ": " + detail::shape_text("A", a) + "; allowed are square matrices");
    }
    if (pivots != nullptr) detail::check_device_companions<Index>(call, "pivots", *pivots, a.count(), {n, 1});
}

template <class T>
void check_device_sides(const char* call, const BatchView<const T>& a, const BatchView<const T>& b) {
    detail::check_device_companions<T>(call, "B", b, a.count(), {a.shape().rows(), b.shape().cols()});
}

}  // namespace

template <class T>
void batch_lu_factor(Stream stream, const BatchView<T>& a, const BatchView<Index>& pivots, Index* info) {
    const BatchView<const Index> order(pivots);
    check_device_lu<T>("batch_lu_factor", a, &order);
    require_lu_info("batch_lu_factor", a.count(), info);
    on_stream::batch_getrf<T>(stream, a, pivots, info, lu_plan<T>(stream, a));
}

template <class T>
void batch_lu_factor(Stream stream, const BatchView<T>& a, Index* info) {
    check_device_lu<T>("batch_lu_factor", a, nullptr);
    require_lu_info("batch_lu_factor", a.count(), info);
    on_stream::batch_getrf<T>(stream, a, std::nullopt, info, lu_plan<T>(stream, a));
}

template <class T>
void batch_lu_solve(Stream stream, const BatchView<const T>& factors, const BatchView<const Index>& pivots,
                    const BatchView<T>& b) {
    check_device_lu<T>("batch_lu_solve", factors, &pivots);
    check_device_sides<T>("batch_lu_solve", factors, b);
    on_stream::batch_getrs<T>(stream, factors, pivots, b);
}

template <class T>
void batch_lu_solve(Stream stream, const BatchView<const T>& factors, const BatchView<T>& b) {
    check_device_lu<T>("batch_lu_solve", factors, nullptr);
    check_device_sides<T>("batch_lu_solve", factors, b);
    on_stream::batch_getrs<T>(stream, factors, std::nullopt, b);
}

template <class T>
void batch_lu_factor_solve(Stream stream, const BatchView<T>& a, const BatchView<Index>& pivots, const BatchView<T>& b,
                           Index* info) {
    const BatchView<const Index> order(pivots);
    check_device_lu<T>("batch_lu_factor_solve", a, &order);
    check_device_sides<T>("batch_lu_factor_solve", a, b);
    require_lu_info("batch_lu_factor_solve", a.count(), info);
    on_stream::batch_gesv<T>(stream, a, pivots, b, info, lu_plan<T>(stream, a));
}

template <class T>
void batch_lu_invert(Stream stream, const BatchView<const T>& factors, const BatchView<const Index>& pivots,
                     const BatchView<T>& inverse, Index* info) {
    const Index n = factors.shape().rows();
    check_device_lu<T>("batch_lu_invert", factors, &pivots);
    detail::check_device_companions<T>("batch_lu_invert", "the inverse", inverse, factors.count(), {n, n});
    require_lu_info("batch_lu_invert", factors.count(), info);
    on_stream::batch_getri<T>(stream, factors, pivots, inverse, info);
}

template <class T>
void batch_qr_factor(Stream stream, const BatchView<T>& a, const BatchView<T>& tau) {
    const Index rows = a.shape().rows(), cols = a.shape().cols();
    check_device_matrices<T>("batch_qr_factor", a);
    detail::check_device_companions<T>("batch_qr_factor", "tau", tau, a.count(), {std::min(rows, cols), 1});
    on_stream::batch_geqrf<T>(stream, a, tau, {detail::batch_width(detail::batch_widths<T>(stream).qr_factor, rows)});
}

template <class T>
void batch_qr_form(Stream stream, const BatchView<T>& a, const BatchView<const T>& tau) {
    const Index rows = a.shape().rows(), cols = a.shape().cols();
    check_device_matrices<T>("batch_qr_form", a);
    detail::check_device_companions<T>("batch_qr_form", "tau", tau, a.count(), {std::min(tau.shape().rows(), cols), 1});
    if (cols > rows) {
        throw UsageError("batch_qr_form: " + detail::shape_text("A", a) + "; allowed are no more columns than rows");
    }
    on_stream::batch_orgqr<T>(stream, a, tau);
}

template <class T>
void batch_least_squares(Stream stream, const BatchView<T>& a, const BatchView<T>& b, Index* info) {
    const Index larger = std::max(a.shape().rows(), a.shape().cols());
    check_device_matrices<T>("batch_least_squares", a);
    detail::check_device_companions<T>("batch_least_squares", "B", b, a.count(), {larger, b.shape().cols()});
    require_lu_info("batch_least_squares", a.count(), info);
    on_stream::batch_gels<T>(stream, a, b, info);
}

template void batch_lu_factor<float>(Stream, const BatchView<float>&, const BatchView<Index>&, Index*);
template void batch_lu_factor<float>(Stream, const BatchView<float>&, Index*);
template void batch_lu_solve<float>(Stream, const BatchView<const float>&, const BatchView<const Index>&,
                                    const BatchView<float>&);
template void batch_lu_solve<float>(Stream, const BatchView<const float>&, const BatchView<float>&);
template void batch_lu_factor_solve<float>(Stream, const BatchView<float>&, const BatchView<Index>&,
                                           const BatchView<float>&, Index*);
template void batch_lu_invert<float>(Stream, const BatchView<const float>&, const BatchView<const Index>&,
                                     const BatchView<float>&, Index*);
template void batch_qr_factor<float>(Stream, const BatchView<float>&, const BatchView<float>&);
template void batch_qr_form<float>(Stream, const BatchView<float>&, const BatchView<const float>&);
template void batch_least_squares<float>(Stream, const BatchView<float>&, const BatchView<float>&, Index*);
template void batch_lu_factor<double>(Stream, const BatchView<double>&, const BatchView<Index>&, Index*);
template void batch_lu_factor<double>(Stream, const BatchView<double>&, Index*);
template void batch_lu_solve<double>(Stream, const BatchView<const double>&, const BatchView<const Index>&,
                                     const BatchView<double>&);
template void batch_lu_solve<double>(Stream, const BatchView<const double>&, const BatchView<double>&);
template void batch_lu_factor_solve<double>(Stream, const BatchView<double>&, const BatchView<Index>&,
                                            const BatchView<double>&, Index*);
template void batch_lu_invert<double>(Stream, const BatchView<const double>&, const BatchView<const Index>&,
                                      const BatchView<double>&, Index*);
template void batch_qr_factor<double>(Stream, const BatchView<double>&, const BatchView<double>&);
template void batch_qr_form<double>(Stream, const BatchView<double>&, const BatchView<const double>&);
template void batch_least_squares<double>(Stream, const BatchView<double>&, const BatchView<double>&, Index*);

}  // namespace basalt
