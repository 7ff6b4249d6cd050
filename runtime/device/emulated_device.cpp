#include "runtime/device/emulated_device.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "runtime/device/device_error.hpp"

namespace basalt::detail {

namespace {

/// Bytes between the first and the last one of a side.
std::size_t extent(const Copy& copy, std::size_t pitch) { return (copy.rows - 1) * pitch + copy.row_bytes; }

bool is_empty(const Copy& copy) { return copy.rows == 0 || copy.row_bytes == 0; }

void copy_rows(const Copy& copy) {
    auto* to = static_cast<std::byte*>(copy.to);
    const auto* from = static_cast<const std::byte*>(copy.from);
    for (std::size_t row = 0; row < copy.rows; ++row) {
        std::memmove(to + row * copy.to_pitch, from + row * copy.from_pitch, copy.row_bytes);
    }
}

bool fails_here(const Emulation& emulation, int device) {
    return !emulation.failing_gpu || *emulation.failing_gpu == device;
}

}  // namespace

EmulatedHost::EmulatedHost(int devices, std::size_t memory) {
    for (int device = 0; device < devices; ++device) memories_.push_back(std::make_unique<EmulatedMemory>(memory));
}

bool EmulatedHost::on_a_device(const void* begin, std::size_t bytes) const {
    for (const auto& memory : memories_) {
        if (memory->touches(begin, bytes)) return true;
    }
    return false;
}

EmulatedDevice::Queue::Queue(const std::string& name, std::chrono::nanoseconds longest_delay, std::uint64_t seed,
                             const std::atomic<bool>& lost, int devices)
    : stream(name, longest_delay, seed, lost), awaited(static_cast<std::size_t>(devices * stream_roles)) {}

EmulatedDevice::EmulatedDevice(int index, const Emulation& emulation, std::shared_ptr<EmulatedHost> host,
                               const TuningTables& tables)
    : index_(index),
      name_("gpu " + std::to_string(index)),
      speed_(emulation, index),
      model_(speed_.model()),
      architecture_(emulation.architecture),
      tuning_(speed_.tuning(tables.for_gpu(architecture_))),
      context_{.device = index, .emulated = true, .tuning = &tuning_},
      peer_access_(emulation.peer_access),
      failures_are_sticky_(emulation.failures_are_sticky),
      host_(std::move(host)),
      memory_(host_->memory(index)),
      allocations_{fails_here(emulation, index) ? emulation.failing_allocation : 0},
      copies_{fails_here(emulation, index) ? emulation.failing_copy : 0},
      kernels_{fails_here(emulation, index) ? emulation.failing_kernel : 0},
      faulting_kernel_(fails_here(emulation, index) ? emulation.faulting_kernel : 0),
      told_(static_cast<std::size_t>(emulation.gpus)),
      seed_(emulation.seed + static_cast<std::uint64_t>(index) * stream_roles),
      longest_delay_(emulation.longest_delay),
      devices_(emulation.gpus) {
    for (int device = 0; device < emulation.gpus; ++device) told_by_.push_back(std::make_shared<Timeline>());
    for (int role = 0; role < named_streams; ++role) make_queue(static_cast<StreamRole>(role));
}

void EmulatedDevice::make_queue(StreamRole role) {
    auto queue = std::make_unique<Queue>("stream " + name_of(role) + " of " + name_ + ", which is emulated",
                                         longest_delay_, seed_ + static_cast<std::uint64_t>(role), lost_, devices_);
    queue->stream.on_failure([this](void* work) { notice_failure(work); });
    // of the streams that are always there, the runtime counts those that compute
    if (static_cast<int>(role) >= named_streams) queue->buffers.emplace(1);
    owned_.push_back(std::move(queue));
    queues_[static_cast<std::size_t>(role)].store(owned_.back().get(), std::memory_order_release);
}

bool EmulatedDevice::open(StreamRole stream) noexcept {
    if (queue_if_there(stream) != nullptr) return true;
    try {
        make_queue(stream);
        return true;
    } catch (const std::exception&) {  // no more threads, or no room for what they need
        return false;
    }
}

EmulatedDevice::~EmulatedDevice() = default;

bool EmulatedDevice::reaches(const Device& peer) const { return peer_access_ && peer.emulated() && &peer != this; }

DeviceError EmulatedDevice::error(const char* call, const std::string& why, DeviceFault fault,
                                  std::source_location where) const {
    return device_error(index_, name_, call, why, fault, where);
}

void EmulatedDevice::check_alive(const char* call, std::source_location where) const {
    if (!lost()) return;
    const std::lock_guard lock(mutex_);
    throw error(call, "the device is lost: " + why_lost_, DeviceFault::device_lost, where);
}

DeviceError EmulatedDevice::injected(const char* call, std::uint64_t number, DeviceFault fault) {
    return error(call, "call " + std::to_string(number) + " fails, as the emulation was asked for",
                 failures_are_sticky_ ? DeviceFault::device_lost : fault);
}

void EmulatedDevice::mark_lost(const char* why) {
    const std::lock_guard lock(mutex_);
    if (why_lost_.empty()) why_lost_ = why;
    lost_.store(true, std::memory_order_release);
}

void EmulatedDevice::fail_in_call(const DeviceError& failure) {
    if (failure.sticky()) mark_lost(failure.what());
    throw failure;
}

/// The work in hand learns of its failure before others learn that the device is lost.
void EmulatedDevice::notice_failure(void* work) {
    if (failure_noticed_) failure_noticed_(work);
    try {
        throw;
    } catch (const DeviceError& error) {
        if (error.sticky()) mark_lost(error.what());
    } catch (...) {  // a kernel threw: the device goes on
    }
}

void* EmulatedDevice::allocate(std::size_t bytes) {
    check_alive("allocate");
    const std::uint64_t number = ++allocations_.calls;
    if (allocations_.fails_now(number)) fail_in_call(injected("allocate", number, DeviceFault::out_of_memory));
    void* memory = memory_.allocate(bytes);
    if (memory == nullptr && bytes > 0) {
        const std::string wanted = std::to_string(bytes) + " bytes";
        const bool too_many = bytes > free_bytes();
        throw error("allocate",
                    too_many ? wanted + " do not fit, " + std::to_string(free_bytes()) + " of " +
                                   std::to_string(memory_bytes()) + " are free"
                             : "the host has no room for " + wanted +
                                   " of an emulated GPU: the address space limit (ulimit -v) or its number of "
                                   "mappings (vm.max_map_count) is reached",
                    DeviceFault::out_of_memory);
    }
    return memory;
}

void EmulatedDevice::release(void* memory) noexcept {
    if (memory == nullptr) return;
    ++releases_;
    memory_.release(memory);
}

void EmulatedDevice::pin(void* host_memory, std::size_t bytes) {
    check_alive("pin");
    if (bytes == 0) return;
    if (host_->on_a_device(host_memory, bytes)) throw error("pin", "this is device memory");
    host_->pinned().pin(host_memory, bytes, [] { return true; });
}

void EmulatedDevice::unpin(void* host_memory) noexcept {
    host_->pinned().unpin(host_memory, [] {});
}

bool EmulatedDevice::is_pinned(const void* host_memory, std::size_t bytes) const noexcept {
    return host_->pinned().hold(host_memory, bytes);
}

void EmulatedDevice::wait_for(StreamRole stream, Device& other, StreamRole other_stream, Ticket ticket) {
    check_alive("wait_for");
    auto& producer = static_cast<EmulatedDevice&>(other).queue(other_stream).stream;
    if (ticket > producer.recorded()) throw error("wait_for", "the ticket has not been recorded");
    Queue& waiting = queue(stream);
    const std::size_t pair =
        static_cast<std::size_t>(other.index()) * stream_roles + static_cast<std::size_t>(other_stream);
    const std::lock_guard lock(waiting.mutex);
    Ticket& awaited = waiting.awaited[pair];
    if (&producer == &waiting.stream || ticket <= awaited || producer.timeline()->reached() >= ticket) {
        ++waits_dropped_;
        return;
    }
    awaited = ticket;
    ++waits_;
    waiting.stream.enqueue_wait(producer.timeline(), ticket);
}

void EmulatedDevice::check_side(const char* call, const Copy& copy, const Side& side) const {
    const std::size_t bytes = extent(copy, side.pitch);
    if (side.memory == nullptr) {
        if (host_->on_a_device(side.begin, bytes)) throw error(call, "the host's side is device memory");
    } else if (!side.memory->holds(side.begin, bytes)) {
        throw error(call, "the device's side is not inside an allocation of that device");
    }
}

void EmulatedDevice::enqueue_copy(const char* call, StreamRole stream, const Copy& copy, EmulatedMemory* to,
                                  EmulatedMemory* from, std::atomic<std::uint64_t>& counter,
                                  std::function<void()> move) {
    check_alive(call);
    if (is_empty(copy)) return;
    if (copy.rows > 1 && (copy.to_pitch < copy.row_bytes || copy.from_pitch < copy.row_bytes)) {
        throw error(call, "the rows overlap");
    }
    const Side to_side{copy.to, copy.to_pitch, to};
    const Side from_side{copy.from, copy.from_pitch, from};
    const auto check = [this, call, copy, to_side, from_side] {
        check_side(call, copy, to_side);
        check_side(call, copy, from_side);
    };
    check();
    ++counter;
    bytes_copied_ += copy.rows * copy.row_bytes;
    // once more in its turn: the memory may have been released too early
    enqueue(stream, call, copies_, [this, check, copy, move = std::move(move)] {
        check();
        const auto begin = EmulatedSpeed::Clock::now();
        move ? move() : copy_rows(copy);
        speed_.end_copy(begin, copy.rows * copy.row_bytes);
    });
}

EmulatedMemory& EmulatedDevice::memory_of(const char* call, const Device& peer) const {
    if (!reaches(peer)) throw error(call, name_ + " does not reach " + peer.name());
    static_cast<const EmulatedDevice&>(peer).check_alive(call);
    return host_->memory(peer.index());
}

void EmulatedDevice::enqueue(StreamRole stream, const char* call, Injection& injection, std::function<void()> work) {
    const std::uint64_t number = ++injection.calls;
    if (!injection.fails_now(number)) return queue(stream).stream.enqueue(std::move(work));
    if (number % 2 == 0) fail_in_call(injected(call, number));
    queue(stream).stream.enqueue([this, call, number] { throw injected(call, number); });
}

void EmulatedDevice::copy(StreamRole stream, const Copy& copy) {
    if (stream == StreamRole::from_host) {
        enqueue_copy("copy from the host", stream, copy, &memory_, nullptr, copies_from_host_);
    } else if (stream == StreamRole::to_host) {
        enqueue_copy("copy to the host", stream, copy, nullptr, &memory_, copies_to_host_);
    } else {
        throw error("copy", "the " + name_of(stream) + " stream has no direction");
    }
}

void EmulatedDevice::copy_within(StreamRole stream, const Copy& copy) {
    enqueue_copy("copy_within", stream, copy, &memory_, &memory_, copies_within_);
}

void EmulatedDevice::copy_to_peer(StreamRole stream, Device& peer, const Copy& copy) {
    enqueue_copy("copy_to_peer", stream, copy, &memory_of("copy_to_peer", peer), &memory_, copies_to_peers_);
}

std::optional<RelayMark> EmulatedDevice::relay_to_peer(Device& peer, const Copy& copy,
                                                       const std::optional<RelayMark>& before, RelayEnd end) {
    constexpr const char* call = "relay_to_peer";
    EmulatedMemory& memory = memory_of(call, peer);
    if (copy.rows != 1 || !fit_for_relays(copy)) throw error(call, "with gaps, or not at multiples of 16");
    const std::size_t chunk = tuning_.links.relay.chunk_bytes;
    const std::uint64_t chunks = (copy.row_bytes + chunk - 1) / chunk;
    const auto arrived = before ? told_by(before->device) : nullptr;
    const auto copied = end == RelayEnd::last ? nullptr : static_cast<EmulatedDevice&>(peer).told_by(index_);

    std::uint64_t& told = told_[static_cast<std::size_t>(peer.index())];
    const RelayMark mark{index_, told};
    if (end == RelayEnd::passed_on) told += chunks;
    enqueue_copy(call, StreamRole::relay, copy, &memory, &memory_, relays_to_peers_, [=] {
        for (std::uint64_t i = 0; i < chunks; ++i) {
            if (arrived) arrived->await(before->base + i + 1);
            const std::size_t begin = i * chunk;
            std::memmove(static_cast<std::byte*>(copy.to) + begin, static_cast<const std::byte*>(copy.from) + begin,
                         std::min(chunk, copy.row_bytes - begin));
            if (copied) copied->advance(mark.base + i + 1);
        }
    });
    // where that is left out or fails, so that nothing waits for it
    if (copied) queue(StreamRole::relay).stream.enqueue_always([=] { copied->advance(mark.base + chunks); });
    return end == RelayEnd::passed_on ? std::optional(mark) : std::nullopt;
}

void EmulatedDevice::launch(StreamRole stream, std::function<void(Stream)> kernel) {
    check_alive("launch");
    if (faulting_kernel_ != 0 && kernels_.calls + 1 == faulting_kernel_) {  // only the driver launches
        ++kernels_.calls;
        return queue(stream).stream.enqueue([this] {
            silent_.store(true, std::memory_order_relaxed);
            mark_lost(error("launch", "a kernel faulted, as the emulation was asked for").what());
        });
    }
    enqueue(stream, "launch", kernels_, [this, kernel = std::move(kernel)] {
        try {
            const auto begin = EmulatedSpeed::Clock::now();
            kernel(Stream(&context_));
            speed_.end_kernel(begin);
        } catch (const std::exception&) {
            throw;
        } catch (...) {
            throw error("launch", "a kernel threw something that is no std::exception");
        }
    });
}

void EmulatedDevice::on_failure(const std::function<void(void* work)>& noticed) { failure_noticed_ = noticed; }

Ticket EmulatedDevice::record(StreamRole stream, Timing timing) {
    check_alive("record");
    ++records_;
    return queue(stream).stream.record(timing);
}

bool EmulatedDevice::reached(StreamRole stream, Ticket ticket) {
    check_alive("reached");
    EmulatedStream& asked = queue(stream).stream;
    if (asked.timeline()->reached() < ticket) return false;
    if (const std::exception_ptr failure = asked.take_failure(ticket)) std::rethrow_exception(failure);
    return true;
}

bool EmulatedDevice::is_idle() {
    check_alive("is_idle");
    for (int role = 0; role < stream_roles; ++role) {
        const Queue* queue = queue_if_there(static_cast<StreamRole>(role));
        if (queue == nullptr || !computes(static_cast<StreamRole>(role))) continue;
        if (queue->stream.timeline()->reached() < queue->stream.recorded()) return false;
    }
    return true;
}

std::int64_t EmulatedDevice::time_of(StreamRole stream, Ticket ticket) {
    check_alive("time_of");
    const auto time = queue(stream).stream.time_of(ticket);
    if (!time) throw error("time_of", "the ticket was not timed, not reached yet, or is too old");
    return *time;
}

void EmulatedDevice::synchronize() noexcept {
    for (int role = 0; role < stream_roles; ++role) {
        if (Queue* const queue = queue_if_there(static_cast<StreamRole>(role))) queue->stream.drain();
    }
}

EmulatedStatistics EmulatedDevice::statistics() const {
    return {.bytes_allocated = memory_.used(),
            .peak_bytes = memory_.peak(),
            .allocations = allocations_.calls,
            .releases = releases_,
            .copies_from_host = copies_from_host_,
            .copies_to_host = copies_to_host_,
            .copies_within = copies_within_,
            .copies_to_peers = copies_to_peers_,
            .relays_to_peers = relays_to_peers_,
            .bytes_copied = bytes_copied_,
            .kernels = kernels_.calls,
            .records = records_,
            .waits = waits_,
            .waits_dropped = waits_dropped_};
}

std::vector<std::unique_ptr<Device>> make_emulated_devices(const Emulation& emulation, const TuningTables& tables) {
    const auto host = std::make_shared<EmulatedHost>(emulation.gpus, emulation.memory);
    std::vector<std::unique_ptr<Device>> devices;
    for (int index = 0; index < emulation.gpus; ++index) {
        devices.push_back(std::make_unique<EmulatedDevice>(index, emulation, host, tables));
    }
    return devices;
}

}  // namespace basalt::detail
