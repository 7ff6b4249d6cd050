/* A task graph of C functions: two tasks fill blocks of a vector, two scale them, one adds them up. */
#include <basalt/basalt.h>

#include <stdio.h>

enum { n = 1000, blocks = 4 };

static int fill(const basalt_call* call) {
    const basalt_view x = call->views[0];
    for (int64_t i = 0; i < x.rows; ++i) ((double*)x.data)[i] = 1;
    return 0;
}

/* call->user is what the task was given. */
static int scale(const basalt_call* call) {
    const basalt_view x = call->views[0];
    const double factor = *(const double*)call->user;
    for (int64_t i = 0; i < x.rows; ++i) ((double*)x.data)[i] *= factor;
    return 0;
}

static int sum(const basalt_call* call) {
    double* total = call->views[call->count - 1].data;
    *total = 0;
    for (size_t k = 0; k + 1 < call->count; ++k) {
        const basalt_view x = call->views[k];
        for (int64_t i = 0; i < x.rows; ++i) *total += ((const double*)x.data)[i];
    }
    if (*total < 0) return basalt_call_fail(call, "the sum is negative");
    return 0;
}

/* Nothing here waits but basalt_wait(): the accesses say what follows what. */
static basalt_status submit_all(basalt_runtime* runtime, basalt_array* const* x, const basalt_array* total) {
    static double factor = 3;
    basalt_access all[blocks + 1];
    basalt_status status = BASALT_OK;
    for (int k = 0; k < blocks && status == BASALT_OK; ++k) {
        const basalt_access whole = basalt_write(x[k]), again = basalt_readwrite(x[k]);
        const basalt_task first = {.name = "fill", .cpu = fill, .accesses = &whole, .access_count = 1};
        const basalt_task second = {
            .name = "scale", .cpu = scale, .user = &factor, .accesses = &again, .access_count = 1};
        status = basalt_submit(runtime, &first, NULL);
        if (status == BASALT_OK) status = basalt_submit(runtime, &second, NULL);
        all[k] = basalt_read(x[k]);
    }
    all[blocks] = basalt_write(total);
    const basalt_task last = {.name = "sum", .cpu = sum, .accesses = all, .access_count = blocks + 1};
    if (status == BASALT_OK) status = basalt_submit(runtime, &last, NULL);
    return status == BASALT_OK ? basalt_wait(runtime) : status;
}

int main(void) {
    basalt_runtime* runtime = NULL;
    basalt_array *whole = NULL, *x[blocks] = {NULL}, *total = NULL;
    void* result = NULL;
    const bool made = basalt_runtime_create(NULL, &runtime) == BASALT_OK &&
                      basalt_array_create(runtime, sizeof(double), n, "x", &whole) == BASALT_OK &&
                      basalt_array_split(whole, blocks, 1, x) == BASALT_OK &&
                      basalt_array_create(runtime, sizeof(double), 1, "total", &total) == BASALT_OK;
    const bool done =
        made && submit_all(runtime, x, total) == BASALT_OK && basalt_array_host_view(total, &result, NULL) == BASALT_OK;
    if (!done) fprintf(stderr, "%s\n", basalt_error_message());
    const double found = done ? *(const double*)result : 0;
    printf("sum %g, expected %g\n", found, 3.0 * n);

    basalt_array_destroy(total);
    for (int k = 0; k < blocks; ++k) basalt_array_destroy(x[k]);
    basalt_array_destroy(whole);
    basalt_runtime_destroy(runtime);
    return found == 3.0 * n ? 0 : 1;
}
