/* Drivers, batches, matrices and factors of the C interface. */
#include "tests/capi/checks.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void fill_system(int n, double* a, double* b) {
    for (int i = 0; i < n; ++i) b[i] = 0;
    for (int j = 0; j < n; ++j) {
        for (int i = 0; i < n; ++i) {
            a[i + j * n] = (i == j ? n : 0) + 1.0 / (1 + abs(i - j));
            b[i] += a[i + j * n];
        }
    }
}
bool all_ones(int n, const double* x) {
    for (int i = 0; i < n; ++i) {
        if (!(fabs(x[i] - 1) < 1e-9)) return false;
    }
    return true;
}

static void drivers(basalt_runtime* rt) {
    enum { n = 70 };
    static double a[n * n], b[n], tau[n], q[n * n];
    int64_t info = -1, pivots[n] = {0};
    fill_system(n, a, b);
    OK(basalt_dgesv(rt, n, 1, a, n, pivots, b, n, &info));
    CHECK(info == 0 && pivots[0] == 1 && pivots[n - 1] == n && all_ones(n, b));
    fill_system(n, q, b);
    OK(basalt_dgetrs(rt, BASALT_TRANSPOSED, n, 1, a, n, pivots, b, n)); /* A is symmetric */
    CHECK(all_ones(n, b));
    for (int j = 0; j < n; ++j) memcpy(q + j * n, b, n * sizeof *b);
    OK(basalt_dgetrs(rt, BASALT_PLAIN, n, n, a, n, pivots, q, n));
    OK(basalt_dgetrs(rt, BASALT_PLAIN, n, 1, a, n, pivots, b, n));
    CHECK(q[n * n - 1] == b[n - 1]);
    static double x[n], kept[n * n];
    int64_t steps = -99;
    fill_system(n, a, b);
    memcpy(kept, a, sizeof a);
    OK(basalt_dsgesv(rt, n, 1, a, n, pivots, b, n, x, n, &steps, &info));
    CHECK(info == 0 && steps >= 0 && all_ones(n, x) && memcmp(a, kept, sizeof a) == 0);
    memset(x, 0, sizeof x);
    OK(basalt_dsposv(rt, BASALT_UPPER, n, 1, a, n, b, n, x, n, &steps, &info));
    CHECK(info == 0 && steps >= 0 && all_ones(n, x) && memcmp(a, kept, sizeof a) == 0);
    for (int j = 0; j < n; ++j) kept[2 + j * n] = 0; /* a row of zeros */
    OK(basalt_dsgesv(rt, n, 1, kept, n, NULL, b, n, x, n, &steps, &info));
    CHECK(info == n && steps == -3);
    REFUSED(basalt_dsgesv(rt, n, 1, a, n, NULL, b, n, x, n - 1, &steps, &info), BASALT_INVALID_ARGUMENT, "ldx");
    REFUSED(basalt_dsgesv(rt, n, 1, a, n, NULL, b, n, x, n, NULL, &info), BASALT_INVALID_ARGUMENT,
            "iterations is NULL");
    REFUSED(basalt_dsposv(rt, BASALT_UPPER, n, 1, a, n, b, n, x, n, &steps, NULL), BASALT_INVALID_ARGUMENT,
            "info is NULL");
    pivots[3] = n + 1;
    REFUSED(basalt_dgetrs(rt, BASALT_PLAIN, n, 1, a, n, pivots, b, n), BASALT_INVALID_ARGUMENT, "pivots");
    REFUSED(basalt_dgetrs(rt, BASALT_PLAIN, n, 1, a, 1, pivots, b, n), BASALT_INVALID_ARGUMENT, "lda is 1");
    fill_system(n, a, b);
    OK(basalt_dposv(rt, BASALT_UPPER, n, 1, a, n, b, n, &info));
    CHECK(info == 0 && all_ones(n, b));
    fill_system(n, q, b);
    OK(basalt_dpotrs(rt, BASALT_UPPER, n, 1, a, n, b, n));
    CHECK(all_ones(n, b));
    fill_system(n, a, b);
    OK(basalt_dgels(rt, n, n, 1, a, n, b, n, &info));
    CHECK(info == 0 && all_ones(n, b));
    fill_system(n, a, b);
    const double corner = a[0];
    OK(basalt_dpotrf(rt, BASALT_LOWER, n, a, n, &info));
    CHECK(info == 0 && fabs(a[0] * a[0] - corner) < 1e-10);
    fill_system(n, a, b);
    OK(basalt_dgeqrf(rt, n, n, a, n, tau));
    memcpy(q, a, sizeof q);
    OK(basalt_dorgqr(rt, n, n, n, q, n, tau)); /* Q^T Q = 1 */
    OK(basalt_dormqr(rt, BASALT_LEFT, BASALT_TRANSPOSED, n, n, n, a, n, tau, q, n));
    double worst = 0;
    for (int i = 0; i < n * n; ++i) worst = fmax(worst, fabs(q[i] - (i % (n + 1) == 0)));
    CHECK(worst < 1e-12);

    float single[4] = {2, 1, 1, 3}, right[2] = {5, 10}, st[2];
    OK(basalt_sgesv(rt, 2, 1, single, 2, NULL, right, 2, &info));
    CHECK(info == 0 && right[0] == 1 && right[1] == 3);
    float spd[4] = {4, 2, 2, 3}, one[2] = {8, 7};
    OK(basalt_sposv(rt, BASALT_LOWER, 2, 1, spd, 2, one, 2, &info));
    CHECK(info == 0 && fabsf(one[0] - 1.25F) < 1e-5F && fabsf(one[1] - 1.5F) < 1e-5F);
    one[0] = 8;
    one[1] = 7;
    OK(basalt_spotrs(rt, BASALT_LOWER, 2, 1, spd, 2, one, 2));
    CHECK(fabsf(one[1] - 1.5F) < 1e-5F);
    int64_t order[2] = {1, 2};
    right[0] = 5;
    OK(basalt_sgetrs(rt, BASALT_PLAIN, 2, 0, single, 2, order, right, 2));
    CHECK(right[0] == 5);
    float bad[4] = {1, 2, 2, 1};
    OK(basalt_spotrf(rt, BASALT_LOWER, 2, bad, 2, &info));
    CHECK(info == 2);
    float tall[4] = {1, 0, 0, 1}, twos[2] = {2, 2};
    OK(basalt_sgels(rt, 2, 2, 1, tall, 2, twos, 2, &info));
    CHECK(info == 0 && fabsf(twos[1] - 2) < 1e-5F);
    float eye[4] = {1, 0, 0, 1}, c[4] = {1, 2, 3, 4};
    OK(basalt_sgeqrf(rt, 2, 2, eye, 2, st));
    OK(basalt_sormqr(rt, BASALT_LEFT, BASALT_PLAIN, 2, 2, 2, eye, 2, st, c, 2));
    OK(basalt_sorgqr(rt, 2, 2, 2, eye, 2, st));
    CHECK(fabsf(fabsf(eye[0]) - 1) < 1e-6F && fabsf(fabsf(c[3]) - 4) < 1e-5F);

    REFUSED(basalt_dgesv(rt, -1, 1, a, n, NULL, b, n, &info), BASALT_INVALID_ARGUMENT, "n");
    REFUSED(basalt_dgesv(rt, n, 1, a, n - 1, NULL, b, n, &info), BASALT_INVALID_ARGUMENT, "lda");
    REFUSED(basalt_dgesv(rt, n, 1, NULL, n, NULL, b, n, &info), BASALT_INVALID_ARGUMENT, "basalt_dgesv()");
    REFUSED(basalt_dgesv(rt, n, 1, a, n, NULL, b, n, NULL), BASALT_INVALID_ARGUMENT, "info is NULL");
    REFUSED(basalt_dgesv(NULL, n, 1, a, n, NULL, b, n, &info), BASALT_INVALID_ARGUMENT, "runtime is NULL");
    REFUSED(basalt_dpotrf(rt, (basalt_triangle)7, n, a, n, &info), BASALT_INVALID_ARGUMENT, "triangle is 7");
    REFUSED(basalt_dormqr(rt, (basalt_side)2, BASALT_PLAIN, 1, 1, 1, a, 1, tau, b, 1), BASALT_INVALID_ARGUMENT,
            "side is 2");
}

static void batches(basalt_runtime* rt) {
    enum { count = 50, n = 5 };
    static double a[count * n * n], b[count * n];
    int64_t info[count];
    for (int k = 0; k < count; ++k) fill_system(n, a + k * n * n, b + k * n);
    basalt_batch matrices = {.count = count, .rows = n, .cols = n, .ld = n, .stride = n * n, .data = a};
    basalt_batch rights = {.count = count, .rows = n, .cols = 1, .ld = n, .stride = n, .data = b};
    OK(basalt_batch_posv(rt, BASALT_DOUBLE, BASALT_LOWER, &matrices, &rights, info));
    CHECK(info[0] == 0 && info[count - 1] == 0 && all_ones(count * n, b));
    void* addresses[count];
    for (int k = 0; k < count; ++k) {
        fill_system(n, a + k * n * n, b + k * n);
        addresses[k] = a + k * n * n;
    }
    matrices.pointers = addresses;
    OK(basalt_batch_potrf(rt, BASALT_DOUBLE, BASALT_LOWER, &matrices, info));
    OK(basalt_batch_potrs(rt, BASALT_DOUBLE, BASALT_LOWER, &matrices, &rights));
    CHECK(info[7] == 0 && all_ones(count * n, b));
    rights.count = 3;
    REFUSED(basalt_batch_potrs(rt, BASALT_DOUBLE, BASALT_LOWER, &matrices, &rights), BASALT_INVALID_ARGUMENT,
            "batch_cholesky_solve");
    REFUSED(basalt_batch_potrf(rt, (basalt_type)3, BASALT_LOWER, &matrices, info), BASALT_INVALID_ARGUMENT,
            "type is 3");
    REFUSED(basalt_batch_potrf(rt, BASALT_FLOAT, BASALT_LOWER, NULL, info), BASALT_INVALID_ARGUMENT, "a is NULL");
    matrices.rows = 300;
    REFUSED(basalt_gpu_batch_potrf(NULL, BASALT_DOUBLE, BASALT_LOWER, &matrices, info), BASALT_INVALID_ARGUMENT,
            "batch_cholesky_factor");
}

static void matrices_and_factors(basalt_runtime* rt) {
    enum { n = 130 };
    static double a[n * n], b[n], copy[n * n];
    basalt_matrix *m = NULL, *x = NULL, *q = NULL, *other = NULL;
    basalt_factors* f = NULL;
    int64_t info = -1, pivots[n];
    double value = 0, tau[n];
    const basalt_matrix_options tiles = {.tile_height = 32, .tile_width = 32, .name = "A"};
    fill_system(n, a, b);
    OK(basalt_matrix_create(rt, BASALT_DOUBLE, n, n, &tiles, &m));
    OK(basalt_matrix_create(rt, BASALT_DOUBLE, n, 1, NULL, &x));
    CHECK(basalt_matrix_rows(m) == n && basalt_matrix_cols(x) == 1);
    OK(basalt_matrix_load(m, a, 1, n, BASALT_ANY));
    OK(basalt_matrix_load(x, b, 1, n, BASALT_CPU));
    OK(basalt_matrix_at(m, 3, 4, &value));
    CHECK(value == 0.5);
    OK(basalt_matrix_norm(m, &value));
    CHECK(value > n && value < 2 * n);
    OK(basalt_lu_factor(m, NULL, &f));
    OK(basalt_factors_solve(f, x));
    OK(basalt_factors_info(f, &info));
    OK(basalt_factors_pivots(f, pivots));
    OK(basalt_matrix_store(x, b, 1, n, BASALT_ANY));
    OK(basalt_wait(rt));
    CHECK(info == 0 && pivots[n - 1] == n && all_ones(n, b));
    OK(basalt_factors_reciprocal_condition(f, 2 * n, &value));
    CHECK(value > 0 && value <= 1);
    REFUSED(basalt_factors_tau(f, tau), BASALT_INVALID_ARGUMENT, "those of QR");
    OK(basalt_factors_solve(f, m)); /* n right-hand sides */
    OK(basalt_wait(rt));
    basalt_factors_destroy(f);

    fill_system(n, a, b);
    OK(basalt_matrix_load_triangle(m, BASALT_LOWER, a, 1, n, BASALT_CPU));
    OK(basalt_matrix_load(x, b, 1, n, BASALT_ANY));
    const basalt_factor_options narrow = {.mode = BASALT_MODE_CPU, .panel_width = 16};
    OK(basalt_cholesky_factor(m, BASALT_LOWER, &narrow, &f));
    OK(basalt_factors_solve_transposed(f, x));
    OK(basalt_matrix_store(x, b, 1, n, BASALT_ANY));
    copy[n] = 3;
    OK(basalt_matrix_store_triangle(m, BASALT_LOWER, copy, 1, n, BASALT_CPU));
    OK(basalt_wait(rt));
    CHECK(all_ones(n, b) && fabs(copy[0] * copy[0] - a[0]) < 1e-10 && copy[n] == 3);
    OK(basalt_matrix_store_triangular(m, BASALT_LOWER, copy, 1, n, BASALT_CPU));
    OK(basalt_wait(rt));
    CHECK(fabs(copy[0] * copy[0] - a[0]) < 1e-10 && copy[n] == 0);
    OK(basalt_factors_reciprocal_condition(f, 2 * n, &value));
    REFUSED(basalt_factors_pivots(f, pivots), BASALT_INVALID_ARGUMENT, "those of LU");
    REFUSED(basalt_qr_form(f, 1, &q), BASALT_INVALID_ARGUMENT, "those of QR");
    basalt_factors_destroy(f);

    fill_system(n, a, b);
    OK(basalt_matrix_load(m, a, 1, n, BASALT_ANY));
    OK(basalt_matrix_load(x, b, 1, n, BASALT_ANY));
    OK(basalt_qr_factor(m, NULL, &f));
    OK(basalt_factors_solve(f, x));
    OK(basalt_qr_form(f, n, &q));
    OK(basalt_qr_apply(f, BASALT_LEFT, BASALT_TRANSPOSED, q));
    OK(basalt_factors_tau(f, tau));
    OK(basalt_factors_reciprocal_condition(f, 0, &value));
    OK(basalt_matrix_store(x, b, 1, n, BASALT_ANY));
    OK(basalt_wait(rt));
    CHECK(all_ones(n, b));
    OK(basalt_matrix_at(q, 5, 5, &value));
    CHECK(fabs(value - 1) < 1e-12);
    basalt_matrix_destroy(q);
    basalt_factors_destroy(f);

    fill_system(n, a, b);
    OK(basalt_matrix_load(m, a, 1, n, BASALT_ANY));
    OK(basalt_matrix_load(x, b, 1, n, BASALT_ANY));
    OK(basalt_least_squares(m, x, NULL, NULL));
    OK(basalt_matrix_store(x, b, 1, n, BASALT_ANY));
    OK(basalt_wait(rt));
    CHECK(all_ones(n, b));

    OK(basalt_matrix_generate(rt, BASALT_FLOAT, n, n, "random", 1, BASALT_ANY, NULL, &other));
    REFUSED(basalt_matrix_generate(rt, BASALT_FLOAT, n, n, "strange", 1, BASALT_ANY, NULL, &q), BASALT_INVALID_ARGUMENT,
            "strange");
    OK(basalt_lu_factor(other, NULL, &f));
    REFUSED(basalt_factors_solve(f, x), BASALT_INVALID_ARGUMENT, "b is a matrix of double");
    basalt_factors_destroy(f);
    basalt_matrix_destroy(other);

    const basalt_factor_options strange = {.mode = (basalt_mode)9}, gpu = {.mode = BASALT_MODE_GPU},
                                tf32 = {.tf32 = true};
    REFUSED(basalt_lu_factor(m, &strange, &f), BASALT_INVALID_ARGUMENT, "mode is 9");
    REFUSED(basalt_lu_factor(m, &gpu, &f), BASALT_INVALID_ARGUMENT, "GPU");
    REFUSED(basalt_qr_factor(m, &tf32, &f), BASALT_INVALID_ARGUMENT, "tf32");
    REFUSED(basalt_lu_factor(NULL, NULL, &f), BASALT_INVALID_ARGUMENT, "a is NULL");
    REFUSED(basalt_matrix_create(rt, BASALT_DOUBLE, -1, 1, NULL, &q), BASALT_INVALID_ARGUMENT, "-1");
    REFUSED(basalt_matrix_load(m, NULL, 1, n, BASALT_ANY), BASALT_INVALID_ARGUMENT, "a is NULL");
    REFUSED(basalt_matrix_load(m, a, 1, n, 77), BASALT_INVALID_ARGUMENT, "place is 77");
    REFUSED(basalt_matrix_at(m, n, 0, &value), BASALT_INVALID_ARGUMENT, "i is 130");
    basalt_matrix_destroy(x);
    basalt_matrix_destroy(m);

    fill_system(n, a, b);
    OK(basalt_matrix_wrap(rt, BASALT_DOUBLE, n, n, a, n, BASALT_CPU, NULL, &m));
    OK(basalt_matrix_wrap(rt, BASALT_DOUBLE, n, 1, b, n, BASALT_CPU, NULL, &x));
    OK(basalt_lu_factor(m, NULL, &f));
    OK(basalt_factors_solve(f, x));
    OK(basalt_wait(rt));
    CHECK(all_ones(n, b));
    basalt_factors_destroy(f);
    basalt_matrix_destroy(x);
    basalt_matrix_destroy(m);
}

void linear_algebra(basalt_runtime* rt) {
    drivers(rt);
    batches(rt);
    matrices_and_factors(rt);
}
