#pragma once

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "lapack/call.hpp"

/// Each of LAPACK's routines: how its arguments describe a call, and what it demands of them, in LAPACK's order. T is
/// float or double, I the type of integers. Nothing that a pointer to an array points to is read.
namespace basalt::lapack {

/// A call and what LAPACK says to its arguments.
struct Described {
    Call call{};
    int wrong = 0;           ///< number of the first argument that is not allowed; 0: none
    bool asks_size = false;  ///< a query for the size of the workspace
    void* work = nullptr;    ///< workspace whose first element gets its best size
    Index least_work = 1;    ///< elements; LAPACK's least size, which is enough for Basalt

    /// Argument number `position` must fulfil the condition.
    Described& require(int position, bool condition) {
        if (!condition && wrong == 0) wrong = position;
        return *this;
    }
    Described& letter(int position, char value, const char* allowed) {
        const char* next = allowed;
        while (*next != '\0' && *next != value) ++next;
        return require(position, *next != '\0');
    }
    /// lwork of at least `least`, or -1 for a query.
    Described& workspace(int position, void* array, Index lwork, Index least) {
        work = array;
        least_work = least;
        asks_size = lwork == -1;
        return require(position, asks_size || lwork >= least);
    }
};

constexpr char upper(const char* letter) { return 'a' <= *letter && *letter <= 'z' ? char(*letter - 32) : *letter; }

constexpr Index at_least_one(Index value) { return value > 1 ? value : 1; }

template <class T, class I>
Described started(Routine routine) {
    Described d;
    d.call.routine = routine;
    d.call.is_double = std::is_same_v<T, double>;
    d.call.wide = sizeof(I) == 8;
    return d;
}

template <class T, class I>
MatrixArgument matrix(const T* data, const I* ld) {
    return {const_cast<std::remove_const_t<T>*>(data), static_cast<Index>(*ld)};
}

template <class T, class I>
Described describe_getrf(const I* m, const I* n, T* a, const I* lda, I* ipiv, I*) {
    Described d = started<T, I>(Routine::getrf);
    d.call.m = *m, d.call.n = *n, d.call.a = matrix(a, lda), d.call.pivots.data = ipiv;
    return d.require(1, *m >= 0).require(2, *n >= 0).require(4, *lda >= at_least_one(*m));
}

template <class T, class I>
Described describe_getrs(const char* trans, const I* n, const I* nrhs, const T* a, const I* lda, const I* ipiv, T* b,
                         const I* ldb, I*) {
    Described d = started<T, I>(Routine::getrs);
    d.call.trans = upper(trans), d.call.m = d.call.n = *n, d.call.k = *nrhs;
    d.call.a = matrix(a, lda), d.call.b = matrix(b, ldb), d.call.pivots.data = const_cast<I*>(ipiv);
    d.letter(1, d.call.trans, "NTC").require(2, *n >= 0).require(3, *nrhs >= 0);
    return d.require(5, *lda >= at_least_one(*n)).require(8, *ldb >= at_least_one(*n));
}

template <class T, class I>
Described describe_gesv(const I* n, const I* nrhs, T* a, const I* lda, I* ipiv, T* b, const I* ldb, I*) {
    Described d = started<T, I>(Routine::gesv);
    d.call.m = d.call.n = *n, d.call.k = *nrhs;
    d.call.a = matrix(a, lda), d.call.b = matrix(b, ldb), d.call.pivots.data = ipiv;
    d.require(1, *n >= 0).require(2, *nrhs >= 0);
    return d.require(4, *lda >= at_least_one(*n)).require(7, *ldb >= at_least_one(*n));
}

template <class T, class I>
Described describe_getri(const I* n, T* a, const I* lda, const I* ipiv, T* work, const I* lwork, I*) {
    Described d = started<T, I>(Routine::getri);
    d.call.m = d.call.n = *n, d.call.a = matrix(a, lda), d.call.pivots.data = const_cast<I*>(ipiv);
    return d.require(1, *n >= 0).require(3, *lda >= at_least_one(*n)).workspace(6, work, *lwork, at_least_one(*n));
}

template <class T, class I>
Described describe_gecon(const char* norm, const I* n, const T* a, const I* lda, const T* anorm, T* rcond, T*, I*, I*) {
    Described d = started<T, I>(Routine::gecon);
    d.call.norm = upper(norm) == 'O' ? '1' : upper(norm);
    d.call.m = d.call.n = *n, d.call.a = matrix(a, lda), d.call.anorm = *anorm, d.call.rcond = rcond;
    d.letter(1, d.call.norm, "1I").require(2, *n >= 0).require(4, *lda >= at_least_one(*n));
    return d.require(5, !(*anorm < 0));
}

template <class T, class I>
Described describe_potrf(const char* uplo, const I* n, T* a, const I* lda, I*) {
    Described d = started<T, I>(Routine::potrf);
    d.call.uplo = upper(uplo), d.call.m = d.call.n = *n, d.call.a = matrix(a, lda);
    return d.letter(1, d.call.uplo, "UL").require(2, *n >= 0).require(4, *lda >= at_least_one(*n));
}

template <class T, class I>
Described describe_potrs(const char* uplo, const I* n, const I* nrhs, const T* a, const I* lda, T* b, const I* ldb,
                         I*) {
    Described d = started<T, I>(Routine::potrs);
    d.call.uplo = upper(uplo), d.call.m = d.call.n = *n, d.call.k = *nrhs;
    d.call.a = matrix(a, lda), d.call.b = matrix(b, ldb);
    d.letter(1, d.call.uplo, "UL").require(2, *n >= 0).require(3, *nrhs >= 0);
    return d.require(5, *lda >= at_least_one(*n)).require(7, *ldb >= at_least_one(*n));
}

template <class T, class I>
Described describe_posv(const char* uplo, const I* n, const I* nrhs, T* a, const I* lda, T* b, const I* ldb, I* info) {
    Described d = describe_potrs<T, I>(uplo, n, nrhs, a, lda, b, ldb, info);
    d.call.routine = Routine::posv;
    return d;
}

template <class T, class I>
Described describe_potri(const char* uplo, const I* n, T* a, const I* lda, I* info) {
    Described d = describe_potrf<T, I>(uplo, n, a, lda, info);
    d.call.routine = Routine::potri;
    return d;
}

template <class T, class I>
Described describe_pocon(const char* uplo, const I* n, const T* a, const I* lda, const T* anorm, T* rcond, T*, I*, I*) {
    Described d = started<T, I>(Routine::pocon);
    d.call.uplo = upper(uplo), d.call.m = d.call.n = *n, d.call.a = matrix(a, lda);
    d.call.anorm = *anorm, d.call.rcond = rcond;
    d.letter(1, d.call.uplo, "UL").require(2, *n >= 0).require(4, *lda >= at_least_one(*n));
    return d.require(5, !(*anorm < 0));
}

template <class T, class I>
Described describe_geqrf(const I* m, const I* n, T* a, const I* lda, T* tau, T* work, const I* lwork, I*) {
    Described d = started<T, I>(Routine::geqrf);
    d.call.m = *m, d.call.n = *n, d.call.a = matrix(a, lda), d.call.tau.data = tau;
    d.require(1, *m >= 0).require(2, *n >= 0).require(4, *lda >= at_least_one(*m));
    return d.workspace(7, work, *lwork, *m > 0 ? at_least_one(*n) : 1);
}

template <class T, class I>
Described describe_orgqr(const I* m, const I* n, const I* k, T* a, const I* lda, const T* tau, T* work, const I* lwork,
                         I*) {
    Described d = started<T, I>(Routine::orgqr);
    d.call.m = *m, d.call.n = *n, d.call.k = *k, d.call.a = matrix(a, lda), d.call.tau.data = const_cast<T*>(tau);
    d.require(1, *m >= 0).require(2, *n >= 0 && *n <= *m).require(3, *k >= 0 && *k <= *n);
    return d.require(5, *lda >= at_least_one(*m)).workspace(8, work, *lwork, at_least_one(*n));
}

template <class T, class I>
Described describe_ormqr(const char* side, const char* trans, const I* m, const I* n, const I* k, const T* a,
                         const I* lda, const T* tau, T* c, const I* ldc, T* work, const I* lwork, I*) {
    Described d = started<T, I>(Routine::ormqr);
    d.call.side = upper(side), d.call.trans = upper(trans), d.call.m = *m, d.call.n = *n, d.call.k = *k;
    d.call.a = matrix(a, lda), d.call.b = matrix(c, ldc), d.call.tau.data = const_cast<T*>(tau);
    const bool left = d.call.side == 'L';
    const I order = left ? *m : *n, others = left ? *n : *m;
    d.letter(1, d.call.side, "LR").letter(2, d.call.trans, "NT").require(3, *m >= 0).require(4, *n >= 0);
    d.require(5, *k >= 0 && *k <= order).require(7, *lda >= at_least_one(order)).require(10, *ldc >= at_least_one(*m));
    return d.workspace(12, work, *lwork, at_least_one(others));
}

template <class T, class I>
Described describe_gels(const char* trans, const I* m, const I* n, const I* nrhs, T* a, const I* lda, T* b,
                        const I* ldb, T* work, const I* lwork, I*) {
    Described d = started<T, I>(Routine::gels);
    d.call.trans = upper(trans), d.call.m = *m, d.call.n = *n, d.call.k = *nrhs;
    d.call.a = matrix(a, lda), d.call.b = matrix(b, ldb);
    const I few = std::min(*m, *n), many = std::max(*m, *n);
    d.letter(1, d.call.trans, "NT").require(2, *m >= 0).require(3, *n >= 0).require(4, *nrhs >= 0);
    d.require(6, *lda >= at_least_one(*m)).require(8, *ldb >= at_least_one(many));
    return d.workspace(10, work, *lwork, at_least_one(static_cast<Index>(few) + std::max(few, *nrhs)));
}

template <class T, class I>
Described describe_trtrs(const char* uplo, const char* trans, const char* diag, const I* n, const I* nrhs, const T* a,
                         const I* lda, T* b, const I* ldb, I*) {
    Described d = started<T, I>(Routine::trtrs);
    d.call.uplo = upper(uplo), d.call.trans = upper(trans), d.call.diag = upper(diag);
    d.call.m = d.call.n = *n, d.call.k = *nrhs, d.call.a = matrix(a, lda), d.call.b = matrix(b, ldb);
    d.letter(1, d.call.uplo, "UL").letter(2, d.call.trans, "NTC").letter(3, d.call.diag, "NU");
    d.require(4, *n >= 0).require(5, *nrhs >= 0);
    return d.require(7, *lda >= at_least_one(*n)).require(9, *ldb >= at_least_one(*n));
}

/// LAPACK sets ITER to 0 before it looks at anything else.
template <class T, class I>
Described mixed(Routine routine, const I* n, const I* nrhs, T* a, const I* lda, const T* b, const I* ldb, T* x,
                const I* ldx, I* iter) {
    Described d = started<T, I>(routine);
    d.call.m = d.call.n = *n, d.call.k = *nrhs, d.call.iterations = iter;
    d.call.a = matrix(a, lda), d.call.b = matrix(b, ldb), d.call.x = matrix(x, ldx);
    *iter = 0;
    return d;
}

template <class T, class I>
Described describe_dsgesv(const I* n, const I* nrhs, T* a, const I* lda, I* ipiv, const T* b, const I* ldb, T* x,
                          const I* ldx, T*, float*, I* iter, I*) {
    Described d = mixed(Routine::dsgesv, n, nrhs, a, lda, b, ldb, x, ldx, iter);
    d.call.pivots.data = ipiv;
    d.require(1, *n >= 0).require(2, *nrhs >= 0).require(4, *lda >= at_least_one(*n));
    return d.require(7, *ldb >= at_least_one(*n)).require(9, *ldx >= at_least_one(*n));
}

template <class T, class I>
Described describe_dsposv(const char* uplo, const I* n, const I* nrhs, T* a, const I* lda, const T* b, const I* ldb,
                          T* x, const I* ldx, T*, float*, I* iter, I*) {
    Described d = mixed(Routine::dsposv, n, nrhs, a, lda, b, ldb, x, ldx, iter);
    d.call.uplo = upper(uplo);
    d.letter(1, d.call.uplo, "UL").require(2, *n >= 0).require(3, *nrhs >= 0).require(5, *lda >= at_least_one(*n));
    return d.require(7, *ldb >= at_least_one(*n)).require(9, *ldx >= at_least_one(*n));
}

template <class T, class I>
Described describe_trtri(const char* uplo, const char* diag, const I* n, T* a, const I* lda, I*) {
    Described d = started<T, I>(Routine::trtri);
    d.call.uplo = upper(uplo), d.call.diag = upper(diag), d.call.m = d.call.n = *n, d.call.a = matrix(a, lda);
    d.letter(1, d.call.uplo, "UL").letter(2, d.call.diag, "NU").require(3, *n >= 0);
    return d.require(5, *lda >= at_least_one(*n));
}

}  // namespace basalt::lapack
