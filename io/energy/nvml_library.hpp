#pragma once

#include <string>

namespace basalt {

/// The driver's library NVML, loaded and initialised while this lives, so that nothing links it. Its signatures are
/// those of nvml.h: a status is an enum, 0 for success; a device is a pointer.
class NvmlLibrary {
  public:
    using Device = void*;

    static constexpr const char* usual_path = "libnvidia-ml.so.1";

    /// Throws std::runtime_error where there is no library or no driver.
    explicit NvmlLibrary(const std::string& path);
    ~NvmlLibrary();
    NvmlLibrary(const NvmlLibrary&) = delete;
    NvmlLibrary& operator=(const NvmlLibrary&) = delete;

    /// The function `name`. Throws std::runtime_error where the library has none.
    template <class F>
    F* function(const char* name) const {
        return reinterpret_cast<F*>(symbol(name));
    }

    /// Throws std::runtime_error with the call and NVML's text unless `status` is success.
    void check(const char* call, int status) const;

  private:
    void* symbol(const char* name) const;

    void* library_;
    int (*shutdown_)() = nullptr;
    const char* (*error_string_)(int) = nullptr;
};

}  // namespace basalt
