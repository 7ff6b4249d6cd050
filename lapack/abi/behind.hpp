#pragma once

namespace basalt::lapack {

/// The function of a name in the library behind this one: the next one in the order of linking, otherwise one that the
/// object of `caller` (an address in it) is linked to, otherwise one in any object of the process, otherwise
/// OpenBLAS's. nullptr if there is none. NumPy's and SciPy's wheels load their OpenBLAS in such a way that only the
/// second finds it.
void* find_behind(const char* name, const void* caller);

/// The program's XERBLA in a spelling such as "xerbla_64_": of the whole process, otherwise that which the object of
/// `caller` sees, otherwise as find_behind(). nullptr if there is none.
void* find_xerbla(const char* name, const void* caller);

}  // namespace basalt::lapack
