#pragma once

#include <dlfcn.h>

namespace basalt::detail {

/// Looks for a function of a library that dlopen() has opened, and that lives until the process ends. Whether it is
/// there.
template <class Function>
bool find_library_function(void* library, const char* name, Function*& function) {
    function = reinterpret_cast<Function*>(dlsym(library, name));
    return function != nullptr;
}

}  // namespace basalt::detail
