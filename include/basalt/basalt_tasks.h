#ifndef BASALT_BASALT_TASKS_H
#define BASALT_BASALT_TASKS_H

/// Of basalt.h: data and tasks of your own, graphs and recordings.

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "basalt/basalt_matrices.h"
#include "basalt/basalt_runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

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
#endif

#endif
