#include "bench/versus/dealt_products.hpp"

#include <type_traits>

#include <cublas_v2.h>
#include <cuda_runtime_api.h>

#include "bench/common/gpu_check.hpp"
#include "bench/common/gpu_memory.hpp"
#include "runtime/device/cuda_check.hpp"

namespace bench {

using basalt::DealtView;
using basalt::Index;

namespace {

/// The part of the matrix that is multiplied. `transposed_lower` is the transpose of the lower triangle; `symmetric` is
/// the lower triangle with its mirror image above the diagonal.
enum class Part { all, upper, unit_lower, lower, transposed_lower, symmetric };

/// y += B x on a GPU, one block of B's columns at a time.
template <class T>
class ProductOnGpu {
  public:
    ProductOnGpu(int gpu, Index rows, const std::vector<double>& x)
        : current_(gpu),
          rows_(rows),
          values_(x.begin(), x.end()),
          x_(values_.size() * sizeof(T), gpu),
          y_(static_cast<std::size_t>(rows) * sizeof(T), gpu),
          scratch_(values_.size() * sizeof(T), gpu) {
        check_cublas(cublasCreate(&blas_), "cublasCreate");
        check_cuda(cudaMemcpy(x_.data(), values_.data(), values_.size() * sizeof(T), cudaMemcpyHostToDevice),
                   "cudaMemcpy");
        check_cuda(cudaMemset(y_.data(), 0, static_cast<std::size_t>(rows) * sizeof(T)), "cudaMemset");
    }
    ~ProductOnGpu() { cublasDestroy(blas_); }
    ProductOnGpu(const ProductOnGpu&) = delete;
    ProductOnGpu& operator=(const ProductOnGpu&) = delete;

    /// `a`: columns [first, first + cols) with all their rows.
    void add_block(Part part, const T* a, Index first, Index cols) {
        const T* const square = a + first;  // the block on the diagonal
        const T* const below = square + cols;
        const Index rows_below = rows_ - first - cols;
        switch (part) {
            case Part::all: add(CUBLAS_OP_N, rows_, cols, a, first, 0); return;
            case Part::upper:
                add(CUBLAS_OP_N, first, cols, a, first, 0);
                add_triangle(CUBLAS_FILL_MODE_UPPER, CUBLAS_OP_N, CUBLAS_DIAG_NON_UNIT, square, first, cols);
                return;
            case Part::unit_lower:
            case Part::lower:
                add_triangle(CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N,
                             part == Part::lower ? CUBLAS_DIAG_NON_UNIT : CUBLAS_DIAG_UNIT, square, first, cols);
                add(CUBLAS_OP_N, rows_below, cols, below, first, first + cols);
                return;
            case Part::transposed_lower:
                add_triangle(CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_T, CUBLAS_DIAG_NON_UNIT, square, first, cols);
                add(CUBLAS_OP_T, rows_below, cols, below, first + cols, first);
                return;
            case Part::symmetric:
                add_symmetric(square, first, cols);
                add(CUBLAS_OP_N, rows_below, cols, below, first, first + cols);
                add(CUBLAS_OP_T, rows_below, cols, below, first + cols, first);
                return;
        }
    }

    std::vector<T> result() {
        std::vector<T> y(static_cast<std::size_t>(rows_));
        check_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
        check_cuda(cudaMemcpy(y.data(), y_.data(), y.size() * sizeof(T), cudaMemcpyDeviceToHost), "cudaMemcpy");
        return y;
    }

  private:
    const T* x(Index i) const { return static_cast<const T*>(x_.data()) + i; }
    T* y(Index i) const { return static_cast<T*>(y_.data()) + i; }
    int ld() const { return static_cast<int>(rows_); }

    /// y(to) += op(a) x(from).
    void add(cublasOperation_t operation, Index rows, Index cols, const T* a, Index from, Index to) {
        if (rows == 0) return;
        const T one = 1;
        const int m = static_cast<int>(rows), n = static_cast<int>(cols);
        if constexpr (std::is_same_v<T, double>) {
            check_cublas(cublasDgemv(blas_, operation, m, n, &one, a, ld(), x(from), 1, &one, y(to), 1), "cublasDgemv");
        } else {
            check_cublas(cublasSgemv(blas_, operation, m, n, &one, a, ld(), x(from), 1, &one, y(to), 1), "cublasSgemv");
        }
    }

    void add_triangle(cublasFillMode_t triangle, cublasOperation_t operation, cublasDiagType_t diagonal, const T* a,
                      Index first, Index order) {
        const T one = 1;
        const int n = static_cast<int>(order);
        auto* const v = static_cast<T*>(scratch_.data());
        check_cuda(cudaMemcpyAsync(v, x(first), static_cast<std::size_t>(order) * sizeof(T), cudaMemcpyDeviceToDevice),
                   "cudaMemcpyAsync");
        if constexpr (std::is_same_v<T, double>) {
            check_cublas(cublasDtrmv(blas_, triangle, operation, diagonal, n, a, ld(), v, 1), "cublasDtrmv");
            check_cublas(cublasDaxpy(blas_, n, &one, v, 1, y(first), 1), "cublasDaxpy");
        } else {
            check_cublas(cublasStrmv(blas_, triangle, operation, diagonal, n, a, ld(), v, 1), "cublasStrmv");
            check_cublas(cublasSaxpy(blas_, n, &one, v, 1, y(first), 1), "cublasSaxpy");
        }
    }

    void add_symmetric(const T* a, Index first, Index order) {
        const T one = 1;
        const int n = static_cast<int>(order);
        if constexpr (std::is_same_v<T, double>) {
            check_cublas(cublasDsymv(blas_, CUBLAS_FILL_MODE_LOWER, n, &one, a, ld(), x(first), 1, &one, y(first), 1),
                         "cublasDsymv");
        } else {
            check_cublas(cublasSsymv(blas_, CUBLAS_FILL_MODE_LOWER, n, &one, a, ld(), x(first), 1, &one, y(first), 1),
                         "cublasSsymv");
        }
    }

    const basalt::detail::CurrentDevice current_;
    const Index rows_;
    const std::vector<T> values_;
    const GpuMemory x_, y_, scratch_;
    cublasHandle_t blas_ = nullptr;
};

template <class T>
std::vector<double> multiply(Part part, const DealtView<T>& a, const std::vector<double>& x) {
    std::vector<double> y(static_cast<std::size_t>(a.rows));
    for (int gpu = 0; gpu < a.columns.gpus(); ++gpu) {
        ProductOnGpu<T> product(gpu, a.rows, x);
        basalt::for_each_block(a.columns, [&](Index first, Index cols) {
            if (a.columns.gpu_of(first) == gpu) product.add_block(part, a.column(first), first, cols);
        });
        const std::vector<T> share = product.result();
        for (std::size_t i = 0; i < y.size(); ++i) y[i] += static_cast<double>(share[i]);
    }
    return y;
}

}  // namespace

template <class T>
std::vector<double> times(const DealtView<T>& a, const std::vector<double>& x) {
    return multiply(Part::all, a, x);
}

template <class T>
std::vector<double> times_lu(const DealtView<T>& a, const std::vector<double>& x) {
    return multiply(Part::unit_lower, a, multiply(Part::upper, a, x));
}

template <class T>
std::vector<double> times_symmetric(const DealtView<T>& a, const std::vector<double>& x) {
    return multiply(Part::symmetric, a, x);
}

template <class T>
std::vector<double> times_cholesky(const DealtView<T>& l, const std::vector<double>& x) {
    return multiply(Part::lower, l, multiply(Part::transposed_lower, l, x));
}

template std::vector<double> times(const DealtView<float>&, const std::vector<double>&);
template std::vector<double> times(const DealtView<double>&, const std::vector<double>&);
template std::vector<double> times_lu(const DealtView<float>&, const std::vector<double>&);
template std::vector<double> times_lu(const DealtView<double>&, const std::vector<double>&);
template std::vector<double> times_symmetric(const DealtView<float>&, const std::vector<double>&);
template std::vector<double> times_symmetric(const DealtView<double>&, const std::vector<double>&);
template std::vector<double> times_cholesky(const DealtView<float>&, const std::vector<double>&);
template std::vector<double> times_cholesky(const DealtView<double>&, const std::vector<double>&);

}  // namespace bench
