#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <source_location>
#include <string>
#include <vector>

#include "base/blas_buffers.hpp"
#include "runtime/device/device.hpp"
#include "runtime/device/emulated_memory.hpp"
#include "runtime/device/emulated_speed.hpp"
#include "runtime/device/emulated_stream.hpp"
#include "runtime/device/pinned_ranges.hpp"

namespace basalt::detail {

/// Counts of the calls of an emulated device, for tests.
struct EmulatedStatistics {
    std::size_t bytes_allocated = 0;
    std::size_t peak_bytes = 0;
    std::uint64_t allocations = 0;
    std::uint64_t releases = 0;
    std::uint64_t copies_from_host = 0;
    std::uint64_t copies_to_host = 0;
    std::uint64_t copies_within = 0;
    std::uint64_t copies_to_peers = 0;
    std::uint64_t relays_to_peers = 0;
    std::uint64_t bytes_copied = 0;
    std::uint64_t kernels = 0;
    std::uint64_t records = 0;
    std::uint64_t waits = 0;          ///< enqueued
    std::uint64_t waits_dropped = 0;  ///< implied by what was known
};

/// Knows the memory of all devices that were made together, and which host memory is pinned.
class EmulatedHost {
  public:
    EmulatedHost(int devices, std::size_t memory);

    EmulatedMemory& memory(int device) { return *memories_[static_cast<std::size_t>(device)]; }
    /// Whether any of the bytes is memory of a device.
    bool on_a_device(const void* begin, std::size_t bytes) const;

    PinnedRanges& pinned() { return pinned_; }

  private:
    std::vector<std::unique_ptr<EmulatedMemory>> memories_;
    PinnedRanges pinned_;
};

/// A device without a GPU: streams are threads, and kernels compute on them.
///
/// It is stricter than a GPU. A copy whose device side is not inside one live allocation of that device, or
/// whose host side is device memory, is refused with a DeviceError, so that a forgotten transfer shows. Of
/// the failures that the Emulation asks for, the k-th copy or kernel fails in the call when k is even, in the
/// stream's turn (so that reached() reports it) when k is odd; copies of all directions count together.
/// Copies and waits of nothing are valid. On a lost device streams leave out copies and kernels but still
/// reach their tickets, so nothing waits forever. A kernel's exception comes out of reached() as it is.
class EmulatedDevice final : public Device {
  public:
    EmulatedDevice(int index, const Emulation& emulation, std::shared_ptr<EmulatedHost> host,
                   const TuningTables& tables);
    ~EmulatedDevice() override;

    int index() const override { return index_; }
    const std::string& name() const override { return name_; }
    const std::string& model() const override { return model_; }
    bool emulated() const override { return true; }
    const std::string& architecture() const override { return architecture_; }
    int multiprocessors() const override { return 0; }
    const GpuTuning& tuning() const override { return tuning_; }
    bool lost() const override { return lost_.load(std::memory_order_acquire); }
    bool lost_silently() const override { return lost() && silent_; }
    std::size_t memory_bytes() const override { return memory_.capacity(); }
    std::size_t free_bytes() const override { return memory_.capacity() - memory_.used(); }
    bool reaches(const Device& peer) const override;

    void* allocate(std::size_t bytes) override;
    void release(void* memory) noexcept override;
    void pin(void* host_memory, std::size_t bytes) override;
    void unpin(void* host_memory) noexcept override;
    bool is_pinned(const void* host_memory, std::size_t bytes) const noexcept override;

    bool open(StreamRole stream) noexcept override;

    void attach_thread() override {}

    void wait_for(StreamRole stream, Device& other, StreamRole other_stream, Ticket ticket) override;
    void copy(StreamRole stream, const Copy& copy) override;
    void copy_within(StreamRole stream, const Copy& copy) override;
    void copy_to_peer(StreamRole stream, Device& peer, const Copy& copy) override;
    std::optional<RelayMark> relay_to_peer(Device& peer, const Copy& copy, const std::optional<RelayMark>& before,
                                           RelayEnd end) override;
    void launch(StreamRole stream, std::function<void(Stream)> kernel) override;
    void on_failure(const std::function<void(void* work)>& noticed) override;

    Ticket record(StreamRole stream, Timing timing) override;
    bool reached(StreamRole stream, Ticket ticket) override;
    bool is_idle() override;
    std::int64_t time_of(StreamRole stream, Ticket ticket) override;
    std::int64_t host_time_of(std::int64_t timer) override { return timer; }

    void synchronize() noexcept override;

    EmulatedStatistics statistics() const;
    /// Ranges of host memory that are pinned, by any device.
    std::size_t pinned_ranges() const { return host_->pinned().size(); }

  private:
    /// The stream of a role, with the newest ticket it waits for of each stream of each device.
    struct Queue {
        Queue(const std::string& name, std::chrono::nanoseconds longest_delay, std::uint64_t seed,
              const std::atomic<bool>& lost, int devices);
        std::optional<BlasBuffers> buffers;  ///< of a stream that was made later: for kernels on its thread
        EmulatedStream stream;
        std::mutex mutex;
        std::vector<Ticket> awaited;  // guarded by mutex
    };
    /// Counts calls of a kind, one of which is to fail.
    struct Injection {
        std::uint64_t failing;  // 0: none does
        std::atomic<std::uint64_t> calls{0};
        bool fails_now(std::uint64_t call) const { return call == failing; }
    };
    struct Side {
        const void* begin;
        std::size_t pitch;
        EmulatedMemory* memory;  // nullptr: the host
    };

    /// Of a stream that is there: its device's driver has made it, or tells of a ticket of it.
    Queue& queue(StreamRole stream) { return *queue_if_there(stream); }
    Queue* queue_if_there(StreamRole stream) const {
        // acquire: any thread may look for it
        return queues_[static_cast<std::size_t>(stream)].load(std::memory_order_acquire);
    }
    void make_queue(StreamRole role);
    void check_alive(const char* call, std::source_location where = std::source_location::current()) const;
    DeviceError error(const char* call, const std::string& why, DeviceFault fault = DeviceFault::call_failed,
                      std::source_location where = std::source_location::current()) const;
    /// The failure of call number `number`, which is sticky where the emulation asks for that.
    DeviceError injected(const char* call, std::uint64_t number, DeviceFault fault = DeviceFault::call_failed);
    /// Throws it; the device is lost from now on if it is sticky.
    [[noreturn]] void fail_in_call(const DeviceError& failure);
    void mark_lost(const char* why);
    void notice_failure(void* work);
    void check_side(const char* call, const Copy& copy, const Side& side) const;
    const std::shared_ptr<Timeline>& told_by(int device) const { return told_by_[static_cast<std::size_t>(device)]; }
    /// The peer's memory; throws where it is out of reach or lost.
    EmulatedMemory& memory_of(const char* call, const Device& peer) const;
    /// `move` does it, in the stream's turn; empty: row by row.
    void enqueue_copy(const char* call, StreamRole stream, const Copy& copy, EmulatedMemory* to, EmulatedMemory* from,
                      std::atomic<std::uint64_t>& counter, std::function<void()> move = {});
    void enqueue(StreamRole stream, const char* call, Injection& injection, std::function<void()> work);

    const int index_;
    const std::string name_;
    const EmulatedSpeed speed_;
    const std::string model_;
    const std::string architecture_;
    const GpuTuning tuning_;
    const StreamContext context_;
    const bool peer_access_;
    const bool failures_are_sticky_;
    const std::shared_ptr<EmulatedHost> host_;
    EmulatedMemory& memory_;

    std::atomic<bool> lost_{false};
    std::atomic<bool> silent_{false};  ///< set before lost_
    mutable std::mutex mutex_;
    std::string why_lost_;  // guarded by mutex_

    Injection allocations_;
    Injection copies_;
    Injection kernels_;
    const std::uint64_t faulting_kernel_;  ///< 0: none
    std::atomic<std::uint64_t> releases_{0};
    std::atomic<std::uint64_t> copies_from_host_{0};
    std::atomic<std::uint64_t> copies_to_host_{0};
    std::atomic<std::uint64_t> copies_within_{0};
    std::atomic<std::uint64_t> copies_to_peers_{0};
    std::atomic<std::uint64_t> relays_to_peers_{0};
    std::atomic<std::uint64_t> bytes_copied_{0};
    std::atomic<std::uint64_t> records_{0};
    std::atomic<std::uint64_t> waits_{0};
    std::atomic<std::uint64_t> waits_dropped_{0};

    /// Of relays, in chunks: what each other device has told this one, and the end of what this one will tell it.
    std::vector<std::shared_ptr<Timeline>> told_by_;
    std::vector<std::uint64_t> told_;  // used by relay_to_peer() alone: by one thread at a time

    std::function<void(void*)> failure_noticed_;
    const std::uint64_t seed_;
    const std::chrono::nanoseconds longest_delay_;
    const int devices_;
    std::array<std::atomic<Queue*>, stream_roles> queues_{};  ///< those that are there
    std::vector<std::unique_ptr<Queue>> owned_;               // last: their threads end before the rest is destroyed
};

}  // namespace basalt::detail
