#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include <basalt/view.hpp>

// LAPACK's, as in OpenBLAS, whose header declares only BLAS.
extern "C" {
void sgetrf_(const int* m, const int* n, float* a, const int* lda, int* ipiv, int* info);
void dgetrf_(const int* m, const int* n, double* a, const int* lda, int* ipiv, int* info);
void sgetrs_(const char* trans, const int* n, const int* nrhs, const float* a, const int* lda, const int* ipiv,
             float* b, const int* ldb, int* info, std::size_t trans_length);
void dgetrs_(const char* trans, const int* n, const int* nrhs, const double* a, const int* lda, const int* ipiv,
             double* b, const int* ldb, int* info, std::size_t trans_length);
void sgetri_(const int* n, float* a, const int* lda, const int* ipiv, float* work, const int* lwork, int* info);
void dgetri_(const int* n, double* a, const int* lda, const int* ipiv, double* work, const int* lwork, int* info);
void sgeqrf_(const int* m, const int* n, float* a, const int* lda, float* tau, float* work, const int* lwork,
             int* info);
void dgeqrf_(const int* m, const int* n, double* a, const int* lda, double* tau, double* work, const int* lwork,
             int* info);
void sorgqr_(const int* m, const int* n, const int* k, float* a, const int* lda, const float* tau, float* work,
             const int* lwork, int* info);
void dorgqr_(const int* m, const int* n, const int* k, double* a, const int* lda, const double* tau, double* work,
             const int* lwork, int* info);
void sgels_(const char* trans, const int* m, const int* n, const int* nrhs, float* a, const int* lda, float* b,
            const int* ldb, float* work, const int* lwork, int* info, std::size_t trans_length);
void dgels_(const char* trans, const int* m, const int* n, const int* nrhs, double* a, const int* lda, double* b,
            const int* ldb, double* work, const int* lwork, int* info, std::size_t trans_length);
}

/// LAPACK for matrices that are treated one by one. Each returns INFO.
namespace basalt::cpu_kernels::lapack {

/// The routine for T out of its two forms.
template <class T, class Single, class Double>
constexpr auto choose(Single single, Double twice) {
    if constexpr (sizeof(T) == sizeof(float)) {
        return single;
    } else {
        return twice;
    }
}

inline int int_of(Index value) { return static_cast<int>(value); }

/// Scratch of a routine that blocks by 64 columns at most; each thread keeps its own. Valid until the next call.
template <class T>
std::vector<T>& workspace(Index columns) {
    thread_local std::vector<T> memory;
    const auto size = static_cast<std::size_t>(std::max<Index>(1, 64 * columns));
    if (memory.size() < size) memory.resize(size);
    return memory;
}

template <class T>
int getrf(View<T> a, int* ipiv) {
    const int n = int_of(a.rows()), lda = int_of(a.col_stride());
    int info = 0;
    choose<T>(sgetrf_, dgetrf_)(&n, &n, a.data(), &lda, ipiv, &info);
    return info;
}

template <class T>
void getrs(View<const T> a, const int* ipiv, View<T> b) {
    const int n = int_of(a.rows()), nrhs = int_of(b.cols()), lda = int_of(a.col_stride()), ldb = int_of(b.col_stride());
    int info = 0;
    choose<T>(sgetrs_, dgetrs_)("N", &n, &nrhs, a.data(), &lda, ipiv, b.data(), &ldb, &info, 1);
}

template <class T>
int getri(View<T> a, const int* ipiv) {
    const int n = int_of(a.rows()), lda = int_of(a.col_stride());
    std::vector<T>& work = workspace<T>(a.rows());
    const int size = static_cast<int>(work.size());
    int info = 0;
    choose<T>(sgetri_, dgetri_)(&n, a.data(), &lda, ipiv, work.data(), &size, &info);
    return info;
}

template <class T>
void geqrf(View<T> a, T* tau) {
    const int m = int_of(a.rows()), n = int_of(a.cols()), lda = int_of(a.col_stride());
    std::vector<T>& work = workspace<T>(a.cols());
    const int size = static_cast<int>(work.size());
    int info = 0;
    choose<T>(sgeqrf_, dgeqrf_)(&m, &n, a.data(), &lda, tau, work.data(), &size, &info);
}

/// With k reflectors.
template <class T>
void orgqr(View<T> a, Index reflectors, const T* tau) {
    const int m = int_of(a.rows()), n = int_of(a.cols()), k = int_of(reflectors), lda = int_of(a.col_stride());
    std::vector<T>& work = workspace<T>(a.cols());
    const int size = static_cast<int>(work.size());
    int info = 0;
    choose<T>(sorgqr_, dorgqr_)(&m, &n, &k, a.data(), &lda, tau, work.data(), &size, &info);
}

template <class T>
int gels(View<T> a, View<T> b) {
    const int m = int_of(a.rows()), n = int_of(a.cols()), nrhs = int_of(b.cols()), lda = int_of(a.col_stride()),
              ldb = int_of(b.col_stride());
    std::vector<T>& work = workspace<T>(std::max(a.rows(), a.cols()) + b.cols());
    const int size = static_cast<int>(work.size());
    int info = 0;
    choose<T>(sgels_, dgels_)("N", &m, &n, &nrhs, a.data(), &lda, b.data(), &ldb, work.data(), &size, &info, 1);
    return info;
}

}  // namespace basalt::cpu_kernels::lapack
