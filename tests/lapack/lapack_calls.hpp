#pragma once

// LAPACK's routines in any spelling, of the process or of another library, called as C programs do.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include <dlfcn.h>

namespace basalt_tests {

/// How a library spells its symbols: "scipy_" + "dgesv_" + "64_".
struct Spelling {
    std::string prefix;
    std::string suffix;
};

/// The routines of precision T with integers I.
template <class T, class I>
class Lapack {
  public:
    using Real = T;
    using Integer = I;

    /// `library`: a handle of dlopen(), or RTLD_DEFAULT.
    explicit Lapack(Spelling spelling = {}, void* library = RTLD_DEFAULT) : spelling_(spelling), library_(library) {}

    void* symbol(const std::string& routine) const {
        const char* const precision = std::is_same_v<T, float> ? "s" : "d";
        const std::string name = spelling_.prefix + precision + routine + "_" + spelling_.suffix;
        void* const found = dlsym(library_, name.c_str());
        if (found == nullptr) throw std::runtime_error("there is no " + name);
        return found;
    }

    I getrf(I m, I n, T* a, I lda, I* ipiv) const { return call("getrf", &m, &n, a, &lda, ipiv); }
    I getrs(char trans, I n, I nrhs, const T* a, I lda, const I* ipiv, T* b, I ldb) const {
        return call("getrs", &trans, &n, &nrhs, a, &lda, ipiv, b, &ldb);
    }
    I gesv(I n, I nrhs, T* a, I lda, I* ipiv, T* b, I ldb) const {
        return call("gesv", &n, &nrhs, a, &lda, ipiv, b, &ldb);
    }
    I getri(I n, T* a, I lda, const I* ipiv, T* work, I lwork) const {
        return call("getri", &n, a, &lda, ipiv, work, &lwork);
    }
    I gecon(char norm, I n, const T* a, I lda, T anorm, T* rcond) const {
        std::vector<T> work(room(4, n));
        std::vector<I> iwork(room(1, n));
        return call("gecon", &norm, &n, a, &lda, &anorm, rcond, work.data(), iwork.data());
    }
    I potrf(char uplo, I n, T* a, I lda) const { return call("potrf", &uplo, &n, a, &lda); }
    I potrs(char uplo, I n, I nrhs, const T* a, I lda, T* b, I ldb) const {
        return call("potrs", &uplo, &n, &nrhs, a, &lda, b, &ldb);
    }
    I posv(char uplo, I n, I nrhs, T* a, I lda, T* b, I ldb) const {
        return call("posv", &uplo, &n, &nrhs, a, &lda, b, &ldb);
    }
    I potri(char uplo, I n, T* a, I lda) const { return call("potri", &uplo, &n, a, &lda); }
    I pocon(char uplo, I n, const T* a, I lda, T anorm, T* rcond) const {
        std::vector<T> work(room(3, n));
        std::vector<I> iwork(room(1, n));
        return call("pocon", &uplo, &n, a, &lda, &anorm, rcond, work.data(), iwork.data());
    }
    I geqrf(I m, I n, T* a, I lda, T* tau, T* work, I lwork) const {
        return call("geqrf", &m, &n, a, &lda, tau, work, &lwork);
    }
    I orgqr(I m, I n, I k, T* a, I lda, const T* tau, T* work, I lwork) const {
        return call("orgqr", &m, &n, &k, a, &lda, tau, work, &lwork);
    }
    I ormqr(char side, char trans, I m, I n, I k, const T* a, I lda, const T* tau, T* c, I ldc, T* work,
            I lwork) const {
        return call("ormqr", &side, &trans, &m, &n, &k, a, &lda, tau, c, &ldc, work, &lwork);
    }
    I gels(char trans, I m, I n, I nrhs, T* a, I lda, T* b, I ldb, T* work, I lwork) const {
        return call("gels", &trans, &m, &n, &nrhs, a, &lda, b, &ldb, work, &lwork);
    }
    I trtrs(char uplo, char trans, char diag, I n, I nrhs, const T* a, I lda, T* b, I ldb) const {
        return call("trtrs", &uplo, &trans, &diag, &n, &nrhs, a, &lda, b, &ldb);
    }
    /// With T = double these are dsgesv and dsposv; there are no others.
    I sgesv(I n, I nrhs, T* a, I lda, I* ipiv, const T* b, I ldb, T* x, I ldx, I* iter) const {
        std::vector<T> work(room(nrhs > 0 ? nrhs : 1, n));
        std::vector<float> single(room(1, n) * room(1, n + nrhs));
        return call("sgesv", &n, &nrhs, a, &lda, ipiv, b, &ldb, x, &ldx, work.data(), single.data(), iter);
    }
    I sposv(char uplo, I n, I nrhs, T* a, I lda, const T* b, I ldb, T* x, I ldx, I* iter) const {
        std::vector<T> work(room(nrhs > 0 ? nrhs : 1, n));
        std::vector<float> single(room(1, n) * room(1, n + nrhs));
        return call("sposv", &uplo, &n, &nrhs, a, &lda, b, &ldb, x, &ldx, work.data(), single.data(), iter);
    }
    I trtri(char uplo, char diag, I n, T* a, I lda) const { return call("trtri", &uplo, &diag, &n, a, &lda); }

  private:
    static std::size_t room(I count, I n) { return static_cast<std::size_t>(n > 0 ? count * n : 1); }

    /// Passes the lengths of the letters, as Fortran does.
    template <class... Arguments>
    I call(const char* routine, Arguments... arguments) const {
        I info = -999;
        using Function = void (*)(Arguments..., I*, std::size_t, std::size_t, std::size_t);
        reinterpret_cast<Function>(symbol(routine))(arguments..., &info, std::size_t{1}, std::size_t{1},
                                                    std::size_t{1});
        return info;
    }

    Spelling spelling_;
    void* library_;
};

/// A call of XERBLA.
struct Complaint {
    std::string name;
    long argument = 0;

    friend bool operator==(const Complaint&, const Complaint&) = default;
};

/// What the program's XERBLA, in all spellings, was called with since the last look.
std::vector<Complaint> complaints();

/// LAPACK's reference if Debian's liblapack3 is there, otherwise OpenBLAS.
void* reference_library();
/// OpenBLAS.
void* openblas_library();

}  // namespace basalt_tests
