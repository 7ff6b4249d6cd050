#include "bench/broadcast/nccl.hpp"

#include <cstdlib>
#include <numeric>
#include <stdexcept>
#include <string>

#include <cuda_runtime_api.h>
#include <nccl.h>

namespace bench {

namespace {

void check(ncclResult_t result) {
    if (result != ncclSuccess) throw std::runtime_error(std::string("NCCL: ") + ncclGetErrorString(result));
}
void check(cudaError_t status) {
    if (status != cudaSuccess) throw std::runtime_error(std::string("CUDA: ") + cudaGetErrorString(status));
}

class Broadcast final : public NcclBroadcast {
  public:
    explicit Broadcast(int gpus) : communicators_(static_cast<std::size_t>(gpus)), streams_(communicators_.size()) {
        setenv("NCCL_NVLS_ENABLE", "0", 0);  // multicast over NVLink stays off
        std::vector<int> numbers(communicators_.size());
        std::iota(numbers.begin(), numbers.end(), 0);
        check(ncclCommInitAll(communicators_.data(), gpus, numbers.data()));
        for (std::size_t i = 0; i < streams_.size(); ++i) {
            check(cudaSetDevice(static_cast<int>(i)));
            check(cudaStreamCreateWithFlags(&streams_[i], cudaStreamNonBlocking));
        }
    }
    ~Broadcast() override {
        for (std::size_t i = 0; i < streams_.size(); ++i) {
            cudaStreamDestroy(streams_[i]);
            ncclCommDestroy(communicators_[i]);
        }
    }
    Broadcast(const Broadcast&) = delete;
    Broadcast& operator=(const Broadcast&) = delete;

    void run(const std::vector<void*>& buffers, std::size_t bytes) override {
        check(ncclGroupStart());
        for (std::size_t i = 0; i < streams_.size(); ++i) {
            check(ncclBroadcast(buffers[0], buffers[i], bytes, ncclChar, 0, communicators_[i], streams_[i]));
        }
        check(ncclGroupEnd());
        for (cudaStream_t stream : streams_) check(cudaStreamSynchronize(stream));
    }

  private:
    std::vector<ncclComm_t> communicators_;
    std::vector<cudaStream_t> streams_;
};

}  // namespace

const bool has_nccl = true;

std::unique_ptr<NcclBroadcast> make_nccl_broadcast(int gpus) { return std::make_unique<Broadcast>(gpus); }

}  // namespace bench
