// Stands for CUDA's driver: says that one range of the process's memory is a GPU's.
#include <cstdint>

namespace {

std::uint64_t range_begin = 0;
std::uint64_t range_end = 0;
int range_gpu = 0;
bool range_is_managed = false;

}  // namespace

extern "C" {

void fake_cuda_set_range(const void* begin, std::uint64_t bytes, int gpu, bool managed) {
    range_begin = reinterpret_cast<std::uint64_t>(begin);
    range_end = range_begin + bytes;
    range_gpu = gpu;
    range_is_managed = managed;
}

int cuPointerGetAttributes(unsigned count, const int* attributes, void** data, unsigned long long pointer) {
    const bool inside = range_begin <= pointer && pointer < range_end;
    for (unsigned i = 0; i < count; ++i) {
        switch (attributes[i]) {
            case 2: *static_cast<unsigned*>(data[i]) = !inside ? 0 : range_is_managed ? 1 : 2; break;
            case 8: *static_cast<unsigned char*>(data[i]) = inside && range_is_managed; break;
            case 9: *static_cast<int*>(data[i]) = inside ? range_gpu : -2; break;
            default: return 1;
        }
    }
    return 0;
}
}
