#ifndef BASALT_BASALT_RUNTIME_H
#define BASALT_BASALT_RUNTIME_H

/// Of basalt.h: the version, errors, settings, runtimes, places and kinds.

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

#ifdef __cplusplus
}
#endif

#endif
