/* The C interface as a C program sees it: what it computes, and how it refuses misuse. */
#include "tests/capi/checks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int failures;
static int checks;

void check(bool holds, const char* text, const char* file, int line) {
    ++checks;
    if (holds) return;
    ++failures;
    printf("%s:%d: %s does not hold; last error: %s\n", file, line, text, basalt_error_message());
}

void refused(basalt_status status, basalt_status expected, const char* word, const char* text, const char* file,
             int line) {
    ++checks;
    if (status == expected && strstr(basalt_error_message(), word) != NULL) return;
    ++failures;
    printf("%s:%d: %s gives '%s': %s; expected '%s' with '%s'\n", file, line, text, basalt_status_name(status),
           basalt_error_message(), basalt_status_name(expected), word);
}
static basalt_runtime* start(const char* name, const char* value) {
    basalt_settings* settings = NULL;
    basalt_runtime* runtime = NULL;
    OK(basalt_settings_create(&settings));
    OK(basalt_settings_set(settings, "workers", "2"));
    if (name != NULL) OK(basalt_settings_set(settings, name, value));
    OK(basalt_runtime_create(settings, &runtime));
    basalt_settings_destroy(settings);
    return runtime;
}

static void versions_and_settings(void) {
    char text[32];
    snprintf(text, sizeof text, "%d.%d.%d", BASALT_VERSION_MAJOR, BASALT_VERSION_MINOR, BASALT_VERSION_PATCH);
    CHECK(strcmp(basalt_version_text(), text) == 0);
    CHECK(basalt_version_number() == 10000 * BASALT_VERSION_MAJOR + 100 * BASALT_VERSION_MINOR + BASALT_VERSION_PATCH);
    CHECK(strstr(basalt_setting_names(), "workers") != NULL);
    CHECK(strcmp(basalt_status_name(BASALT_CANCELLED), "cancelled") == 0);

    basalt_settings* settings = NULL;
    OK(basalt_settings_create(&settings));
    const char* allowed[][2] = {{"workers", "3"},     {"scheduler", "fifo"},  {"policy", "heft"},   {"window", "100"},
                                {"bind", "0"},        {"gpus", "0"},          {"gpu_memory", "1G"}, {"trace", "1"},
                                {"gpu_streams", "2"}, {"emulated_gpus", "1"}, {"models", "none"},   {"watchdog", "5"},
                                {"statistics", "1"}};
    for (size_t i = 0; i < sizeof allowed / sizeof *allowed; ++i) {
        OK(basalt_settings_set(settings, allowed[i][0], allowed[i][1]));
    }
    basalt_runtime* runtime = NULL;
    OK(basalt_runtime_create(settings, &runtime));
    CHECK(basalt_runtime_workers(runtime) == 3);
    CHECK(basalt_runtime_gpus(runtime) == 1);
    basalt_runtime_destroy(runtime);
    REFUSED(basalt_settings_set(settings, "workers", "many"), BASALT_INVALID_ARGUMENT, "'workers'");
    REFUSED(basalt_settings_set(settings, "workers", "2000"), BASALT_INVALID_ARGUMENT, "0 to 1024");
    REFUSED(basalt_settings_set(settings, "scheduler", "best"), BASALT_INVALID_ARGUMENT, "priority, fifo");
    REFUSED(basalt_settings_set(settings, "gpu_memory", "much"), BASALT_INVALID_ARGUMENT, "512M");
    REFUSED(basalt_settings_set(settings, "tuning", "/nowhere"), BASALT_INVALID_ARGUMENT, "/nowhere");
    REFUSED(basalt_settings_set(settings, "colour", "red"), BASALT_INVALID_ARGUMENT, "'colour' is unknown");
    REFUSED(basalt_settings_set(settings, NULL, "1"), BASALT_INVALID_ARGUMENT, "name is NULL");
    REFUSED(basalt_settings_set(NULL, "workers", "1"), BASALT_INVALID_ARGUMENT, "settings is NULL");
    REFUSED(basalt_settings_create(NULL), BASALT_INVALID_ARGUMENT, "settings is NULL");
    REFUSED(basalt_runtime_create(settings, NULL), BASALT_INVALID_ARGUMENT, "runtime is NULL");
    basalt_settings_destroy(settings);
    basalt_settings_destroy(NULL);
}

/* --- tasks --- */

static int add_one(const basalt_call* call) {
    const basalt_view x = call->views[0];
    for (int64_t j = 0; j < x.cols; ++j) {
        for (int64_t i = 0; i < x.rows; ++i) ((double*)x.data)[i * x.row_stride + j * x.col_stride] += 1;
    }
    return 0;
}
static int copy_int(const basalt_call* call) {
    *(double*)call->views[1].data = *(const int*)call->views[0].data + (call->views[2].data == NULL ? 100 : 0);
    return 0;
}
static int set_int(const basalt_call* call) {
    *(int*)call->views[0].data = 42;
    return 0;
}
static int fails(const basalt_call* call) { return basalt_call_fail(call, "the moon is full"); }
static int returns_seven(const basalt_call* call) { return call != NULL ? 7 : 0; }
static int nap(const basalt_call* call) { return call->count == 0 ? (usleep(100000), 0) : 1; }
static int gang_member(const basalt_call* call) {
    double* x = call->views[0].data;
    x[call->rank] = call->size;
    if (basalt_call_barrier(call) != BASALT_OK) return 1;
    if (call->rank == 0) x[2] = x[0] + x[call->size - 1];
    return 0;
}
static int fill_chunk(const basalt_call* call) {
    for (int64_t i = call->begin; i < call->end; ++i) ((double*)call->views[0].data)[i] = (double)i;
    return 0;
}
static int released;
static void count_release(void* user) { released += *(int*)user; }
static basalt_runtime* nested_runtime;
static int parent(const basalt_call* call) {
    int worker = -1;
    const basalt_task child = {.name = "child", .cpu = nap};
    if (basalt_worker(&worker) != BASALT_OK || worker < 0 || call->size != 1) return 1;
    return basalt_submit(nested_runtime, &child, NULL) == BASALT_OK && basalt_wait(nested_runtime) == BASALT_OK &&
                   !basalt_cancelled(nested_runtime)
               ? 0
               : 1;
}

static void arrays_and_tasks(basalt_runtime* rt) {
    basalt_array *x = NULL, *i = NULL, *token = NULL, *plane = NULL;
    basalt_handle handle = {{0}};
    void* data = NULL;
    int64_t ld = 0;
    int one = 1;
    OK(basalt_array_create(rt, sizeof(double), 10, "x", &x));
    OK(basalt_array_create(rt, sizeof(int), 1, NULL, &i));
    OK(basalt_token_create(rt, "order", &token));
    const basalt_access whole[] = {basalt_readwrite(x)}, part[] = {basalt_part(basalt_commute(x), 2, 0, 3, 1)};
    const basalt_access mixed[] = {basalt_read(i), basalt_part(basalt_write(x), 9, 0, 1, 1), basalt_readwrite(token)};
    const basalt_access number[] = {basalt_write(i)};
    const basalt_task tasks[] = {
        {.cpu = add_one, .accesses = whole, .access_count = 1},
        {.name = "part", .cpu = add_one, .user = &one, .release = count_release, .accesses = part, .access_count = 1},
        {.cpu = set_int, .accesses = number, .access_count = 1, .priority = 3},
        {.cpu = copy_int, .accesses = mixed, .access_count = 3, .size = 1000}};
    for (int k = 0; k < 4; ++k) OK(basalt_submit(rt, &tasks[k], &handle));
    OK(basalt_handle_wait(&handle));
    CHECK(basalt_handle_done(&handle));
    OK(basalt_array_host_view(x, &data, &ld));
    CHECK(((double*)data)[1] == 1 && ((double*)data)[3] == 2 && ((double*)data)[9] == 142);
    OK(basalt_wait(rt));
    CHECK(released == 1);

    const basalt_task gang = {
        .cpu = gang_member, .accesses = whole, .access_count = 1, .min_threads = 2, .max_threads = 2};
    OK(basalt_submit(rt, &gang, NULL));
    OK(basalt_array_host_view(x, &data, NULL));
    CHECK(((double*)data)[2] == 4);
    const basalt_task loop = {.name = "loop", .cpu = fill_chunk, .accesses = whole, .access_count = 1};
    OK(basalt_submit_for(rt, &loop, 0, 10, 3, &handle));
    OK(basalt_handle_wait_for(&handle, 10));
    OK(basalt_array_host_view(x, &data, NULL));
    CHECK(((double*)data)[9] == 9);
    nested_runtime = rt;
    const basalt_task nested = {.name = "parent", .cpu = parent, .after = &handle, .after_count = 1};
    OK(basalt_submit(rt, &nested, NULL));
    OK(basalt_wait(rt));

    static double user[12];
    OK(basalt_array_wrap_2d(rt, user, sizeof(double), 3, 3, 4, NULL, &plane));
    const basalt_access window[] = {basalt_part(basalt_readwrite(plane), 1, 1, 2, 2)};
    const basalt_task inner = {.cpu = add_one, .accesses = window, .access_count = 1};
    OK(basalt_submit(rt, &inner, NULL));
    basalt_array* blocks[4];
    OK(basalt_array_split(plane, 2, 2, blocks));
    const basalt_access last[] = {basalt_readwrite(blocks[3])};
    const basalt_task corner = {.cpu = add_one, .accesses = last, .access_count = 1};
    OK(basalt_submit(rt, &corner, NULL));
    OK(basalt_array_host_view(blocks[3], &data, &ld));
    CHECK(data == user + 10 && ld == 4);
    OK(basalt_wait(rt));
    CHECK(user[0] == 0 && user[5] == 1 && user[10] == 2 && user[11] == 0);
    for (int k = 0; k < 4; ++k) basalt_array_destroy(blocks[k]);

    REFUSED(basalt_array_split(plane, 4, 1, blocks), BASALT_INVALID_ARGUMENT, "block_rows is 4");
    REFUSED(basalt_array_split(token, 1, 1, blocks), BASALT_INVALID_ARGUMENT, "block_rows");
    REFUSED(basalt_array_create(rt, 0, 10, NULL, &x), BASALT_INVALID_ARGUMENT, "element_size is 0");
    REFUSED(basalt_array_create(rt, 8, -1, NULL, &x), BASALT_INVALID_ARGUMENT, "size is -1");
    REFUSED(basalt_array_wrap(rt, NULL, 8, 1, NULL, &x), BASALT_INVALID_ARGUMENT, "data is NULL");
    REFUSED(basalt_array_host_view(token, &data, NULL), BASALT_INVALID_ARGUMENT, "token");
    const basalt_access outside[] = {basalt_part(basalt_read(x), 8, 0, 3, 1)}, nothing[] = {{.mode = BASALT_READ}},
                        odd[] = {basalt_access_of(x, (basalt_access_mode)5)};
    const basalt_task beyond = {.cpu = add_one,
                                .user = &one,
                                .release = count_release,
                                .accesses = outside,
                                .access_count = 1},
                      none = {.name = "none"}, null = {.cpu = nap, .access_count = 2},
                      no_array = {.cpu = nap, .accesses = nothing, .access_count = 1},
                      odd_mode = {.cpu = nap, .accesses = odd, .access_count = 1},
                      far = {.cpu = nap, .place = BASALT_GPU(3)}, threads = {.cpu = nap, .max_threads = -1};
    REFUSED(basalt_submit(rt, &beyond, NULL), BASALT_INVALID_ARGUMENT, "rows is 3");
    CHECK(released == 1); /* `user` stays the caller's */
    REFUSED(basalt_submit(rt, &none, NULL), BASALT_INVALID_ARGUMENT, "cpu and cuda are NULL");
    REFUSED(basalt_submit(rt, &null, NULL), BASALT_INVALID_ARGUMENT, "accesses is NULL");
    REFUSED(basalt_submit(rt, &no_array, NULL), BASALT_INVALID_ARGUMENT, "array and matrix are NULL");
    REFUSED(basalt_submit(rt, &odd_mode, NULL), BASALT_INVALID_ARGUMENT, "mode is 5");
    REFUSED(basalt_submit(rt, &far, NULL), BASALT_INVALID_ARGUMENT, "gpu");
    REFUSED(basalt_submit(rt, &threads, NULL), BASALT_INVALID_ARGUMENT, "max_threads is -1");
    REFUSED(basalt_submit(rt, NULL, NULL), BASALT_INVALID_ARGUMENT, "task is NULL");
    REFUSED(basalt_wait_for(rt, -1), BASALT_INVALID_ARGUMENT, "seconds");
    REFUSED(basalt_worker(&one), BASALT_INVALID_ARGUMENT, "worker");
    basalt_array_destroy(plane);
    basalt_array_destroy(token);
    basalt_array_destroy(i);
    basalt_array_destroy(x);
}

static void errors_and_graphs(basalt_runtime* rt) {
    basalt_array *x = NULL, *foreign = NULL;
    basalt_graph* graph = NULL;
    basalt_handle handle = {{0}};
    OK(basalt_array_create(rt, sizeof(double), 4, "x", &x));
    OK(basalt_graph_create(rt, 1, &graph));
    const basalt_access whole[] = {basalt_readwrite(x)};
    const basalt_task bad = {.name = "bad", .cpu = fails, .accesses = whole, .access_count = 1},
                      after_bad = {.name = "after", .cpu = add_one, .accesses = whole, .access_count = 1},
                      seven = {.name = "seven", .cpu = returns_seven}, sleeper = {.name = "nap", .cpu = nap};
    OK(basalt_graph_submit(graph, &bad, &handle));
    REFUSED(basalt_handle_wait(&handle), BASALT_TASK_FAILED, "the moon is full");
    OK(basalt_submit(rt, &after_bad, NULL));
    REFUSED(basalt_wait(rt), BASALT_NO_CONTENTS, "x");
    CHECK(basalt_graph_cancelled(graph));
    REFUSED(basalt_graph_wait(graph), BASALT_TASK_FAILED, "bad");
    OK(basalt_graph_submit(graph, &seven, NULL));
    REFUSED(basalt_graph_wait(graph), BASALT_TASK_FAILED, "returned 7");
    OK(basalt_submit(rt, &sleeper, NULL));
    CHECK(basalt_wait_for(rt, 0) == BASALT_TIMED_OUT);
    OK(basalt_wait(rt));
    OK(basalt_graph_submit(graph, &sleeper, NULL));
    OK(basalt_graph_cancel(graph));
    REFUSED(basalt_graph_wait_for(graph, 10), BASALT_CANCELLED, "cancelled");
    OK(basalt_submit(rt, &sleeper, NULL));
    OK(basalt_cancel(rt));
    REFUSED(basalt_wait(rt), BASALT_CANCELLED, "cancelled");
    REFUSED(basalt_graph_enter(graph, NULL, NULL), BASALT_INVALID_ARGUMENT, "function is NULL");
    void* data = NULL;
    OK(basalt_array_host_overwrite(x, &data, NULL));

    basalt_runtime* other = start(NULL, NULL);
    OK(basalt_array_create(other, sizeof(double), 4, "foreign", &foreign));
    const basalt_access wrong[] = {basalt_read(foreign)};
    const basalt_task stray = {.name = "stray", .cpu = nap, .accesses = wrong, .access_count = 1};
    REFUSED(basalt_submit(rt, &stray, NULL), BASALT_INVALID_ARGUMENT, "foreign");
    basalt_runtime_destroy(other);
    REFUSED(basalt_array_host_view(foreign, &data, NULL), BASALT_INVALID_ARGUMENT, "basalt_array_host_view()");
    basalt_array_destroy(foreign);
    basalt_graph_destroy(graph);
    basalt_array_destroy(x);
}

struct step {
    basalt_runtime* runtime;
    basalt_array* x;
    basalt_graph* graph;
};
static void submit_step(void* user) {
    const struct step* step = user;
    const basalt_access whole[] = {basalt_readwrite(step->x)};
    const basalt_task task = {.name = "step", .cpu = add_one, .accesses = whole, .access_count = 1};
    OK(basalt_submit(step->runtime, &task, NULL));
}

static void recordings_and_traces(basalt_runtime* rt) {
    basalt_array* y = NULL;
    basalt_recording* recording = NULL;
    size_t size = 0;
    void* data = NULL;
    struct step step = {.runtime = rt};
    OK(basalt_array_create(rt, sizeof(double), 4, "x", &step.x));
    OK(basalt_array_create(rt, sizeof(double), 4, "y", &y));
    OK(basalt_graph_create(rt, 0, &step.graph));
    OK(basalt_recording_create(rt, submit_step, &step, &recording));
    OK(basalt_recording_size(recording, &size));
    CHECK(size == 1);
    OK(basalt_trace_start(rt));
    for (int k = 0; k < 5; ++k) OK(basalt_recording_run(recording, NULL));
    OK(basalt_recording_bind(recording, step.x, y));
    OK(basalt_recording_run(recording, step.graph));
    OK(basalt_graph_enter(step.graph, submit_step, &step));
    OK(basalt_graph_wait(step.graph));
    OK(basalt_wait(rt));
    OK(basalt_array_host_view(step.x, &data, NULL));
    CHECK(((double*)data)[0] == 6);
    OK(basalt_array_host_view(y, &data, NULL));
    CHECK(((double*)data)[3] == 1);
    char file[] = "/tmp/basalt-trace-XXXXXX";
    const int descriptor = mkstemp(file);
    CHECK(descriptor >= 0);
    OK(basalt_trace_write(rt, file));
    CHECK(lseek(descriptor, 0, SEEK_END) > 100);
    close(descriptor);
    unlink(file);
    REFUSED(basalt_trace_write(rt, "/nowhere/trace.json"), BASALT_INVALID_ARGUMENT, "/nowhere/trace.json");
    basalt_statistics statistics = {0};
    OK(basalt_runtime_statistics(rt, &statistics));
    CHECK(statistics.tasks >= 6);
    basalt_recording_destroy(recording);
    basalt_graph_destroy(step.graph);
    basalt_array_destroy(y);
    basalt_array_destroy(step.x);
}

/* Objects may outlive their runtime: calls are refused then. */
static void after_the_end(void) {
    basalt_runtime* rt = start(NULL, NULL);
    basalt_matrix *a = NULL, *b = NULL;
    basalt_array* x = NULL;
    basalt_factors *lu = NULL, *qr = NULL;
    int64_t info = 0;
    double value = 0;
    OK(basalt_matrix_generate(rt, BASALT_DOUBLE, 300, 300, "random", 1, BASALT_ANY, NULL, &a));
    OK(basalt_matrix_generate(rt, BASALT_DOUBLE, 300, 300, "random", 2, BASALT_ANY, NULL, &b));
    OK(basalt_array_create(rt, 8, 10, NULL, &x));
    OK(basalt_lu_factor(a, NULL, &lu));
    OK(basalt_qr_factor(b, NULL, &qr));
    basalt_runtime_destroy(rt);
    REFUSED(basalt_factors_info(lu, &info), BASALT_INVALID_ARGUMENT, "basalt_factors_info()");
    REFUSED(basalt_factors_solve(lu, b), BASALT_INVALID_ARGUMENT, "the runtime has ended");
    REFUSED(basalt_matrix_at(a, 0, 0, &value), BASALT_INVALID_ARGUMENT, "basalt_matrix_at()");
    REFUSED(basalt_array_prefetch(x, BASALT_CPU), BASALT_INVALID_ARGUMENT, "the runtime has ended");
    basalt_factors_destroy(qr);
    basalt_matrix_destroy(a);
    basalt_factors_destroy(lu);
    basalt_matrix_destroy(b);
    basalt_array_destroy(x);
}

static int never(const basalt_call* call) { return basalt_call_fail(call, "an emulated GPU called the cuda kernel"); }

static void emulated_gpus(void) {
    basalt_runtime* rt = start("emulated_gpus", "2");
    basalt_array *plane = NULL, *blocks[2] = {NULL, NULL};
    basalt_matrix* matrix = NULL;
    basalt_factors* factors = NULL;
    int64_t info = -1;
    double value = 0;
    static double user[40];
    CHECK(basalt_runtime_gpus(rt) == 2);
    OK(basalt_array_wrap_2d(rt, user, sizeof(double), 3, 8, 5, "plane", &plane));
    OK(basalt_array_split(plane, 1, 2, blocks));
    for (int k = 0; k < 2; ++k) {
        const basalt_access block[] = {basalt_readwrite(blocks[k])};
        const basalt_task task = {
            .cpu = add_one, .cuda = never, .accesses = block, .access_count = 1, .place = BASALT_GPU(k)};
        OK(basalt_array_prefetch(blocks[k], BASALT_GPU(k)));
        OK(basalt_submit(rt, &task, NULL));
    }
    OK(basalt_wait(rt));
    CHECK(user[0] == 1 && user[3] == 0 && user[5 * 7 + 2] == 1 && user[5 * 7 + 3] == 0);
    const basalt_access whole[] = {basalt_readwrite(plane)};
    const basalt_task gpu_only = {.cuda = never, .accesses = whole, .access_count = 1};
    REFUSED(basalt_submit(rt, &gpu_only, NULL), BASALT_INVALID_ARGUMENT, "");

    const basalt_factor_options gpu = {.mode = BASALT_MODE_GPU};
    OK(basalt_matrix_generate(rt, BASALT_DOUBLE, 200, 200, "random", 3, BASALT_ANY, NULL, &matrix));
    OK(basalt_lu_factor(matrix, &gpu, &factors));
    OK(basalt_factors_info(factors, &info));
    CHECK(info == 0);
    const basalt_access tile[] = {basalt_tile(matrix, 0, 0, BASALT_READWRITE)};
    OK(basalt_matrix_at(matrix, 0, 1, &value));
    const double before = value;
    const basalt_task task = {.cpu = add_one, .accesses = tile, .access_count = 1};
    OK(basalt_submit(rt, &task, NULL));
    OK(basalt_matrix_at(matrix, 0, 1, &value));
    CHECK(value == before + 1);
    basalt_factors_destroy(factors);
    basalt_matrix_destroy(matrix);
    for (int k = 0; k < 2; ++k) basalt_array_destroy(blocks[k]);
    basalt_array_destroy(plane);
    basalt_runtime_destroy(rt);
}

int main(void) {
    versions_and_settings();
    basalt_runtime* rt = start(NULL, NULL);
    linear_algebra(rt);
    arrays_and_tasks(rt);
    errors_and_graphs(rt);
    recordings_and_traces(rt);
    basalt_runtime_destroy(rt);
    emulated_gpus();
    after_the_end();
    printf("%d checks, %d failures\n", checks, failures);
    return failures == 0 ? 0 : 1;
}
