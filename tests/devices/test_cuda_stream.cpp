// What CudaStream does when CUDA refuses something, without a GPU: the calls that it makes are defined here.
#include <cstddef>
#include <set>

#include "runtime/device/cuda_check.hpp"
#include "runtime/device/cuda_stream.hpp"
#include "tests/common/catch.hpp"

using namespace basalt;
using namespace basalt::detail;

namespace {

/// The driver that is not there: hands out handles, takes them back, and refuses the call of a given number.
class FakeCuda {
  public:
    static FakeCuda& instance() {
        static FakeCuda fake;
        return fake;
    }
    void restart(int failing_call) {
        calls_ = 0;
        failing_call_ = failing_call;
        foreign_ = false;
    }

    bool refuses() { return ++calls_ == failing_call_; }
    template <class Handle>
    void hand_out(Handle* handle) {
        *handle = reinterpret_cast<Handle>(++last_);
        live_.insert(last_);
    }
    void take_back(void* handle) { foreign_ |= live_.erase(reinterpret_cast<std::size_t>(handle)) == 0; }

    std::size_t live() const { return live_.size(); }
    int calls() const { return calls_; }
    /// Something was given back that had not been handed out, or twice.
    bool foreign() const { return foreign_; }

  private:
    int calls_ = 0;
    int failing_call_ = 0;
    std::size_t last_ = 0;
    std::set<std::size_t> live_;
    bool foreign_ = false;
};

FakeCuda& fake() { return FakeCuda::instance(); }

template <class Handle>
cudaError_t make(Handle* handle) {
    if (fake().refuses()) return cudaErrorMemoryAllocation;
    fake().hand_out(handle);
    return cudaSuccess;
}

cudaError_t take(void* handle) {
    fake().take_back(handle);
    return cudaSuccess;
}

cublasStatus_t set_up() { return fake().refuses() ? CUBLAS_STATUS_ALLOC_FAILED : CUBLAS_STATUS_SUCCESS; }

}  // namespace

extern "C" {
cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* highest) {
    *least = 0;
    *highest = -1;
    return cudaSuccess;
}
cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned, int) { return make(stream); }
cudaError_t cudaStreamDestroy(cudaStream_t stream) { return take(stream); }
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) { return make(event); }
cudaError_t cudaEventDestroy(cudaEvent_t event) { return take(event); }
cudaError_t cudaEventRecord(cudaEvent_t, cudaStream_t) { return cudaSuccess; }
cudaError_t cudaEventQuery(cudaEvent_t) { return cudaSuccess; }
cudaError_t cudaStreamWaitEvent(cudaStream_t, cudaEvent_t, unsigned) { return cudaSuccess; }
cudaError_t cudaMalloc(void** memory, std::size_t) { return make(memory); }
cudaError_t cudaFree(void* memory) { return take(memory); }
cudaError_t cudaGetLastError() { return cudaSuccess; }
const char* cudaGetErrorName(cudaError_t) { return "refused"; }
const char* cudaGetErrorString(cudaError_t) { return "as the test asked for"; }
cudaError_t cudaGetDevice(int* device) { return *device = 0, cudaSuccess; }
cudaError_t cudaSetDevice(int) { return cudaSuccess; }
cublasStatus_t cublasCreate_v2(cublasHandle_t* handle) {
    if (fake().refuses()) return CUBLAS_STATUS_ALLOC_FAILED;
    fake().hand_out(handle);
    return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasDestroy_v2(cublasHandle_t handle) { return take(handle), CUBLAS_STATUS_SUCCESS; }
cublasStatus_t cublasSetStream_v2(cublasHandle_t, cudaStream_t) { return set_up(); }
cublasStatus_t cublasSetWorkspace_v2(cublasHandle_t, void*, std::size_t) { return set_up(); }
cublasStatus_t cublasSetPointerMode_v2(cublasHandle_t, cublasPointerMode_t) { return set_up(); }
cublasStatus_t cublasSetMathMode(cublasHandle_t, cublasMath_t) { return set_up(); }
const char* cublasGetStatusName(cublasStatus_t) { return "refused"; }
}

TEST_CASE("a stream gives back all that CUDA handed out, whichever call fails") {
    fake().restart(0);
    {
        CudaStream stream(0, 1, StreamRole::urgent_compute, 2);
        stream.make_blas(1);
        CHECK(stream.record(detail::Timing::timed) == 1);
        CHECK(stream.record(detail::Timing::untimed) == 2);
        CHECK(fake().live() > Device::remembered_tickets);
    }
    CHECK(fake().live() == 0);
    const int calls = fake().calls();
    for (int failing = 1; failing <= calls; ++failing) {
        CAPTURE(failing);
        fake().restart(failing);
        const auto use = [] {
            CudaStream stream(0, 1, StreamRole::urgent_compute, 2);
            stream.make_blas(1);
            stream.record(detail::Timing::timed);
        };
        CHECK_THROWS_AS(use(), CudaFailure);
        CHECK(fake().live() == 0);
        CHECK_FALSE(fake().foreign());
    }
}
