#pragma once

#include <basalt/runtime.hpp>

namespace basalt::lapack {

/// The runtime of all calls of this process, made at the first one and never destroyed: calls may come until the
/// process ends. A child process makes its own; begin() runs before a runtime is made. Settings are those of the
/// environment; without BASALT_WORKERS, the number of workers is OPENBLAS_NUM_THREADS or OMP_NUM_THREADS, which
/// programs with a LAPACK set. Throws as Runtime() and begin(). Thread-safe; not in a process that was forked while a
/// thread was here for the first time.
Runtime& shared_runtime(void (*begin)());

}  // namespace basalt::lapack
