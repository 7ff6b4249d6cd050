#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "basalt/device.hpp"
#include "basalt/emulation.hpp"
#include "basalt/error.hpp"
#include "basalt/tuning.hpp"

namespace basalt::detail {

/// The streams of a device, named for what runs on them. Work on one stream runs in order.
enum class StreamRole : std::uint8_t {
    compute,         ///< kernels
    urgent_compute,  ///< kernels of high priority (the device prefers their blocks)
    from_host,       ///< copies to the device
    to_host,         ///< copies from the device
    peer,            ///< copies to other devices
    relay,           ///< kernels that pass on what other devices send, of high priority: see relay_to_peer()
};
inline constexpr int stream_roles = 6;
const char* name_of(StreamRole role);

/// A point in a stream: all that was enqueued on it up to some record(). Tickets of a stream count from 1; 0 is
/// its beginning, which is always reached.
using Ticket = std::uint64_t;

/// `rows` pieces of `row_bytes` bytes, `to_pitch` and `from_pitch` bytes apart. rows = 1: one piece.
struct Copy {
    void* to;
    const void* from;
    std::size_t row_bytes;
    std::size_t rows = 1;
    std::size_t to_pitch = 0;
    std::size_t from_pitch = 0;
};

/// Whether a copy in one piece may be a hop of a relay.
inline bool fit_for_relays(const Copy& copy) {
    const auto aligned = [](const void* memory) { return reinterpret_cast<std::uintptr_t>(memory) % 16 == 0; };
    return aligned(copy.to) && aligned(copy.from);
}

/// What a hop of a relay tells the next one, made by relay_to_peer(): by whom it is told, and where among all that this
/// device has ever told the next one this relay begins.
struct RelayMark {
    int device = -1;  ///< -1: nobody, everything is there
    std::uint64_t base = 0;
};

/// One GPU, or an emulated one: memory, streams, events, copies and kernels, all asynchronous.
///
/// Threads. One thread, the device's driver, enqueues; allocate(), release(), pin(), unpin(), is_pinned(), reached(),
/// is_idle() and wait_for() with this device as the *other* one may be called by any thread at any time, and a
/// broadcast enqueues peer copies on the streams of several devices from one thread: enqueueing is serialised a stream.
/// Errors: what a call itself finds is thrown as a DeviceError that names the call, the source file and the
/// device; what shows later is thrown by reached(), once. After a sticky one, lost() holds and every call throws, but
/// release(), unpin() and synchronize(), which never do. A device is lost only when its own calls fail: a call of
/// another one that meets its error may fail, but does not make that one lost. (A fault on one GPU does make the calls
/// of all GPUs of the process fail, see notice_if_lost().)
class Device {
  public:
    virtual ~Device() = default;

    virtual int index() const = 0;
    /// "gpu 0" and the like, for errors and traces.
    virtual const std::string& name() const = 0;
    /// What it is, e.g. "NVIDIA H200".
    virtual const std::string& model() const = 0;
    virtual bool emulated() const = 0;
    /// Compute capability, "sm_90".
    virtual const std::string& architecture() const = 0;
    /// 0 of an emulated one.
    virtual int multiprocessors() const = 0;
    /// The numbers that were chosen for it, or for the nearest architecture.
    virtual const GpuTuning& tuning() const = 0;
    virtual bool lost() const = 0;
    /// lost(), found out by asking the device, for when another one is lost. Any thread may ask.
    virtual bool notice_if_lost() const noexcept { return lost(); }
    /// Bytes of memory in all, and free at the moment.
    virtual std::size_t memory_bytes() const = 0;
    virtual std::size_t free_bytes() const = 0;
    /// Whether it can copy to `peer` directly.
    virtual bool reaches(const Device& peer) const = 0;

    /// Device memory, aligned to 512 bytes, contents undefined. Throws DeviceError.
    virtual void* allocate(std::size_t bytes) = 0;
    virtual void release(void* memory) noexcept = 0;
    /// Makes host memory fit for asynchronous copies (for all devices). Throws DeviceError.
    virtual void pin(void* host_memory, std::size_t bytes) = 0;
    virtual void unpin(void* host_memory) noexcept = 0;
    /// Whether all of the memory is pinned, by us or by somebody else, as far as is known.
    virtual bool is_pinned(const void* host_memory, std::size_t bytes) const noexcept = 0;

    /// The calling thread will enqueue for this device (cudaSetDevice).
    virtual void attach_thread() = 0;

    /// What is enqueued on `stream` from now on starts when `other` has reached the ticket on its stream. Does nothing
    /// when it has already or when `stream` waits for that point or a later one anyway.
    virtual void wait_for(StreamRole stream, Device& other, StreamRole other_stream, Ticket ticket) = 0;
    /// Enqueues a copy between the host and this device, in the direction that `stream` stands for.
    virtual void copy(StreamRole stream, const Copy& copy) = 0;
    /// Enqueues a copy within this device.
    virtual void copy_within(StreamRole stream, const Copy& copy) = 0;
    /// Enqueues a copy from this device's memory to the peer's; reaches(peer) holds. Where the peer is lost, the error
    /// is the peer's.
    virtual void copy_to_peer(StreamRole stream, Device& peer, const Copy& copy) = 0;
    /// Enqueues a hop of a relay on the stream `relay`: a kernel that copies a buffer from this device's memory to the
    /// peer's, each piece as soon as the hop that `before` comes from has brought it, and tells the hop behind it, if
    /// there is one, which relays the same bytes on from `peer`. The copy is in one piece, both its addresses are
    /// multiples of 16; tuning().links.relay is the same for all hops, with at least one block; reaches(peer) holds.
    /// Hops are enqueued in their order, by one thread, and one relay at a time in the process. A
    /// kernel that hears nothing for some 20 s, as behind a device that was lost, ends in an error. Where the peer is
    /// lost, the error is the peer's.
    virtual RelayMark relay_to_peer(Device& peer, const Copy& copy, const RelayMark& before, bool is_last) = 0;
    /// Has `kernel` called with the stream: at once on a GPU, where it launches; in the stream's turn on an emulated
    /// device, where it computes. It must stay callable until the next recorded ticket is reached.
    virtual void launch(StreamRole stream, std::function<void(Stream)> kernel) = 0;

    /// `noticed` is called where something fails in its stream's turn and the device goes on, before anything begins
    /// that waits for it: on emulated devices, on the stream's thread. Set before anything is enqueued.
    virtual void on_failure(std::function<void()>) {}

    /// Marks the present end of the stream. `timed`: time_of() can be asked for it.
    virtual Ticket record(StreamRole stream, bool timed) = 0;
    /// Whether the stream has got there. Throws DeviceError for what failed on the way, each failure once.
    virtual bool reached(StreamRole stream, Ticket ticket) = 0;
    /// Whether its compute streams have got to their newest tickets: it has nothing to compute, as far as is known.
    /// Throws DeviceError. Any thread may ask.
    virtual bool is_idle() = 0;
    /// When the stream got to a timed ticket, in nanoseconds of std::chrono::steady_clock; the ticket was reached, and
    /// fewer than `remembered_tickets` have been recorded on the stream since.
    virtual std::int64_t time_of(StreamRole stream, Ticket ticket) = 0;
    static constexpr Ticket remembered_tickets = 1024;
    /// When the device's own timer, which kernels read (a GPU's %globaltimer; on an emulated device steady_clock
    /// itself), was at `timer` nanoseconds, a few seconds back at most: nanoseconds of std::chrono::steady_clock, on
    /// the same scale as time_of() to about a microsecond. Any thread may ask.
    virtual std::int64_t host_time_of(std::int64_t timer) = 0;

    /// Returns when everything enqueued has run (or will never).
    virtual void synchronize() noexcept = 0;
};

/// Emulated devices, numbered from 0.
std::vector<std::unique_ptr<Device>> make_emulated_devices(const Emulation& emulation,
                                                           const TuningTables& tables = TuningTables::built_in());

/// The GPUs that CUDA_VISIBLE_DEVICES leaves, at most `limit` of them; none where there is no driver or the library was
/// built without CUDA.
std::vector<std::unique_ptr<Device>> make_cuda_devices(int limit,
                                                       const TuningTables& tables = TuningTables::built_in());

}  // namespace basalt::detail
