#include "tuner/cuda/driver.hpp"

#include <dlfcn.h>

#include "base/library_function.hpp"
#include "tuner/gpu.hpp"

namespace basalt::tuner {

namespace {

template <class Function>
void find_driver_function(void* library, const char* name, Function& function) {
    if (!detail::find_library_function(library, name, function))
        throw GpuMissing(std::string("CUDA's driver has no ") + name);
}

CudaDriver load_driver() {
    void* const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);  // for the rest of the process
    if (library == nullptr) throw GpuMissing("there is no driver of CUDA (libcuda.so.1)");
    CudaDriver driver;
    find_driver_function(library, "cuInit", driver.init);
    find_driver_function(library, "cuGetErrorName", driver.error_name);
    find_driver_function(library, "cuDeviceGetCount", driver.device_count);
    find_driver_function(library, "cuDeviceGet", driver.device_get);
    find_driver_function(library, "cuDeviceGetName", driver.device_name);
    find_driver_function(library, "cuDeviceGetAttribute", driver.device_attribute);
    find_driver_function(library, "cuDevicePrimaryCtxRetain", driver.context_retain);
    find_driver_function(library, "cuCtxSetCurrent", driver.context_set);
    find_driver_function(library, "cuMemAlloc_v2", driver.allocate);
    find_driver_function(library, "cuMemFree_v2", driver.free);
    find_driver_function(library, "cuMemcpyHtoD_v2", driver.copy_to_gpu);
    find_driver_function(library, "cuMemcpyDtoH_v2", driver.copy_to_host);
    find_driver_function(library, "cuMemcpyDtoDAsync_v2", driver.copy_within);
    find_driver_function(library, "cuMemGetInfo_v2", driver.memory_info);
    find_driver_function(library, "cuModuleLoadData", driver.module_load);
    find_driver_function(library, "cuModuleUnload", driver.module_unload);
    find_driver_function(library, "cuModuleGetFunction", driver.module_function);
    find_driver_function(library, "cuFuncSetAttribute", driver.function_set);
    find_driver_function(library, "cuLaunchKernel", driver.launch);
    find_driver_function(library, "cuCtxSynchronize", driver.synchronize);
    find_driver_function(library, "cuEventCreate", driver.event_create);
    find_driver_function(library, "cuEventRecord", driver.event_record);
    find_driver_function(library, "cuEventSynchronize", driver.event_synchronize);
    find_driver_function(library, "cuEventElapsedTime", driver.event_elapsed);
    return driver;
}

}  // namespace

std::string CudaDriver::name_of_error(int status) const {
    const char* name = nullptr;
    return error_name(status, &name) == 0 && name != nullptr ? name : "status " + std::to_string(status);
}

const CudaDriver& CudaDriver::loaded() {
    static const CudaDriver driver = load_driver();
    return driver;
}

}  // namespace basalt::tuner
