#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <source_location>
#include <string>
#include <vector>

#include "runtime/device/cuda_clock.hpp"
#include "runtime/device/cuda_relay.hpp"
#include "runtime/device/cuda_solver.hpp"
#include "runtime/device/cuda_staging.hpp"
#include "runtime/device/cuda_stream.hpp"
#include "runtime/device/device.hpp"
#include "runtime/device/pinned_ranges.hpp"

namespace basalt::detail {

/// A GPU by CUDA. Device `index` of the runtime is the CUDA device of that number.
class CudaDevice final : public Device {
  public:
    /// Streams, cuBLAS handles and the clock of one of `devices` GPUs. Throws DeviceError.
    CudaDevice(int index, int devices, std::shared_ptr<PinnedRanges> pinned, const TuningTables& tables);
    ~CudaDevice() override;

    /// Lets this device copy to `peer` directly where the hardware can.
    void enable_access_to(const CudaDevice& peer);

    int index() const override { return index_; }
    const std::string& name() const override { return name_; }
    const std::string& model() const override { return model_; }
    bool emulated() const override { return false; }
    const std::string& architecture() const override { return architecture_; }
    int multiprocessors() const override { return multiprocessors_; }
    const GpuTuning& tuning() const override { return tuning_; }
    bool lost() const override { return lost_.load(std::memory_order_acquire); }
    bool lost_silently() const override { return lost() && !launches_block_; }
    bool notice_if_lost() const noexcept override;
    std::size_t memory_bytes() const override { return memory_bytes_; }
    std::size_t free_bytes() const override;
    bool reaches(const Device& peer) const override;

    void* allocate(std::size_t bytes) override;
    void release(void* memory) noexcept override;
    void pin(void* host_memory, std::size_t bytes) override;
    void unpin(void* host_memory) noexcept override;
    bool is_pinned(const void* host_memory, std::size_t bytes) const noexcept override;

    bool open(StreamRole stream) noexcept override;

    void attach_thread() override;

    void wait_for(StreamRole stream, Device& other, StreamRole other_stream, Ticket ticket) override;
    void copy(StreamRole stream, const Copy& copy) override;
    void copy_within(StreamRole stream, const Copy& copy) override;
    void copy_to_peer(StreamRole stream, Device& peer, const Copy& copy) override;
    std::optional<RelayMark> relay_to_peer(Device& peer, const Copy& copy, const std::optional<RelayMark>& before,
                                           RelayEnd end) override;
    void launch(StreamRole stream, std::function<void(Stream)> kernel) override;

    Ticket record(StreamRole stream, Timing timing) override;
    bool reached(StreamRole stream, Ticket ticket) override;
    bool is_idle() override;
    std::int64_t time_of(StreamRole stream, Ticket ticket) override;
    std::int64_t host_time_of(std::int64_t timer) override;

    void synchronize() noexcept override;

  private:
    /// One that is there: its device's driver has made it, or tells of a ticket of it.
    CudaStream& stream(StreamRole role) { return *stream_if_there(role); }
    CudaStream* stream_if_there(StreamRole role) const {
        // acquire: any thread may look for it
        return streams_[static_cast<std::size_t>(role)].load(std::memory_order_acquire);
    }
    void make_stream(StreamRole role);
    /// Handles on a stream that computes, for kernels, which are called by the driver's thread alone.
    class Libraries final : public StreamLibraries {
      public:
        Libraries(const CudaDevice& device, CudaStream& stream) : device_(device), stream_(stream) {}
        void* blas() override;
        void* solver() override;

      private:
        const CudaDevice& device_;
        CudaStream& stream_;
        std::optional<CudaSolver> solver_;
    };
    /// Runs `calls`, which throw CudaFailure, and makes a DeviceError of that; refuses where the device is
    /// lost.
    template <class F>
    auto guarded(const char* call, const F& calls, std::source_location where = std::source_location::current()) const;
    void mark_lost(const char* what) const noexcept;
    /// Whether this device's own context has a sticky error. A call may also meet one of another device: of a peer that
    /// it concerns, or of the thread's former one.
    bool context_is_spoilt() const noexcept;
    bool stage(StreamRole role, const Copy& copy);
    /// Runs `calls`, which concern the peer as well: throws its error where it is lost.
    template <class F>
    auto guarded_with(const CudaDevice& peer, const F& calls) const;
    void enqueue_copy(const char* call, StreamRole role, const Copy& copy, cudaMemcpyKind kind);

    const int index_;
    const std::string name_;
    std::string model_;
    std::string architecture_;
    int multiprocessors_ = 0;
    GpuTuning tuning_;
    std::size_t memory_bytes_ = 0;
    const std::shared_ptr<PinnedRanges> pinned_;
    const int devices_;          ///< of the runtime
    const bool launches_block_;  ///< CUDA_LAUNCH_BLOCKING=1: a launch tells of the kernel's own fault
    std::vector<bool> reached_peers_;
    std::optional<CudaClock> clock_;
    std::array<CudaStaging, named_streams> staging_;
    std::optional<CudaRelay> relay_;
    std::vector<std::unique_ptr<CudaStream>> owned_streams_;
    std::array<std::atomic<CudaStream*>, stream_roles> streams_{};  ///< those that are there
    std::vector<std::unique_ptr<Libraries>> libraries_;             // after the streams: given back before them

    mutable std::atomic<bool> lost_{false};
    mutable std::mutex mutex_;
    mutable std::string why_lost_;  // guarded by mutex_
};

}  // namespace basalt::detail
