#pragma once

#include <cstddef>
#include <string>

namespace basalt::tuner {

/// The functions of CUDA's driver that candidates need, as cuda.h declares them: CUresult is an enumeration whose 0
/// stands for success, handles are pointers and CUdeviceptr is an integer. Loaded when first asked for, so that the
/// library links and runs where there is no driver.
struct CudaDriver {
    int (*init)(unsigned flags) = nullptr;
    int (*error_name)(int status, const char** name) = nullptr;
    int (*device_count)(int* count) = nullptr;
    int (*device_get)(int* device, int ordinal) = nullptr;
    int (*device_name)(char* name, int length, int device) = nullptr;
    int (*device_attribute)(int* value, int attribute, int device) = nullptr;
    int (*context_retain)(void** context, int device) = nullptr;
    int (*context_set)(void* context) = nullptr;
    int (*allocate)(unsigned long long* pointer, std::size_t bytes) = nullptr;
    int (*free)(unsigned long long pointer) = nullptr;
    int (*copy_to_gpu)(unsigned long long to, const void* from, std::size_t bytes) = nullptr;
    int (*copy_to_host)(void* to, unsigned long long from, std::size_t bytes) = nullptr;
    int (*copy_within)(unsigned long long to, unsigned long long from, std::size_t bytes, void* stream) = nullptr;
    int (*memory_info)(std::size_t* free, std::size_t* total) = nullptr;
    int (*module_load)(void** module, const void* image) = nullptr;
    int (*module_unload)(void* module) = nullptr;
    int (*module_function)(void** function, void* module, const char* name) = nullptr;
    int (*function_set)(void* function, int attribute, int value) = nullptr;
    int (*launch)(void* function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,
                  unsigned block_z, unsigned shared_bytes, void* stream, void** parameters, void** extra) = nullptr;
    int (*synchronize)() = nullptr;
    int (*event_create)(void** event, unsigned flags) = nullptr;
    int (*event_record)(void* event, void* stream) = nullptr;
    int (*event_synchronize)(void* event) = nullptr;
    int (*event_elapsed)(float* milliseconds, void* start, void* end) = nullptr;

    /// "CUDA_ERROR_LAUNCH_FAILED".
    std::string name_of_error(int status) const;

    /// Throws GpuMissing where there is no driver.
    static const CudaDriver& loaded();
};

// As cuda.h numbers them.
namespace cuda_number {
inline constexpr int threads_a_block = 1;
inline constexpr int threads_a_multiprocessor = 39;
inline constexpr int capability_major = 75;
inline constexpr int capability_minor = 76;
inline constexpr int shared_a_multiprocessor = 81;
inline constexpr int registers_a_multiprocessor = 82;
inline constexpr int shared_a_block = 97;  ///< where a kernel asks for it
inline constexpr int blocks_a_multiprocessor = 106;
inline constexpr int shared_reserved = 111;       ///< of a block, by the driver
inline constexpr int largest_dynamic_shared = 8;  ///< attribute of a function
inline constexpr int out_of_resources = 701;      ///< an error that leaves the GPU usable, unlike those around it
inline constexpr int first_sticky_error = 700;
inline constexpr int last_sticky_error = 720;
}  // namespace cuda_number

}  // namespace basalt::tuner
