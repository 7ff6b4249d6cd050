#include "lapack/abi/gpu_memory.hpp"

#include <atomic>
#include <cstddef>

#include <dlfcn.h>
#include <link.h>

#include "lapack/abi/engine.hpp"
#include "lapack/abi/objects.hpp"

namespace basalt::lapack {

namespace {

// From CUDA's driver API, whose ABI is stable: this library has to build and run where there is no CUDA.
enum class PointerAttribute : int { memory_type = 2, is_managed = 8, device_ordinal = 9 };
constexpr unsigned device_memory = 2;
using PointerGetAttributes = int (*)(unsigned count, PointerAttribute* attributes, void** data,
                                     unsigned long long pointer);

constinit std::atomic<unsigned long long> seen_loads{0};  // of shared objects, when the driver was last looked for
constinit std::atomic<PointerGetAttributes> get_attributes{nullptr};

int note_loads(dl_phdr_info* info, std::size_t, void* loads) {
    *static_cast<unsigned long long*>(loads) = info->dlpi_adds;
    return 1;  // the same for all objects
}

/// A program may load the driver at any time; it is looked for again only after something was loaded.
PointerGetAttributes driver() {
    PointerGetAttributes known = get_attributes.load(std::memory_order_acquire);
    if (known != nullptr || forked_at_first_call()) return known;
    unsigned long long loads = 0;
    visit_objects(note_loads, &loads);
    if (loads == seen_loads.load(std::memory_order_relaxed)) return nullptr;
    if (void* const library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD)) {
        known = reinterpret_cast<PointerGetAttributes>(dlsym(library, "cuPointerGetAttributes"));
        get_attributes.store(known, std::memory_order_release);
    }
    seen_loads.store(loads, std::memory_order_relaxed);
    return known;
}

}  // namespace

Memory memory_of(const void* pointer) {
    const PointerGetAttributes get = pointer != nullptr ? driver() : nullptr;
    if (get == nullptr) return {};
    unsigned type = 0;
    // the driver writes one byte or four, by version
    unsigned managed = 0;
    int gpu = 0;
    PointerAttribute attributes[]{PointerAttribute::memory_type, PointerAttribute::is_managed,
                                  PointerAttribute::device_ordinal};
    void* values[]{&type, &managed, &gpu};
    if (get(3, attributes, values, reinterpret_cast<unsigned long long>(pointer)) != 0) return {};
    const bool on_gpu = type == device_memory || managed != 0;
    return {on_gpu, !on_gpu || managed != 0, gpu < 0 ? 0 : gpu};
}

}  // namespace basalt::lapack
