#pragma once

// Devices to test, emulated ones or GPUs, and memory of theirs.

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "basalt/tuning.hpp"
#include "runtime/device/device.hpp"
#include "runtime/device/stream_points.hpp"

namespace basalt_tests {

using basalt::DeviceError;
using basalt::detail::Copy;
using basalt::detail::Device;
using basalt::detail::RelayEnd;
using basalt::detail::RelayMark;
using basalt::detail::Spans;
using basalt::detail::StreamRole;
using basalt::detail::Ticket;
using basalt::detail::Timing;

/// Devices to test, and a kernel for them.
struct Machine {
    std::vector<std::unique_ptr<Device>> devices;
    /// Sets `bytes` bytes of the device's memory to `value`, in the stream's turn.
    std::function<void(basalt::Stream, void*, int value, std::size_t bytes)> fill;
    /// Keeps the stream, in its turn, until the gate is open.
    std::function<void(basalt::Stream, const std::atomic<bool>* open)> hold{};

    Device& operator[](std::size_t i) const { return *devices[i]; }
    std::size_t size() const { return devices.size(); }
};

inline void await(Device& device, StreamRole stream, Ticket ticket) {
    while (!device.reached(stream, ticket)) std::this_thread::yield();
}

/// Keeps a stream from now on until it is opened, or at the latest destroyed.
class StreamGate {
  public:
    StreamGate(const Machine& machine, Device& device, StreamRole stream) {
        device.launch(stream, [&hold = machine.hold, open = &open_](basalt::Stream s) { hold(s, open); });
    }
    ~StreamGate() { open(); }
    StreamGate(const StreamGate&) = delete;
    StreamGate& operator=(const StreamGate&) = delete;

    void open() {
        open_ = true;
        open_.notify_all();
    }

  private:
    std::atomic<bool> open_{false};
};

/// Memory of a device for the length of a test.
class Buffer {
  public:
    Buffer(Device& device, std::size_t bytes) : device_(device), memory_(device.allocate(bytes)) {}
    ~Buffer() { device_.release(memory_); }
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;
    std::byte* get() const { return static_cast<std::byte*>(memory_); }

  private:
    Device& device_;
    void* memory_;
};

/// Host memory with its pages for itself, fit for being pinned.
class HostPages {
  public:
    explicit HostPages(std::size_t bytes)
        : bytes_(bytes), memory_(std::aligned_alloc(page, (bytes + page - 1) / page * page)) {}
    ~HostPages() { std::free(memory_); }
    HostPages(const HostPages&) = delete;
    HostPages& operator=(const HostPages&) = delete;
    std::byte* get() const { return static_cast<std::byte*>(memory_); }
    std::size_t size() const { return bytes_; }

  private:
    static constexpr std::size_t page = 4096;
    std::size_t bytes_;
    void* memory_;
};

using Bytes = std::vector<std::byte>;

inline Bytes ramp(std::size_t bytes, unsigned first) {
    Bytes values(bytes);
    for (std::size_t i = 0; i < bytes; ++i) values[i] = static_cast<std::byte>((first + 7 * i) & 0xFF);
    return values;
}

/// Waits for all that has been enqueued, then brings the bytes home.
inline Bytes contents(Device& device, const void* memory, std::size_t bytes) {
    device.synchronize();
    Bytes values(bytes);
    device.copy(StreamRole::to_host, {.to = values.data(), .from = memory, .row_bytes = bytes});
    await(device, StreamRole::to_host, device.record(StreamRole::to_host, Timing::untimed));
    return values;
}

inline void put(Device& device, void* memory, const Bytes& values) {
    device.copy(StreamRole::from_host, {.to = memory, .from = values.data(), .row_bytes = values.size()});
    await(device, StreamRole::from_host, device.record(StreamRole::from_host, Timing::untimed));
}

inline void launch_fill(const Machine& machine, Device& device, StreamRole stream, void* memory, int value,
                        std::size_t bytes) {
    if (bytes == 0) return;
    device.launch(stream,
                  [&fill = machine.fill, memory, value, bytes](basalt::Stream s) { fill(s, memory, value, bytes); });
}

/// Tables by which devices relay what goes round a ring of them, small buffers too.
inline basalt::TuningTables relaying_tables() {
    basalt::TuningTables tables = basalt::TuningTables::built_in();
    for (basalt::GpuTuning& gpu : tables.gpus) {
        gpu.links.least_ring_bytes = 4096;
        gpu.links.relay = {.blocks = 4, .warps = 3, .chunk_bytes = 1024};
    }
    return tables;
}

}  // namespace basalt_tests
