/* Systems of equations from C: in one call on arrays, and with factors that are kept. */
#include <basalt/basalt.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { n = 300 };

/* Prints why a call failed. */
static bool worked(basalt_status status) {
    if (status != BASALT_OK) fprintf(stderr, "%s: %s\n", basalt_status_name(status), basalt_error_message());
    return status == BASALT_OK;
}

/* Symmetric, and its diagonal is larger than the rest of each row. */
static void fill(double* a, double* b) {
    for (int j = 0; j < n; ++j) {
        for (int i = 0; i < n; ++i) a[i + j * n] = i == j ? n : 1.0 / (1 + abs(i - j));
        b[j] = 1 + j % 7;
    }
}

/* max |b - A x|, which is tiny for such a matrix. */
static double residual(const double* a, const double* x, const double* b) {
    double worst = 0;
    for (int i = 0; i < n; ++i) {
        double r = b[i];
        for (int j = 0; j < n; ++j) r -= a[i + j * n] * x[j];
        worst = fmax(worst, fabs(r));
    }
    return worst;
}

/* LAPACK's dgesv: `a` becomes the factors, x the solution. */
static bool solve_in_one_call(basalt_runtime* runtime, const double* a, double* x) {
    double* factors = malloc(n * n * sizeof *factors);
    int64_t info = -1;
    for (int i = 0; i < n * n; ++i) factors[i] = a[i];
    const bool done = worked(basalt_dgesv(runtime, n, 1, factors, n, NULL, x, n, &info)) && info == 0;
    free(factors);
    return done;
}

/* Cholesky on a matrix in tiles. Nothing but basalt_wait() and basalt_factors_info() waits. */
static bool solve_with_factors(basalt_runtime* runtime, const double* a, double* x) {
    basalt_matrix *matrix = NULL, *right = NULL;
    basalt_factors* factors = NULL;
    int64_t info = -1;
    const bool done = worked(basalt_matrix_create(runtime, BASALT_DOUBLE, n, n, NULL, &matrix)) &&
                      worked(basalt_matrix_create(runtime, BASALT_DOUBLE, n, 1, NULL, &right)) &&
                      worked(basalt_matrix_load(matrix, a, 1, n, BASALT_ANY)) &&
                      worked(basalt_matrix_load(right, x, 1, n, BASALT_ANY)) &&
                      worked(basalt_cholesky_factor(matrix, BASALT_LOWER, NULL, &factors)) &&
                      worked(basalt_factors_solve(factors, right)) &&
                      worked(basalt_matrix_store(right, x, 1, n, BASALT_ANY)) && worked(basalt_wait(runtime)) &&
                      worked(basalt_factors_info(factors, &info)) && info == 0;
    basalt_factors_destroy(factors);
    basalt_matrix_destroy(right);
    basalt_matrix_destroy(matrix);
    return done;
}

int main(void) {
    double *a = malloc(n * n * sizeof *a), *b = malloc(n * sizeof *b), *x = malloc(n * sizeof *x);
    basalt_runtime* runtime = NULL;
    if (!worked(basalt_runtime_create(NULL, &runtime))) return 1;
    fill(a, b);

    for (int i = 0; i < n; ++i) x[i] = b[i];
    const bool first = solve_in_one_call(runtime, a, x);
    printf("in one call: residual %.1e\n", residual(a, x, b));
    const bool first_right = residual(a, x, b) < 1e-10;

    for (int i = 0; i < n; ++i) x[i] = b[i];
    const bool second = solve_with_factors(runtime, a, x);
    printf("with factors: residual %.1e\n", residual(a, x, b));
    const bool second_right = residual(a, x, b) < 1e-10;

    basalt_runtime_destroy(runtime);
    free(a);
    free(b);
    free(x);
    return first && first_right && second && second_right ? 0 : 1;
}
