#include "lapack/engine/blas_behind.hpp"

#include <cstddef>
#include <mutex>
#include <string>

#include <cblas.h>
#include <dlfcn.h>

#include <basalt/error.hpp>

extern "C" {
#define ROUTINE(name, parameters, arguments) void s##name##_ parameters;
#define T float
#include "lapack/engine/lapack_behind.inc"
#undef ROUTINE
#undef T
#define ROUTINE(name, parameters, arguments) void d##name##_ parameters;
#define T double
#include "lapack/engine/lapack_behind.inc"
#undef ROUTINE
#undef T
void* blas_memory_alloc(int);
void blas_memory_free(void*);
}

namespace basalt::lapack {

namespace {

/// A function of OpenBLAS.
template <class Function>
struct Behind {
    const char* name;
    Function* function = nullptr;
};

Behind<decltype(cblas_sgemm)> sgemm{"cblas_sgemm"};
Behind<decltype(cblas_dgemm)> dgemm{"cblas_dgemm"};
Behind<decltype(cblas_sgemv)> sgemv{"cblas_sgemv"};
Behind<decltype(cblas_dgemv)> dgemv{"cblas_dgemv"};
Behind<decltype(cblas_strsm)> strsm{"cblas_strsm"};
Behind<decltype(cblas_dtrsm)> dtrsm{"cblas_dtrsm"};
Behind<decltype(cblas_ssyrk)> ssyrk{"cblas_ssyrk"};
Behind<decltype(cblas_dsyrk)> dsyrk{"cblas_dsyrk"};
Behind<decltype(openblas_get_num_procs)> get_num_procs{"openblas_get_num_procs"};
Behind<decltype(openblas_get_num_threads)> get_num_threads{"openblas_get_num_threads"};
Behind<decltype(openblas_set_num_threads)> set_num_threads{"openblas_set_num_threads"};
Behind<decltype(openblas_get_parallel)> get_parallel{"openblas_get_parallel"};
#define ROUTINE(name, parameters, arguments)             \
    Behind<decltype(s##name##_)> s##name{"s" #name "_"}; \
    Behind<decltype(d##name##_)> d##name{"d" #name "_"};
#include "lapack/engine/lapack_behind.inc"
#undef ROUTINE
// not in every OpenBLAS
Behind<decltype(blas_memory_alloc)> memory_alloc{"blas_memory_alloc"};
Behind<decltype(blas_memory_free)> memory_free{"blas_memory_free"};

void* open_openblas() {
    constexpr const char* name = "libopenblas.so.0";
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    constexpr int own_symbols_first = 0;  // which sanitizers do not allow
#else
    constexpr int own_symbols_first = RTLD_DEEPBIND;
#endif
    void* const library = dlopen(name, RTLD_NOW | RTLD_LOCAL | own_symbols_first);
    if (library == nullptr) throw Error(std::string("OpenBLAS cannot be loaded: ") + dlerror());
    return library;
}

template <class Function>
void find(void* library, Behind<Function>& behind) {
    behind.function = reinterpret_cast<Function*>(dlsym(library, behind.name));
}

template <class... Function>
void require(void* library, Behind<Function>&... behind) {
    (find(library, behind), ...);
    for (const auto& [name, found] : {std::pair<const char*, bool>{behind.name, behind.function != nullptr}...}) {
        if (!found) throw Error(std::string("libopenblas.so.0 has no ") + name);
    }
}

}  // namespace

void blas_behind() {
    static std::once_flag loaded;
    std::call_once(loaded, [] {
        void* const library = open_openblas();
        require(library, sgemm, dgemm, sgemv, dgemv, strsm, dtrsm, ssyrk, dsyrk, get_num_procs, get_num_threads,
                set_num_threads, get_parallel);
#define ROUTINE(name, parameters, arguments) require(library, s##name, d##name);
#include "lapack/engine/lapack_behind.inc"
#undef ROUTINE
        find(library, memory_alloc);
        find(library, memory_free);
    });
}

}  // namespace basalt::lapack

// A function of this library for each that its kernels call. The parameters are in the declarations of cblas.h and in
// lapack_behind.inc; only macros and assembler can repeat them.
#define BASALT_FORWARD(behind, result, name, parameters, arguments) \
    extern "C" result name parameters { return basalt::lapack::behind.function arguments; }

using Order = CBLAS_ORDER;
using Op = CBLAS_TRANSPOSE;
using Uplo = CBLAS_UPLO;
using Int = blasint;

BASALT_FORWARD(sgemm, void, cblas_sgemm,
               (Order order, Op op_a, Op op_b, Int m, Int n, Int k, float alpha, const float* a, Int lda,
                const float* b, Int ldb, float beta, float* c, Int ldc),
               (order, op_a, op_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc))
BASALT_FORWARD(dgemm, void, cblas_dgemm,
               (Order order, Op op_a, Op op_b, Int m, Int n, Int k, double alpha, const double* a, Int lda,
                const double* b, Int ldb, double beta, double* c, Int ldc),
               (order, op_a, op_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc))
BASALT_FORWARD(sgemv, void, cblas_sgemv,
               (Order order, Op op, Int m, Int n, float alpha, const float* a, Int lda, const float* x, Int incx,
                float beta, float* y, Int incy),
               (order, op, m, n, alpha, a, lda, x, incx, beta, y, incy))
BASALT_FORWARD(dgemv, void, cblas_dgemv,
               (Order order, Op op, Int m, Int n, double alpha, const double* a, Int lda, const double* x, Int incx,
                double beta, double* y, Int incy),
               (order, op, m, n, alpha, a, lda, x, incx, beta, y, incy))
BASALT_FORWARD(strsm, void, cblas_strsm,
               (Order order, CBLAS_SIDE side, Uplo uplo, Op op, CBLAS_DIAG diag, Int m, Int n, float alpha,
                const float* a, Int lda, float* b, Int ldb),
               (order, side, uplo, op, diag, m, n, alpha, a, lda, b, ldb))
BASALT_FORWARD(dtrsm, void, cblas_dtrsm,
               (Order order, CBLAS_SIDE side, Uplo uplo, Op op, CBLAS_DIAG diag, Int m, Int n, double alpha,
                const double* a, Int lda, double* b, Int ldb),
               (order, side, uplo, op, diag, m, n, alpha, a, lda, b, ldb))
BASALT_FORWARD(ssyrk, void, cblas_ssyrk,
               (Order order, Uplo uplo, Op op, Int n, Int k, float alpha, const float* a, Int lda, float beta, float* c,
                Int ldc),
               (order, uplo, op, n, k, alpha, a, lda, beta, c, ldc))
BASALT_FORWARD(dsyrk, void, cblas_dsyrk,
               (Order order, Uplo uplo, Op op, Int n, Int k, double alpha, const double* a, Int lda, double beta,
                double* c, Int ldc),
               (order, uplo, op, n, k, alpha, a, lda, beta, c, ldc))
#define ROUTINE(name, parameters, arguments) BASALT_FORWARD(s##name, void, s##name##_, parameters, arguments)
#define T float
#include "lapack/engine/lapack_behind.inc"
#undef ROUTINE
#undef T
#define ROUTINE(name, parameters, arguments) BASALT_FORWARD(d##name, void, d##name##_, parameters, arguments)
#define T double
#include "lapack/engine/lapack_behind.inc"
#undef ROUTINE
#undef T
BASALT_FORWARD(get_num_procs, int, openblas_get_num_procs, (), ())
BASALT_FORWARD(get_num_threads, int, openblas_get_num_threads, (), ())
BASALT_FORWARD(set_num_threads, void, openblas_set_num_threads, (int threads), (threads))
BASALT_FORWARD(get_parallel, int, openblas_get_parallel, (), ())

extern "C" void* blas_memory_alloc(int position) {
    const auto function = basalt::lapack::memory_alloc.function;
    return function != nullptr ? function(position) : nullptr;
}
extern "C" void blas_memory_free(void* buffer) {
    if (buffer != nullptr) basalt::lapack::memory_free.function(buffer);
}
