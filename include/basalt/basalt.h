#ifndef BASALT_BASALT_H
#define BASALT_BASALT_H

/// Basalt for C (C11) and for all languages that can call C: `#include <basalt/basalt.h>`, link with -lbasalt.
///
/// Functions return a status. Anything but BASALT_OK means that nothing was made and no output was written, and
/// basalt_error_message() says why. No C++ exception leaves a function. Numerical outcomes are no errors: they are
/// LAPACK's INFO, in an `info` argument.
///
/// What NAME_create() and the like return through their last argument is given back with NAME_destroy(), which takes
/// NULL, too. Objects that belong to a runtime may outlive it: they can then only be destroyed. Strings that are given
/// are copied, unless something else is said. All functions may be called from any thread.
///
/// Matrices on the user's side are column-major: element (i, j) at a[i + j * lda], lda >= max(1, rows), as in LAPACK.
/// Indices count from 0, except in pivots and INFO.

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// The version of this header. Before 1.0 a minor version may change the interface.
#define BASALT_VERSION_MAJOR 0
#define BASALT_VERSION_MINOR 1
#define BASALT_VERSION_PATCH 0

/// The version of the library that runs: 10000 * major + 100 * minor + patch.
int basalt_version_number(void);
/// The same as text, e.g. "0.1.0".
const char* basalt_version_text(void);

// --- errors ---

typedef enum basalt_status {
    BASALT_OK = 0,
    BASALT_INVALID_ARGUMENT = 1,    ///< an argument or call that is not allowed; the message names it
    BASALT_OUT_OF_MEMORY = 2,       ///< of the host
    BASALT_TASK_FAILED = 3,         ///< a task's kernel failed
    BASALT_NO_CONTENTS = 4,         ///< a task that should have written the data failed or was cancelled
    BASALT_PREDECESSOR_FAILED = 5,  ///< a task did not run because one that it follows failed
    BASALT_DEVICE_FAILED = 6,       ///< a GPU failed or ran out of memory
    BASALT_CANCELLED = 7,           ///< by basalt_cancel() or basalt_graph_cancel()
    BASALT_TIMED_OUT = 8,           ///< the limit of a wait ran out; no error
    BASALT_FAILED = 9               ///< anything else
} basalt_status;

/// Why the calling thread's last call that failed did so; "" if none has. Valid until the thread's next call that
/// fails.
const char* basalt_error_message(void);
/// E.g. "invalid argument" for BASALT_INVALID_ARGUMENT.
const char* basalt_status_name(basalt_status status);

// --- settings and runtimes ---

typedef struct basalt_settings basalt_settings;
typedef struct basalt_runtime basalt_runtime;

/// The defaults, overridden by the environment variables BASALT_WORKERS and so on.
basalt_status basalt_settings_create(basalt_settings** settings);
void basalt_settings_destroy(basalt_settings* settings);
/// Sets one field of basalt::Config (basalt/config.hpp) from text: "workers" "4", "gpu_memory" "2G", "bind" "0". The
/// names are those of basalt_setting_names(). Limits are checked here and when the runtime is created.
basalt_status basalt_settings_set(basalt_settings* settings, const char* name, const char* value);
/// All names, separated by spaces.
const char* basalt_setting_names(void);

/// Starts a runtime. `settings` NULL: those of basalt_settings_create().
basalt_status basalt_runtime_create(const basalt_settings* settings, basalt_runtime** runtime);
/// Waits for everything submitted, then ends the runtime. Not inside a task.
void basalt_runtime_destroy(basalt_runtime* runtime);
/// Worker threads; 0 for NULL.
int basalt_runtime_workers(const basalt_runtime* runtime);
/// GPUs, emulated ones too; 0 for NULL.
int basalt_runtime_gpus(const basalt_runtime* runtime);

/// Waits for all tasks that belong to no graph of their own, and runs tasks meanwhile. Inside a task: for its children.
/// Fails with the first error of the tasks. The runtime is usable afterwards.
basalt_status basalt_wait(basalt_runtime* runtime);
/// The same with a limit: BASALT_TIMED_OUT when it ran out first. 0 looks and does not wait.
basalt_status basalt_wait_for(basalt_runtime* runtime, double seconds);
/// Drops the tasks that have not started; the next wait returns BASALT_CANCELLED.
basalt_status basalt_cancel(basalt_runtime* runtime);
/// Inside a task: whether its graph was cancelled, so that a long kernel may stop early.
bool basalt_cancelled(const basalt_runtime* runtime);
/// The number of the worker that runs the calling task, below basalt_runtime_workers() unless tasks wait with a limit.
basalt_status basalt_worker(int* worker);

typedef struct basalt_statistics {
    uint64_t tasks;           ///< submitted
    uint64_t edges;           ///< dependencies recorded
    uint64_t renamed;         ///< write-only accesses that got fresh storage
    uint64_t most_gpu_bytes;  ///< peak of the GPU with the highest one
} basalt_statistics;
/// Counts since the runtime started.
basalt_status basalt_runtime_statistics(const basalt_runtime* runtime, basalt_statistics* statistics);

basalt_status basalt_trace_start(basalt_runtime* runtime);
/// Writes what ran since basalt_trace_start() as Chrome's trace JSON, which `basalt trace` and Perfetto read. Call it
/// when nothing is in flight.
basalt_status basalt_trace_write(basalt_runtime* runtime, const char* file);

// --- places and kinds ---

/// Where data lie or a task runs: BASALT_ANY (the library chooses), BASALT_CPU, or BASALT_GPU(number) from 0 on.
typedef int basalt_place;
#define BASALT_ANY 0
#define BASALT_CPU 1
#define BASALT_GPU(number) (2 + (number))

typedef enum basalt_type { BASALT_FLOAT = 0, BASALT_DOUBLE = 1 } basalt_type;
typedef enum basalt_triangle { BASALT_LOWER = 0, BASALT_UPPER = 1 } basalt_triangle;
typedef enum basalt_side { BASALT_LEFT = 0, BASALT_RIGHT = 1 } basalt_side;
typedef enum basalt_op { BASALT_PLAIN = 0, BASALT_TRANSPOSED = 1 } basalt_op;
typedef enum basalt_mode {
    BASALT_MODE_AUTOMATIC = 0,
    BASALT_MODE_CPU = 1,
    BASALT_MODE_HYBRID = 2,
    BASALT_MODE_GPU = 3
} basalt_mode;

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
/// where A stays as it is; negative where A was factored in double, which leaves A and `pivots` as basalt_dgesv() does.
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

/// Zeros mean the library's choice. `name`, or NULL, appears in errors and traces.
typedef struct basalt_matrix_options {
    int64_t tile_height;
    int64_t tile_width;
    const char* name;
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
    bool plain_products;  ///< single precision on GPUs: no products by slices of bf16
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

// --- data of your own tasks ---

/// An array that tasks may access, of one or two dimensions; a block of one; or a token, which has no elements.
typedef struct basalt_array basalt_array;

/// `size` elements of `element_size` bytes, zeroed, owned by the runtime. `name`, or NULL, appears in errors.
basalt_status basalt_array_create(basalt_runtime* runtime, size_t element_size, int64_t size, const char* name,
                                  basalt_array** array);
/// Borrows memory of the user's, which may be read and written directly after a wait until the next submission.
basalt_status basalt_array_wrap(basalt_runtime* runtime, void* data, size_t element_size, int64_t size,
                                const char* name, basalt_array** array);
/// Column-major, rows * element_size <= 2^28. On GPUs the columns follow each other.
basalt_status basalt_array_create_2d(basalt_runtime* runtime, size_t element_size, int64_t rows, int64_t cols,
                                     const char* name, basalt_array** array);
basalt_status basalt_array_wrap_2d(basalt_runtime* runtime, void* data, size_t element_size, int64_t rows, int64_t cols,
                                   int64_t ld, const char* name, basalt_array** array);
/// Orders tasks by accesses without data, for what the runtime does not manage.
basalt_status basalt_token_create(basalt_runtime* runtime, const char* name, basalt_array** token);
/// Cuts an array into nearly equal blocks that GPUs and cores use at the same time. blocks[i + j * block_rows] becomes
/// the one in row i and column j; each is destroyed by the caller, before the array. An array of one dimension has
/// block_cols == 1.
basalt_status basalt_array_split(const basalt_array* array, int64_t block_rows, int64_t block_cols,
                                 basalt_array** blocks);
/// Waits for the tasks that use the array.
void basalt_array_destroy(basalt_array* array);
/// Waits for the tasks that use the array, and gives its elements in the host's memory; ld: the leading dimension, or
/// NULL.
basalt_status basalt_array_host_view(const basalt_array* array, void** data, int64_t* ld);
/// The same for a caller that overwrites all elements; the array is valid afterwards even if a task had failed.
basalt_status basalt_array_host_overwrite(const basalt_array* array, void** data, int64_t* ld);
/// Copies an array or block to a place before a task needs it there.
basalt_status basalt_array_prefetch(const basalt_array* array, basalt_place place);

typedef enum basalt_access_mode {
    BASALT_READ = 0,
    BASALT_WRITE = 1,      ///< overwrites all of it without reading it
    BASALT_READWRITE = 2,  ///< in program order
    BASALT_COMMUTE = 3     ///< exclusive, in any order among commuting tasks
} basalt_access_mode;

/// What a task does to an array, or to a tile of a matrix. Made by the functions below.
typedef struct basalt_access {
    const basalt_array* array;
    const basalt_matrix* matrix;  ///< if there is no array
    basalt_access_mode mode;
    bool is_part;  ///< of the array: the window below; of the matrix: tile (row, col)
    int64_t row, col, rows, cols;
} basalt_access;

static inline basalt_access basalt_access_of(const basalt_array* array, basalt_access_mode mode) {
    const basalt_access access = {array, NULL, mode, false, 0, 0, 0, 0};  // NOLINT(modernize-use-nullptr): C
    return access;
}
static inline basalt_access basalt_read(const basalt_array* array) { return basalt_access_of(array, BASALT_READ); }
static inline basalt_access basalt_write(const basalt_array* array) { return basalt_access_of(array, BASALT_WRITE); }
static inline basalt_access basalt_readwrite(const basalt_array* array) {
    return basalt_access_of(array, BASALT_READWRITE);
}
static inline basalt_access basalt_commute(const basalt_array* array) {
    return basalt_access_of(array, BASALT_COMMUTE);
}
/// The window of rows x cols elements at (row, col) alone. Tasks on windows that do not overlap are independent.
static inline basalt_access basalt_part(basalt_access access, int64_t row, int64_t col, int64_t rows, int64_t cols) {
    const basalt_access part = {access.array, access.matrix, access.mode, true, row, col, rows, cols};
    return part;
}
/// Tile (i, j) of a matrix; its view is row-major.
static inline basalt_access basalt_tile(const basalt_matrix* matrix, int64_t i, int64_t j, basalt_access_mode mode) {
    const basalt_access access = {NULL, matrix, mode, true, i, j, 0, 0};  // NOLINT(modernize-use-nullptr): C
    return access;
}

// --- tasks ---

/// Elements that a kernel may use: element (i, j) lies i * row_stride + j * col_stride elements behind `data`.
typedef struct basalt_view {
    void* data;
    int64_t rows, cols, row_stride, col_stride;
} basalt_view;

/// What a kernel gets. Valid during the call.
typedef struct basalt_call {
    const basalt_view* views;  ///< one for each access, in their order; without data for a token
    size_t count;              ///< of them
    void* user;                ///< of the task
    int rank, size;            ///< of a gang's member; otherwise 0 and 1
    int64_t begin, end;        ///< of a loop's chunk; otherwise 0
    void* stream;              ///< a cuda kernel's cudaStream_t, whose device is current; otherwise NULL
    int gpu;                   ///< number of the GPU; meaningless without a stream
    void* inside;              ///< the library's
} basalt_call;

/// 0, or anything else for failure: see basalt_call_fail(). A cuda kernel enqueues work on call->stream and returns; it
/// never waits and submits nothing. A kernel does not leave by longjmp() or a C++ exception.
typedef int (*basalt_kernel)(const basalt_call* call);

/// Sets the text of the kernel's error and returns 1, for `return basalt_call_fail(call, "...")`.
int basalt_call_fail(const basalt_call* call, const char* message);
/// Waits for all members of the gang.
basalt_status basalt_call_barrier(const basalt_call* call);
/// `bytes` bytes of GPU memory for what a cuda kernel enqueues.
basalt_status basalt_call_scratch(const basalt_call* call, size_t bytes, void** memory);
/// The stream's cublasHandle_t.
basalt_status basalt_call_cublas(const basalt_call* call, void** handle);
/// The stream's cusolverDnHandle_t.
basalt_status basalt_call_cusolver(const basalt_call* call, void** handle);

/// A submitted task: a value without ownership.
typedef struct basalt_handle {
    uint64_t inside[4];
} basalt_handle;

/// A task. Fields that are not named are zero: {.name = "axpy", .cpu = axpy, .accesses = a, .access_count = 2}.
typedef struct basalt_task {
    const char* name;             ///< NULL: "task"
    basalt_kernel cpu;            ///< for cores; it also replaces the cuda kernel on emulated GPUs
    basalt_kernel cuda;           ///< for GPUs; one of the two may be NULL
    void* user;                   ///< call->user
    void (*release)(void* user);  ///< called once when the task no longer needs `user`, if submit succeeded; or NULL
    const basalt_access* accesses;
    size_t access_count;
    const basalt_handle* after;  ///< tasks to follow that share no data
    size_t after_count;
    int priority;                  ///< larger runs first
    int min_threads, max_threads;  ///< more than one: a gang on cores
    basalt_place place;
    uint64_t size;  ///< of the work in any unit, for policies that learn times; 0: unknown
} basalt_task;

/// Submits a task and returns at once. `handle` may be NULL. Inside a task: a child of it.
basalt_status basalt_submit(basalt_runtime* runtime, const basalt_task* task, basalt_handle* handle);
/// Submits a loop as one task: the cpu kernel gets chunks of `grain` indices of [begin, end); 0: of a suitable size.
basalt_status basalt_submit_for(basalt_runtime* runtime, const basalt_task* task, int64_t begin, int64_t end,
                                int64_t grain, basalt_handle* handle);
/// Waits for one task and gives its own error.
basalt_status basalt_handle_wait(const basalt_handle* handle);
basalt_status basalt_handle_wait_for(const basalt_handle* handle, double seconds);
bool basalt_handle_done(const basalt_handle* handle);

// --- graphs and recordings ---

/// Tasks that are waited for, cancelled and fail together.
typedef struct basalt_graph basalt_graph;

/// `priority` is added to that of every task in it.
basalt_status basalt_graph_create(basalt_runtime* runtime, int priority, basalt_graph** graph);
/// Waits for its tasks.
void basalt_graph_destroy(basalt_graph* graph);
basalt_status basalt_graph_submit(basalt_graph* graph, const basalt_task* task, basalt_handle* handle);
/// Calls function(user); what the calling thread submits meanwhile, factorizations too, goes to the graph.
basalt_status basalt_graph_enter(basalt_graph* graph, void (*function)(void* user), void* user);
basalt_status basalt_graph_wait(basalt_graph* graph);
basalt_status basalt_graph_wait_for(basalt_graph* graph, double seconds);
basalt_status basalt_graph_cancel(basalt_graph* graph);
bool basalt_graph_cancelled(const basalt_graph* graph);

/// A task graph that is recorded once and runs many times.
typedef struct basalt_recording basalt_recording;

/// Calls submits(user) and keeps what it submits instead of running it. See basalt/recording.hpp for what is allowed.
basalt_status basalt_recording_create(basalt_runtime* runtime, void (*submits)(void* user), void* user,
                                      basalt_recording** recording);
void basalt_recording_destroy(basalt_recording* recording);
/// Runs the tasks once, in `graph`, or in the runtime's own if that is NULL. Returns at once.
basalt_status basalt_recording_run(basalt_recording* recording, const basalt_graph* graph);
/// Runs from now on use `other` in place of `recorded`, an array of the same size.
basalt_status basalt_recording_bind(basalt_recording* recording, const basalt_array* recorded,
                                    const basalt_array* other);
/// Number of recorded tasks.
basalt_status basalt_recording_size(const basalt_recording* recording, size_t* size);

#ifdef __cplusplus
}

namespace basalt {
class Runtime;
}
/// The runtime for the C++ parts of a program. It ends with basalt_runtime_destroy().
basalt::Runtime& basalt_runtime_in_cpp(basalt_runtime& runtime);
#endif

#endif
