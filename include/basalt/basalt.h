#ifndef BASALT_BASALT_H
#define BASALT_BASALT_H

/// Basalt for C (C11) and for all languages that can call C: `#include <basalt/basalt.h>`, link with -lbasalt.
///
/// Functions return a status. Anything but BASALT_OK means that nothing was made and no output was written, and
/// basalt_error_message() says why. No C++ exception leaves a function. Numerical outcomes are no errors: they are
/// LAPACK's INFO, in an `info` argument.
///
/// What NAME_create() and the like return through their last argument is given back with NAME_destroy(), which takes
/// NULL, too. Objects that belong to a runtime may outlive it: they can then only be destroyed. Strings that are given
/// are copied, unless something else is said. All functions may be called from any thread.
///
/// Matrices on the user's side are column-major: element (i, j) at a[i + j * lda], lda >= max(1, rows), as in LAPACK.
/// Indices count from 0, except in pivots and INFO.

#include "basalt/basalt_matrices.h"
#include "basalt/basalt_runtime.h"
#include "basalt/basalt_tasks.h"

#ifdef __cplusplus
namespace basalt {
class Runtime;
}
/// The runtime for the C++ parts of a program. It ends with basalt_runtime_destroy().
basalt::Runtime& basalt_runtime_in_cpp(basalt_runtime& runtime);
#endif

#endif
