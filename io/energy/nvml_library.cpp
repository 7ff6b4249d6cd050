#include "io/energy/nvml_library.hpp"

#include <dlfcn.h>

#include <stdexcept>

namespace basalt {

NvmlLibrary::NvmlLibrary(const std::string& path) : library_(dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) {
    if (library_ == nullptr) throw std::runtime_error(dlerror());
    try {
        const auto init = function<int()>("nvmlInit_v2");
        shutdown_ = function<int()>("nvmlShutdown");
        error_string_ = function<const char*(int)>("nvmlErrorString");
        check("nvmlInit", init());
    } catch (...) {
        dlclose(library_);
        throw;
    }
}

NvmlLibrary::~NvmlLibrary() {
    shutdown_();
    dlclose(library_);
}

void NvmlLibrary::check(const char* call, int status) const {
    if (status != 0) throw std::runtime_error(std::string(call) + ": " + error_string_(status));
}

void* NvmlLibrary::symbol(const char* name) const {
    void* const found = dlsym(library_, name);
    if (found == nullptr) throw std::runtime_error(dlerror());
    return found;
}

}  // namespace basalt
