#pragma once

#include <basalt/runtime.hpp>

#include "lapack/call.hpp"

/// LAPACK's routines on calls of precision T, by the library's algorithms. They set INFO and write the results after
/// all computations have succeeded. If they throw, the arrays are as they were. The calls are not empty.
namespace basalt::lapack {

template <class T>
void getrf(Runtime& runtime, Call& call);
template <class T>
void getrs(Runtime& runtime, Call& call);
template <class T>
void gesv(Runtime& runtime, Call& call);
template <class T>
void getri(Runtime& runtime, Call& call);
template <class T>
void gecon(Runtime& runtime, Call& call);

template <class T>
void potrf(Runtime& runtime, Call& call);
template <class T>
void potrs(Runtime& runtime, Call& call);
template <class T>
void posv(Runtime& runtime, Call& call);
template <class T>
void potri(Runtime& runtime, Call& call);
template <class T>
void pocon(Runtime& runtime, Call& call);

template <class T>
void geqrf(Runtime& runtime, Call& call);
template <class T>
void orgqr(Runtime& runtime, Call& call);
template <class T>
void ormqr(Runtime& runtime, Call& call);
template <class T>
void gels(Runtime& runtime, Call& call);

template <class T>
void trtrs(Runtime& runtime, Call& call);
template <class T>
void trtri(Runtime& runtime, Call& call);

void dsgesv(Runtime& runtime, Call& call);
void dsposv(Runtime& runtime, Call& call);

}  // namespace basalt::lapack
