// The engine's entry: one runtime for all calls, a graph for each, and no exception out of it.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>

#include <basalt/graph.hpp>

#include "lapack/engine/blas_behind.hpp"
#include "lapack/engine/operands.hpp"
#include "lapack/engine/routines.hpp"
#include "lapack/engine/shared_runtime.hpp"

namespace basalt::lapack {

namespace {

std::atomic<bool> exiting{false};

/// From here on, calls are passed on: after this, the library's static objects are destroyed.
void note_exit() { exiting.store(true, std::memory_order_release); }

/// Before a runtime is made. By one thread at a time.
void begin() {
    static constinit bool watched = false;
    if (!watched) watched = std::atexit(note_exit) == 0;
    blas_behind();
}

template <class T>
void compute(Runtime& runtime, Call& call) {
    switch (call.routine) {
        case Routine::getrf: return getrf<T>(runtime, call);
        case Routine::getrs: return getrs<T>(runtime, call);
        case Routine::gesv: return gesv<T>(runtime, call);
        case Routine::getri: return getri<T>(runtime, call);
        case Routine::gecon: return gecon<T>(runtime, call);
        case Routine::potrf: return potrf<T>(runtime, call);
        case Routine::potrs: return potrs<T>(runtime, call);
        case Routine::posv: return posv<T>(runtime, call);
        case Routine::potri: return potri<T>(runtime, call);
        case Routine::pocon: return pocon<T>(runtime, call);
        case Routine::geqrf: return geqrf<T>(runtime, call);
        case Routine::orgqr: return orgqr<T>(runtime, call);
        case Routine::ormqr: return ormqr<T>(runtime, call);
        case Routine::gels: return gels<T>(runtime, call);
        case Routine::trtrs: return trtrs<T>(runtime, call);
        case Routine::trtri: return trtri<T>(runtime, call);
        case Routine::dsgesv: return dsgesv(runtime, call);
        case Routine::dsposv: return dsposv(runtime, call);
    }
}

/// What LAPACK does if there is nothing to compute.
template <class T>
void compute_nothing(const Call& call) {
    if (call.rcond != nullptr) *static_cast<T*>(call.rcond) = 1;
    if (call.routine != Routine::gels) return;
    const View<T> b = Operands<T>::columns(call.b, std::max(call.m, call.n), call.k);
    for (Index j = 0; j < b.cols(); ++j) std::fill_n(&b(0, j), b.rows(), T{0});
}

bool execute_call(Call& call, char* reason, std::size_t size) noexcept {
    try {
        if (exiting.load(std::memory_order_acquire)) throw Unsuited("the process is exiting");
        Runtime& runtime = shared_runtime(begin);
        const Graph graph(runtime);  // its wait() is for this call alone, and so are its errors
        const SubmitTo here(graph);
        call.info = 0;
        if (call.is_double) {
            is_empty(call) ? compute_nothing<double>(call) : compute<double>(runtime, call);
        } else {
            is_empty(call) ? compute_nothing<float>(call) : compute<float>(runtime, call);
        }
        return true;
    } catch (const std::bad_alloc&) {
        std::snprintf(reason, size, "failed: no memory");
    } catch (const Unsuited& error) {
        std::snprintf(reason, size, "%s", error.what());
    } catch (const std::exception& error) {
        std::snprintf(reason, size, "failed: %s", error.what());
    } catch (...) {
        std::snprintf(reason, size, "failed");
    }
    return false;
}

constexpr Engine engine{execute_call};

}  // namespace

}  // namespace basalt::lapack

extern "C" __attribute__((visibility("default"))) const basalt::lapack::Engine* basalt_lapack_engine_1() {
    return &basalt::lapack::engine;
}
