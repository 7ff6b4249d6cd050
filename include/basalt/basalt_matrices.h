#ifndef BASALT_BASALT_MATRICES_H
#define BASALT_BASALT_MATRICES_H

/// Of basalt.h: LAPACK's drivers, matrices, factorizations and batches.

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "basalt/basalt_runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

// --- LAPACK's drivers on arrays of your own ---

// All wait for everything submitted to the runtime. `info` is LAPACK's INFO >= 0; arguments that LAPACK would report
// as INFO < 0 are BASALT_INVALID_ARGUMENT.

/// Solves A X = B by LU. A (n x n) becomes its factors, B (n x nrhs) the solution, unless info > 0. `pivots`: n numbers
/// counted from 1, or NULL.
basalt_status basalt_sgesv(basalt_runtime* runtime, int64_t n, int64_t nrhs, float* a, int64_t lda, int64_t* pivots,
                           float* b, int64_t ldb, int64_t* info);
basalt_status basalt_dgesv(basalt_runtime* runtime, int64_t n, int64_t nrhs, double* a, int64_t lda, int64_t* pivots,
                           double* b, int64_t ldb, int64_t* info);
/// Cholesky: the triangle of A becomes the factor; the other one is not touched.
basalt_status basalt_spotrf(basalt_runtime* runtime, basalt_triangle triangle, int64_t n, float* a, int64_t lda,
                            int64_t* info);
basalt_status basalt_dpotrf(basalt_runtime* runtime, basalt_triangle triangle, int64_t n, double* a, int64_t lda,
                            int64_t* info);
/// The same, and B (n x nrhs) becomes the solution of A X = B, unless info > 0.
basalt_status basalt_sposv(basalt_runtime* runtime, basalt_triangle triangle, int64_t n, int64_t nrhs, float* a,
                           int64_t lda, float* b, int64_t ldb, int64_t* info);
basalt_status basalt_dposv(basalt_runtime* runtime, basalt_triangle triangle, int64_t n, int64_t nrhs, double* a,
                           int64_t lda, double* b, int64_t ldb, int64_t* info);
/// Solves A X = B in double precision with factors of lower precision and refinement, by LU or (with a triangle of a
/// symmetric positive definite A) by Cholesky: X (n x nrhs) gets the solution. `iterations` is LAPACK's ITER: 0 or more
/// where A stays as it is; negative where A was factored in double, which leaves A and `pivots` as basalt_dgesv() does:
/// -2: A, its norm or B is not finite; -3: the factors of lower precision are useless; -4: the corrections do not
/// become small; -31 or less: the limit of corrections was reached.
basalt_status basalt_dsgesv(basalt_runtime* runtime, int64_t n, int64_t nrhs, double* a, int64_t lda, int64_t* pivots,
                            const double* b, int64_t ldb, double* x, int64_t ldx, int64_t* iterations, int64_t* info);
basalt_status basalt_dsposv(basalt_runtime* runtime, basalt_triangle triangle, int64_t n, int64_t nrhs, double* a,
                            int64_t lda, const double* b, int64_t ldb, double* x, int64_t ldx, int64_t* iterations,
                            int64_t* info);
/// B (n x nrhs) becomes the solution of A X = B, or of A^T X = B, with the factors and pivots of basalt_dgesv().
basalt_status basalt_sgetrs(basalt_runtime* runtime, basalt_op op, int64_t n, int64_t nrhs, const float* a, int64_t lda,
                            const int64_t* pivots, float* b, int64_t ldb);
basalt_status basalt_dgetrs(basalt_runtime* runtime, basalt_op op, int64_t n, int64_t nrhs, const double* a,
                            int64_t lda, const int64_t* pivots, double* b, int64_t ldb);
/// The same with the factor of basalt_dpotrf().
basalt_status basalt_spotrs(basalt_runtime* runtime, basalt_triangle triangle, int64_t n, int64_t nrhs, const float* a,
                            int64_t lda, float* b, int64_t ldb);
basalt_status basalt_dpotrs(basalt_runtime* runtime, basalt_triangle triangle, int64_t n, int64_t nrhs, const double* a,
                            int64_t lda, double* b, int64_t ldb);
/// Least squares (m >= n) or least norm (m < n) for an A (m x n) of full rank: B (ldb >= max(1, m, n)) holds the
/// right-hand sides in its first m rows, then the solutions in its first n rows.
basalt_status basalt_sgels(basalt_runtime* runtime, int64_t m, int64_t n, int64_t nrhs, float* a, int64_t lda, float* b,
                           int64_t ldb, int64_t* info);
basalt_status basalt_dgels(basalt_runtime* runtime, int64_t m, int64_t n, int64_t nrhs, double* a, int64_t lda,
                           double* b, int64_t ldb, int64_t* info);
/// QR: A (m x n) becomes R and the reflectors, `tau` gets min(m, n) numbers.
basalt_status basalt_sgeqrf(basalt_runtime* runtime, int64_t m, int64_t n, float* a, int64_t lda, float* tau);
basalt_status basalt_dgeqrf(basalt_runtime* runtime, int64_t m, int64_t n, double* a, int64_t lda, double* tau);
/// The k reflectors in the columns of A (m x n, m >= n >= k) become the first n columns of Q.
basalt_status basalt_sorgqr(basalt_runtime* runtime, int64_t m, int64_t n, int64_t k, float* a, int64_t lda,
                            const float* tau);
basalt_status basalt_dorgqr(basalt_runtime* runtime, int64_t m, int64_t n, int64_t k, double* a, int64_t lda,
                            const double* tau);
/// C (m x n) becomes Q C, Q^T C, C Q or C Q^T with the k reflectors in `a` and tau.
basalt_status basalt_sormqr(basalt_runtime* runtime, basalt_side side, basalt_op op, int64_t m, int64_t n, int64_t k,
                            const float* a, int64_t lda, const float* tau, float* c, int64_t ldc);
basalt_status basalt_dormqr(basalt_runtime* runtime, basalt_side side, basalt_op op, int64_t m, int64_t n, int64_t k,
                            const double* a, int64_t lda, const double* tau, double* c, int64_t ldc);

// --- matrices ---

/// An m x n matrix of float or double in tiles, which lives in host or GPU memory as the library's tasks need it.
typedef struct basalt_matrix basalt_matrix;

/// Zeros mean the library's choice. `name`, or NULL, appears in errors and traces. `on_gpu`, if not 0: the elements are
/// in the memory of a GPU before and after. The library's choice of tiles is then faster for LU; basalt_matrix_create()
/// looks at it.
typedef struct basalt_matrix_options {
    int64_t tile_height;
    int64_t tile_width;
    const char* name;
    int on_gpu;
} basalt_matrix_options;

/// A matrix of zeros. `options` may be NULL, here and below.
basalt_status basalt_matrix_create(basalt_runtime* runtime, basalt_type type, int64_t m, int64_t n,
                                   const basalt_matrix_options* options, basalt_matrix** matrix);
/// Borrows the array `a` until the next basalt_wait() or the matrix's destruction; then it holds the matrix's contents.
/// `place`: BASALT_CPU, or the GPU in whose memory the array lies; then all work that writes it must have completed.
basalt_status basalt_matrix_wrap(basalt_runtime* runtime, basalt_type type, int64_t m, int64_t n, void* a, int64_t lda,
                                 basalt_place place, const basalt_matrix_options* options, basalt_matrix** matrix);
/// The m x n matrix of that name (`basalt info` lists them, e.g. "random", "spd") in the memory of `place`.
basalt_status basalt_matrix_generate(basalt_runtime* runtime, basalt_type type, int64_t m, int64_t n, const char* name,
                                     uint64_t seed, basalt_place place, const basalt_matrix_options* options,
                                     basalt_matrix** matrix);
/// Waits for the tasks that use the matrix. What it wraps is complete afterwards.
void basalt_matrix_destroy(basalt_matrix* matrix);
int64_t basalt_matrix_rows(const basalt_matrix* matrix);
int64_t basalt_matrix_cols(const basalt_matrix* matrix);
/// Submits tasks that overwrite the matrix with an array whose element (i, j) lies at a[i * row_stride + j *
/// col_stride]. The array stays valid until they have run. `place`: where the array lies; BASALT_ANY: in the host's
/// memory, and the GPUs take part.
basalt_status basalt_matrix_load(basalt_matrix* matrix, const void* a, int64_t row_stride, int64_t col_stride,
                                 basalt_place place);
/// Submits tasks that copy the matrix to such an array, which is complete after basalt_wait().
basalt_status basalt_matrix_store(const basalt_matrix* matrix, void* a, int64_t row_stride, int64_t col_stride,
                                  basalt_place place);
/// The same for one triangle of a square matrix; the other one of the array is not touched.
basalt_status basalt_matrix_load_triangle(basalt_matrix* matrix, basalt_triangle triangle, const void* a,
                                          int64_t row_stride, int64_t col_stride, basalt_place place);
basalt_status basalt_matrix_store_triangle(const basalt_matrix* matrix, basalt_triangle triangle, void* a,
                                           int64_t row_stride, int64_t col_stride, basalt_place place);
/// The same with zeros in the other triangle of the array.
basalt_status basalt_matrix_store_triangular(const basalt_matrix* matrix, basalt_triangle triangle, void* a,
                                             int64_t row_stride, int64_t col_stride, basalt_place place);
/// Waits for the tasks that use element (i, j) and gives its value.
basalt_status basalt_matrix_at(const basalt_matrix* matrix, int64_t i, int64_t j, double* value);
/// Waits. The infinity norm: the largest sum of magnitudes in a row, NaN if there is a NaN; 0 without elements.
basalt_status basalt_matrix_norm(const basalt_matrix* matrix, double* norm);

// --- factorizations ---

/// A factorization in progress or done: of LU, Cholesky or QR. It keeps the factors alive, which replace the matrix.
typedef struct basalt_factors basalt_factors;

/// Zeros mean the library's choice.
typedef struct basalt_factor_options {
    basalt_mode mode;
    int64_t panel_width;
    int panel_threads;    ///< LU and QR
    bool plain_products;  ///< single precision on GPUs: no products by slices of fp16 or bf16
    bool tf32;            ///< LU, single precision on GPUs: updates in TF32
} basalt_factor_options;

/// A = P L U, any m x n. Submits tasks and returns at once, as the others do.
basalt_status basalt_lu_factor(basalt_matrix* a, const basalt_factor_options* options, basalt_factors** factors);
/// A = L L^T or U^T U of a symmetric positive definite A. The other triangle keeps its values.
basalt_status basalt_cholesky_factor(basalt_matrix* a, basalt_triangle triangle, const basalt_factor_options* options,
                                     basalt_factors** factors);
/// A = Q R, any m x n.
basalt_status basalt_qr_factor(basalt_matrix* a, const basalt_factor_options* options, basalt_factors** factors);
/// Factors A (m x n) and solves as basalt_dgels() does, B being max(m, n) x nrhs. `factors` may be NULL.
basalt_status basalt_least_squares(basalt_matrix* a, basalt_matrix* b, const basalt_factor_options* options,
                                   basalt_factors** factors);
void basalt_factors_destroy(basalt_factors* factors);
/// Waits for the factorization. LAPACK's INFO: 0, or k > 0 for a U(k, k) or R(k, k) that is zero or a leading minor of
/// order k that is not positive definite.
basalt_status basalt_factors_info(const basalt_factors* factors, int64_t* info);
/// Waits. LU: min(m, n) numbers counted from 1, LAPACK's IPIV.
basalt_status basalt_factors_pivots(const basalt_factors* factors, int64_t* pivots);
/// Waits. QR: min(m, n) numbers of the matrix's type, LAPACK's TAU.
basalt_status basalt_factors_tau(const basalt_factors* factors, void* tau);
/// B (n x nrhs) becomes the solution of A X = B; for QR, its first n rows become the least-squares solution. Submits
/// tasks. With INFO > 0 the result has no meaning.
basalt_status basalt_factors_solve(const basalt_factors* factors, basalt_matrix* b);
/// The same for A^T X = B; for QR, the solution of least norm.
basalt_status basalt_factors_solve_transposed(const basalt_factors* factors, basalt_matrix* b);
/// An estimate of 1 / (||A|| ||A^-1||) in the infinity norm; `norm` is that of A before the factorization. For QR, that
/// of R, and `norm` is ignored.
basalt_status basalt_factors_reciprocal_condition(const basalt_factors* factors, double norm, double* condition);
/// QR: C becomes Q C, Q^T C, C Q or C Q^T.
basalt_status basalt_qr_apply(const basalt_factors* factors, basalt_side side, basalt_op op, basalt_matrix* c);
/// QR: the first `cols` columns of Q as a new matrix, 0 <= cols <= m.
basalt_status basalt_qr_form(const basalt_factors* factors, int64_t cols, basalt_matrix** q);

// --- batches of small matrices ---

/// `count` matrices of rows x cols: matrix k at data + k * stride elements, or, if `pointers` is not NULL, at
/// pointers[k].
typedef struct basalt_batch {
    int64_t count, rows, cols, ld, stride;
    void* data;
    void* const* pointers;
} basalt_batch;

/// LAPACK's potrf for each matrix; `info` gets `count` numbers. Waits.
basalt_status basalt_batch_potrf(basalt_runtime* runtime, basalt_type type, basalt_triangle triangle,
                                 const basalt_batch* a, int64_t* info);
/// potrs for each matrix.
basalt_status basalt_batch_potrs(basalt_runtime* runtime, basalt_type type, basalt_triangle triangle,
                                 const basalt_batch* factors, const basalt_batch* b);
/// posv for each matrix, in one pass over the data.
basalt_status basalt_batch_posv(basalt_runtime* runtime, basalt_type type, basalt_triangle triangle,
                                const basalt_batch* a, const basalt_batch* b, int64_t* info);
/// The same on a GPU: matrices, pointers and `info` lie in its memory, orders up to 256. `stream` is a cudaStream_t of
/// the current device; the calls enqueue kernels and return.
basalt_status basalt_gpu_batch_potrf(void* stream, basalt_type type, basalt_triangle triangle, const basalt_batch* a,
                                     int64_t* info);
basalt_status basalt_gpu_batch_potrs(void* stream, basalt_type type, basalt_triangle triangle,
                                     const basalt_batch* factors, const basalt_batch* b);
basalt_status basalt_gpu_batch_posv(void* stream, basalt_type type, basalt_triangle triangle, const basalt_batch* a,
                                    const basalt_batch* b, int64_t* info);

#ifdef __cplusplus
}
#endif

#endif
