#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "basalt/config.hpp"
#include "basalt/device.hpp"
#include "basalt/emulation.hpp"
#include "basalt/error.hpp"
#include "basalt/tuning.hpp"

namespace basalt::detail {

/// The streams of a device, named for what runs on them. Work on one stream runs in order.
///
/// `compute` and `urgent_compute` are each the first of a pool of streams with the same priority, which run kernels
/// side by side. The roles of the others follow the named ones, see stream_of_pool().
enum class StreamRole : std::uint8_t {
    compute,         ///< kernels
    urgent_compute,  ///< kernels of high priority (the device prefers their blocks)
    from_host,       ///< copies to the device
    to_host,         ///< copies from the device
    peer,            ///< copies to other devices
    relay,           ///< kernels that pass on what other devices send, of high priority: see relay_to_peer()
};
inline constexpr int named_streams = 6;
inline constexpr int stream_pools = 2;
inline constexpr int stream_roles = named_streams + stream_pools * (Config::most_gpu_streams - 1);

/// Stream `number`, from 0, of the pool whose first one is `first`.
constexpr StreamRole stream_of_pool(StreamRole first, int number) {
    if (number == 0) return first;
    const int before = first == StreamRole::compute ? 0 : Config::most_gpu_streams - 1;
    return static_cast<StreamRole>(named_streams + before + number - 1);
}
/// The first stream of the role's pool; a role without a pool is its own.
constexpr StreamRole first_of_pool(StreamRole role) {
    const int number = static_cast<int>(role) - named_streams;
    if (number < 0) return role;
    return number < Config::most_gpu_streams - 1 ? StreamRole::compute : StreamRole::urgent_compute;
}
/// Whether it copies between the device and the host.
constexpr bool is_with_host(StreamRole role) { return role == StreamRole::from_host || role == StreamRole::to_host; }
/// Whether kernels of tasks run on it.
constexpr bool computes(StreamRole role) { return first_of_pool(role) <= StreamRole::urgent_compute; }
/// "compute", "compute 2" for the second one of that pool, "from host".
std::string name_of(StreamRole role);

/// A point in a stream: all that was enqueued on it up to some record(). Tickets of a stream count from 1; 0 is
/// its beginning, which is always reached.
using Ticket = std::uint64_t;

/// Whether time_of() can be asked for a ticket.
enum class Timing : std::uint8_t { untimed, timed };

/// `rows` rows of `row_bytes` bytes, `to_pitch` and `from_pitch` bytes apart. rows = 1: a contiguous copy.
struct Copy {
    void* to;
    const void* from;
    std::size_t row_bytes;
    std::size_t rows = 1;
    std::size_t to_pitch = 0;
    std::size_t from_pitch = 0;
};

/// Whether a contiguous copy may be a hop of a relay.
inline bool fit_for_relays(const Copy& copy) {
    const auto aligned = [](const void* memory) { return reinterpret_cast<std::uintptr_t>(memory) % 16 == 0; };
    return aligned(copy.to) && aligned(copy.from);
}

/// A hop of a relay as the next hop sees it, made by relay_to_peer(): the device that it comes from, and the position
/// of this relay in the sequence of all messages from that device.
struct RelayMark {
    int device;
    std::uint64_t base;
};

/// Whether another hop passes on what a hop of a relay brings.
enum class RelayEnd : std::uint8_t { passed_on, last };

/// What the calling thread enqueues on devices, for as long as it lives: a name that Device::on_failure() gets back.
class WorkInHand {
  public:
    explicit WorkInHand(void* work) : outer_(std::exchange(of_thread_, work)) {}
    ~WorkInHand() { of_thread_ = outer_; }
    WorkInHand(const WorkInHand&) = delete;
    WorkInHand& operator=(const WorkInHand&) = delete;

    static void* of_thread() { return of_thread_; }

  private:
    void* const outer_;
    static inline constinit thread_local void* of_thread_ = nullptr;
};

/// One GPU, or an emulated one: memory, streams, events, copies and kernels, all asynchronous.
///
/// Threads. One thread, the device's driver, enqueues; allocate(), release(), pin(), unpin(), is_pinned(), reached(),
/// is_idle() and wait_for() with this device as the *other* one may be called by any thread at any time, and a
/// broadcast enqueues peer copies on the streams of several devices from one thread: enqueueing is serialised a stream.
/// Errors: a call that fails throws a DeviceError that names the call, the source file and the device. reached() throws
/// errors that show later, each once. After a sticky error lost() holds, and every call throws except release(),
/// unpin() and synchronize(), which never do. A device is lost only when its own calls fail: a call of another device
/// that meets its error may fail, but does not make that device lost. (A fault on one GPU does make the calls of all
/// GPUs of the process fail, see notice_if_lost().)
class Device {
  public:
    virtual ~Device() = default;

    virtual int index() const = 0;
    /// "gpu 0" and the like, for errors and traces.
    virtual const std::string& name() const = 0;
    /// Its model, e.g. "NVIDIA H200".
    virtual const std::string& model() const = 0;
    virtual bool emulated() const = 0;
    /// Compute capability, "sm_90".
    virtual const std::string& architecture() const = 0;
    /// 0 for an emulated device.
    virtual int multiprocessors() const = 0;
    /// The numbers that were chosen for it, or for the nearest architecture.
    virtual const GpuTuning& tuning() const = 0;
    virtual bool lost() const = 0;
    /// Whether it was lost without telling what failed: the calls that say so may be about work that is innocent.
    virtual bool lost_silently() const = 0;
    /// As lost(), but asks the device: for when another device is lost. Any thread may ask.
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
    /// Whether all of the memory is pinned, by the library or by other code, as far as is known.
    virtual bool is_pinned(const void* host_memory, std::size_t bytes) const noexcept = 0;

    /// Makes the stream, one of a pool, if it is not there yet. False where the system has no more of them. The named
    /// streams are always there. Only the driver may call it, and such a stream is not used before.
    virtual bool open(StreamRole stream) noexcept = 0;

    /// The calling thread will enqueue for this device (cudaSetDevice).
    virtual void attach_thread() = 0;

    /// Work enqueued on `stream` from now on starts when `other` has reached the ticket on its stream. Does nothing if
    /// it has reached it or if `stream` already waits for that point or a later one.
    virtual void wait_for(StreamRole stream, Device& other, StreamRole other_stream, Ticket ticket) = 0;
    /// Enqueues a copy between the host and this device, in the direction that `stream` stands for.
    virtual void copy(StreamRole stream, const Copy& copy) = 0;
    /// Enqueues a copy within this device.
    virtual void copy_within(StreamRole stream, const Copy& copy) = 0;
    /// Enqueues a copy from this device's memory to the peer's; reaches(peer) holds. Where the peer is lost, the error
    /// is the peer's.
    virtual void copy_to_peer(StreamRole stream, Device& peer, const Copy& copy) = 0;
    /// Enqueues a hop of a relay on the stream `relay`: a kernel that copies a buffer from this device's memory to the
    /// peer's, each chunk as soon as the hop that `before` comes from has brought it. It tells the next hop, if there
    /// is one, which relays the same bytes on from `peer`. The copy is contiguous, both its addresses are multiples of
    /// 16; tuning().links.relay is the same for all hops, with at least one block; reaches(peer) holds. Hops are
    /// enqueued in their order, by one thread, and one relay at a time in the process. A kernel that hears nothing for
    /// about 20 s, as behind a lost device, ends in an error. Where the peer is lost, the error is the peer's.
    /// `before` is empty for the first hop, whose buffer is there; the result is empty for the last.
    virtual std::optional<RelayMark> relay_to_peer(Device& peer, const Copy& copy,
                                                   const std::optional<RelayMark>& before, RelayEnd end) = 0;
    /// Calls `kernel` with the stream: at once on a GPU, where the kernel launches; in the stream's turn on an emulated
    /// device, where the kernel computes. It must stay callable until the next recorded ticket is reached.
    virtual void launch(StreamRole stream, std::function<void(Stream)> kernel) = 0;

    /// `noticed` is called where something fails in its stream's turn and the device goes on, before anything begins
    /// that waits for it: on emulated devices, on the stream's thread. It is given the work in hand (see WorkInHand)
    /// of the thread that enqueued what fails, while the exception is handled. Set before anything is enqueued.
    virtual void on_failure(const std::function<void(void* work)>& /*noticed*/) {}

    /// Marks the present end of the stream. time_of() can be asked for timed tickets.
    virtual Ticket record(StreamRole stream, Timing timing) = 0;
    /// Whether the stream has reached the ticket. Throws DeviceError for failures on the way, each once.
    virtual bool reached(StreamRole stream, Ticket ticket) = 0;
    /// Whether its compute streams have reached their newest tickets, so that it has nothing to compute as far as is
    /// known. Throws DeviceError. Any thread may ask.
    virtual bool is_idle() = 0;
    /// When the stream reached a timed ticket, in nanoseconds of std::chrono::steady_clock; the ticket was reached, and
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

/// Enqueues a copy on `stream` of the device: to the peer where there is one, and otherwise between the host and the
/// device. Does nothing for an empty copy.
void enqueue_copy(Device& device, StreamRole stream, const Copy& copy, Device* peer = nullptr);

/// Emulated devices, numbered from 0.
std::vector<std::unique_ptr<Device>> make_emulated_devices(const Emulation& emulation,
                                                           const TuningTables& tables = TuningTables::built_in());

/// The GPUs that CUDA_VISIBLE_DEVICES leaves, at most `limit` of them; none without a driver, or if the library was
/// built without CUDA.
std::vector<std::unique_ptr<Device>> make_cuda_devices(int limit,
                                                       const TuningTables& tables = TuningTables::built_in());

}  // namespace basalt::detail
