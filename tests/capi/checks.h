/* What the parts of the test of the C interface share. */
#ifndef BASALT_TESTS_CAPI_CHECKS_H
#define BASALT_TESTS_CAPI_CHECKS_H

#include <basalt/basalt.h>

#define CHECK(condition) check((condition), #condition, __FILE__, __LINE__)
void check(bool holds, const char* text, const char* file, int line);

/* The call fails with that status, and the message has the word. */
#define REFUSED(call, expected, word) refused((call), (expected), (word), #call, __FILE__, __LINE__)
void refused(basalt_status status, basalt_status expected, const char* word, const char* text, const char* file,
             int line);
#define OK(call) CHECK((call) == BASALT_OK)

/* A = I n + 1 / (1 + |i - j|) is symmetric positive definite; b = A (1, 1, ...). */
void fill_system(int n, double* a, double* b);
bool all_ones(int n, const double* x);

/* linear_algebra.c */
void linear_algebra(basalt_runtime* rt);

#endif
