// LAPACK's drivers on the user's arrays, and batches.
#include <span>

#include "basalt/batch.hpp"
#include "basalt/batch_cholesky.hpp"
#include "basalt/mixed.hpp"
#include "capi/objects.hpp"

namespace basalt::capi {

namespace {

template <class T>
basalt_status gesv(const char* function, basalt_runtime* runtime, Index n, Index nrhs, T* a, Index lda, Index* pivots,
                   T* b, Index ldb, Index* info) {
    return guarded(function, [&] {
        Index& outcome = required(info, "info");
        outcome = solve<T>(required(runtime, "runtime").runtime, n, nrhs, a, lda, pivots, b, ldb);
    });
}

template <class T>
basalt_status potrf(const char* function, basalt_runtime* runtime, basalt_triangle triangle, Index n, T* a, Index lda,
                    Index* info) {
    return guarded(function, [&] {
        Index& outcome = required(info, "info");
        outcome = cholesky_factor<T>(required(runtime, "runtime").runtime, triangle_of(triangle), n, a, lda);
    });
}

template <class T>
basalt_status posv(const char* function, basalt_runtime* runtime, basalt_triangle triangle, Index n, Index nrhs, T* a,
                   Index lda, T* b, Index ldb, Index* info) {
    return guarded(function, [&] {
        Index& outcome = required(info, "info");
        outcome =
            cholesky_solve<T>(required(runtime, "runtime").runtime, triangle_of(triangle), n, nrhs, a, lda, b, ldb);
    });
}

/// Both numbers are asked for before anything is computed.
template <class Solve>
void report(Index* iterations, Index* info, const Solve& solve) {
    Index& steps = required(iterations, "iterations");
    Index& outcome = required(info, "info");
    const MixedResult result = solve();
    steps = result.iterations;
    outcome = result.info;
}

template <class T>
basalt_status gels(const char* function, basalt_runtime* runtime, Index m, Index n, Index nrhs, T* a, Index lda, T* b,
                   Index ldb, Index* info) {
    return guarded(function, [&] {
        Index& outcome = required(info, "info");
        outcome = least_squares<T>(required(runtime, "runtime").runtime, m, n, nrhs, a, lda, b, ldb);
    });
}

template <class T>
basalt_status geqrf(const char* function, basalt_runtime* runtime, Index m, Index n, T* a, Index lda, T* tau) {
    return guarded(function, [&] { qr_factor<T>(required(runtime, "runtime").runtime, m, n, a, lda, tau); });
}

template <class T>
basalt_status orgqr(const char* function, basalt_runtime* runtime, Index m, Index n, Index k, T* a, Index lda,
                    const T* tau) {
    return guarded(function, [&] { qr_form<T>(required(runtime, "runtime").runtime, m, n, k, a, lda, tau); });
}

template <class T>
basalt_status ormqr(const char* function, basalt_runtime* runtime, basalt_side side, basalt_op op, Index m, Index n,
                    Index k, const T* a, Index lda, const T* tau, T* c, Index ldc) {
    return guarded(function, [&] {
        qr_apply<T>(required(runtime, "runtime").runtime, side_of(side), op_of(op), m, n, k, a, lda, tau, c, ldc);
    });
}

template <class T>
BatchView<T> batch_of(const basalt_batch* batch, const char* name) {
    const basalt_batch& b = required(batch, name);
    require_range("count", b.count, 0, std::int64_t{1} << 48);
    if (b.pointers == nullptr) {
        return BatchView<T>::strided(static_cast<T*>(b.data), b.count, b.rows, b.cols, b.ld, b.stride);
    }
    // void* and T* have the same representation on every machine that this library runs on
    return BatchView<T>::pointers({reinterpret_cast<T* const*>(b.pointers), static_cast<std::size_t>(b.count)}, b.rows,
                                  b.cols, b.ld);
}

std::span<Index> infos(Index* info, const basalt_batch& batch) {
    if (batch.count > 0) required(info, "info");
    return {info, static_cast<std::size_t>(batch.count)};
}

}  // namespace

}  // namespace basalt::capi

namespace capi = basalt::capi;
using capi::batch_of;
using capi::guarded;
using capi::required;
using capi::triangle_of;
using capi::with_type;

basalt_status basalt_sgesv(basalt_runtime* runtime, int64_t n, int64_t nrhs, float* a, int64_t lda, int64_t* pivots,
                           float* b, int64_t ldb, int64_t* info) {
    return capi::gesv(__func__, runtime, n, nrhs, a, lda, pivots, b, ldb, info);
}
basalt_status basalt_dgesv(basalt_runtime* runtime, int64_t n, int64_t nrhs, double* a, int64_t lda, int64_t* pivots,
                           double* b, int64_t ldb, int64_t* info) {
    return capi::gesv(__func__, runtime, n, nrhs, a, lda, pivots, b, ldb, info);
}
basalt_status basalt_spotrf(basalt_runtime* runtime, basalt_triangle triangle, int64_t n, float* a, int64_t lda,
                            int64_t* info) {
    return capi::potrf(__func__, runtime, triangle, n, a, lda, info);
}
basalt_status basalt_dpotrf(basalt_runtime* runtime, basalt_triangle triangle, int64_t n, double* a, int64_t lda,
                            int64_t* info) {
    return capi::potrf(__func__, runtime, triangle, n, a, lda, info);
}
basalt_status basalt_sposv(basalt_runtime* runtime, basalt_triangle triangle, int64_t n, int64_t nrhs, float* a,
                           int64_t lda, float* b, int64_t ldb, int64_t* info) {
    return capi::posv(__func__, runtime, triangle, n, nrhs, a, lda, b, ldb, info);
}
basalt_status basalt_dposv(basalt_runtime* runtime, basalt_triangle triangle, int64_t n, int64_t nrhs, double* a,
                           int64_t lda, double* b, int64_t ldb, int64_t* info) {
    return capi::posv(__func__, runtime, triangle, n, nrhs, a, lda, b, ldb, info);
}
basalt_status basalt_dsgesv(basalt_runtime* runtime, int64_t n, int64_t nrhs, double* a, int64_t lda, int64_t* pivots,
                            const double* b, int64_t ldb, double* x, int64_t ldx, int64_t* iterations, int64_t* info) {
    return guarded(__func__, [&] {
        capi::report(iterations, info, [&] {
            return basalt::dsgesv(required(runtime, "runtime").runtime, n, nrhs, a, lda, pivots, b, ldb, x, ldx);
        });
    });
}
basalt_status basalt_dsposv(basalt_runtime* runtime, basalt_triangle triangle, int64_t n, int64_t nrhs, double* a,
                            int64_t lda, const double* b, int64_t ldb, double* x, int64_t ldx, int64_t* iterations,
                            int64_t* info) {
    return guarded(__func__, [&] {
        capi::report(iterations, info, [&] {
            return basalt::dsposv(required(runtime, "runtime").runtime, triangle_of(triangle), n, nrhs, a, lda, b, ldb,
                                  x, ldx);
        });
    });
}
basalt_status basalt_sgels(basalt_runtime* runtime, int64_t m, int64_t n, int64_t nrhs, float* a, int64_t lda, float* b,
                           int64_t ldb, int64_t* info) {
    return capi::gels(__func__, runtime, m, n, nrhs, a, lda, b, ldb, info);
}
basalt_status basalt_dgels(basalt_runtime* runtime, int64_t m, int64_t n, int64_t nrhs, double* a, int64_t lda,
                           double* b, int64_t ldb, int64_t* info) {
    return capi::gels(__func__, runtime, m, n, nrhs, a, lda, b, ldb, info);
}
basalt_status basalt_sgeqrf(basalt_runtime* runtime, int64_t m, int64_t n, float* a, int64_t lda, float* tau) {
    return capi::geqrf(__func__, runtime, m, n, a, lda, tau);
}
basalt_status basalt_dgeqrf(basalt_runtime* runtime, int64_t m, int64_t n, double* a, int64_t lda, double* tau) {
    return capi::geqrf(__func__, runtime, m, n, a, lda, tau);
}
basalt_status basalt_sorgqr(basalt_runtime* runtime, int64_t m, int64_t n, int64_t k, float* a, int64_t lda,
                            const float* tau) {
    return capi::orgqr(__func__, runtime, m, n, k, a, lda, tau);
}
basalt_status basalt_dorgqr(basalt_runtime* runtime, int64_t m, int64_t n, int64_t k, double* a, int64_t lda,
                            const double* tau) {
    return capi::orgqr(__func__, runtime, m, n, k, a, lda, tau);
}
basalt_status basalt_sormqr(basalt_runtime* runtime, basalt_side side, basalt_op op, int64_t m, int64_t n, int64_t k,
                            const float* a, int64_t lda, const float* tau, float* c, int64_t ldc) {
    return capi::ormqr(__func__, runtime, side, op, m, n, k, a, lda, tau, c, ldc);
}
basalt_status basalt_dormqr(basalt_runtime* runtime, basalt_side side, basalt_op op, int64_t m, int64_t n, int64_t k,
                            const double* a, int64_t lda, const double* tau, double* c, int64_t ldc) {
    return capi::ormqr(__func__, runtime, side, op, m, n, k, a, lda, tau, c, ldc);
}

basalt_status basalt_batch_potrf(basalt_runtime* runtime, basalt_type type, basalt_triangle triangle,
                                 const basalt_batch* a, int64_t* info) {
    return guarded(__func__, [&] {
        with_type(type, [&]<class T>(T) {
            const auto batch = batch_of<T>(a, "a");
            basalt::batch_cholesky_factor<T>(required(runtime, "runtime").runtime, triangle_of(triangle), batch,
                                             capi::infos(info, *a));
        });
    });
}
basalt_status basalt_batch_potrs(basalt_runtime* runtime, basalt_type type, basalt_triangle triangle,
                                 const basalt_batch* factors, const basalt_batch* b) {
    return guarded(__func__, [&] {
        with_type(type, [&]<class T>(T) {
            basalt::batch_cholesky_solve<T>(required(runtime, "runtime").runtime, triangle_of(triangle),
                                            batch_of<T>(factors, "factors"), batch_of<T>(b, "b"));
        });
    });
}
basalt_status basalt_batch_posv(basalt_runtime* runtime, basalt_type type, basalt_triangle triangle,
                                const basalt_batch* a, const basalt_batch* b, int64_t* info) {
    return guarded(__func__, [&] {
        with_type(type, [&]<class T>(T) {
            const auto batch = batch_of<T>(a, "a");
            basalt::batch_cholesky_factor_solve<T>(required(runtime, "runtime").runtime, triangle_of(triangle), batch,
                                                   batch_of<T>(b, "b"), capi::infos(info, *a));
        });
    });
}
basalt_status basalt_gpu_batch_potrf(void* stream, basalt_type type, basalt_triangle triangle, const basalt_batch* a,
                                     int64_t* info) {
    return guarded(__func__, [&] {
        with_type(type, [&]<class T>(T) {
            const basalt::BorrowedStream borrowed(stream);
            basalt::batch_cholesky_factor<T>(borrowed, triangle_of(triangle), batch_of<T>(a, "a"), info);
        });
    });
}
basalt_status basalt_gpu_batch_potrs(void* stream, basalt_type type, basalt_triangle triangle,
                                     const basalt_batch* factors, const basalt_batch* b) {
    return guarded(__func__, [&] {
        with_type(type, [&]<class T>(T) {
            const basalt::BorrowedStream borrowed(stream);
            basalt::batch_cholesky_solve<T>(borrowed, triangle_of(triangle), batch_of<T>(factors, "factors"),
                                            batch_of<T>(b, "b"));
        });
    });
}
basalt_status basalt_gpu_batch_posv(void* stream, basalt_type type, basalt_triangle triangle, const basalt_batch* a,
                                    const basalt_batch* b, int64_t* info) {
    return guarded(__func__, [&] {
        with_type(type, [&]<class T>(T) {
            const basalt::BorrowedStream borrowed(stream);
            basalt::batch_cholesky_factor_solve<T>(borrowed, triangle_of(triangle), batch_of<T>(a, "a"),
                                                   batch_of<T>(b, "b"), info);
        });
    });
}
