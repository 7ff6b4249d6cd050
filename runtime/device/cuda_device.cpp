#include "runtime/device/cuda_device.hpp"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <string_view>
#include <utility>

#include "base/gpu_architectures.hpp"
#include "runtime/device/cuda_check.hpp"
#include "runtime/device/device_error.hpp"

namespace basalt::detail {

namespace {

/// Rows without gaps are copied as one row.
Copy as_one_row_where_possible(Copy copy) {
    if (copy.rows > 1 && copy.to_pitch == copy.row_bytes && copy.from_pitch == copy.row_bytes) {
        copy.row_bytes *= copy.rows;
        copy.rows = 1;
    }
    return copy;
}

bool launches_block() {
    const char* const setting = std::getenv("CUDA_LAUNCH_BLOCKING");
    return setting != nullptr && std::string_view(setting) == "1";
}

}  // namespace

template <class F>
auto CudaDevice::guarded(const char* call, const F& calls, std::source_location where) const {
    if (lost()) {
        const std::lock_guard lock(mutex_);
        throw device_error(index_, name_, call, "the device is lost: " + why_lost_, DeviceFault::device_lost, where);
    }
    try {
        return calls();
    } catch (const CudaFailure& failure) {
        const bool lost_now = failure.sticky && context_is_spoilt();
        const DeviceError error = device_error(index_, name_, failure.call, failure.why,
                                               lost_now                ? DeviceFault::device_lost
                                               : failure.out_of_memory ? DeviceFault::out_of_memory
                                                                       : DeviceFault::call_failed,
                                               failure.where);
        if (lost_now) mark_lost(error.what());
        throw error;
    }
}

template <class F>
auto CudaDevice::guarded_with(const CudaDevice& peer, const F& calls) const {
    peer.guarded("call that concerns this peer", [] {});
    try {
        return calls();
    } catch (const DeviceError&) {
        peer.notice_if_lost();
        throw;
    }
}

bool CudaDevice::context_is_spoilt() const noexcept {
    const CudaStream* const any_stream = stream_if_there(StreamRole::compute);
    if (any_stream == nullptr) return true;
    const CurrentDevice current(index_);
    const cudaError_t status = cudaStreamQuery(any_stream->native());
    static_cast<void>(cudaGetLastError());
    return is_sticky(status);
}

bool CudaDevice::notice_if_lost() const noexcept {
    if (!lost() && context_is_spoilt()) mark_lost("its calls fail since another GPU met an error");
    return lost();
}

void CudaDevice::mark_lost(const char* what) const noexcept {
    const std::lock_guard lock(mutex_);
    if (why_lost_.empty()) why_lost_ = what;
    lost_.store(true, std::memory_order_release);
}

CudaDevice::CudaDevice(int index, int devices, std::shared_ptr<PinnedRanges> pinned, const TuningTables& tables)
    : index_(index),
      name_("gpu " + std::to_string(index)),
      pinned_(std::move(pinned)),
      devices_(devices),
      launches_block_(launches_block()),
      reached_peers_(static_cast<std::size_t>(devices)) {
    const CurrentDevice current(index);
    guarded("initialisation", [&] {
        cudaDeviceProp properties{};
        check_cuda(cudaGetDeviceProperties(&properties, index), "cudaGetDeviceProperties");
        model_ = properties.name;
        memory_bytes_ = properties.totalGlobalMem;
        architecture_ = "sm_" + std::to_string(properties.major) + std::to_string(properties.minor);
        multiprocessors_ = properties.multiProcessorCount;
        if (const std::string why = why_no_code_for(architecture_); !why.empty())
            throw device_error(index_, name_, "initialisation", model_ + ": " + why, {});
        tuning_ = tables.for_gpu(architecture_);
        for (int role = 0; role < named_streams; ++role) make_stream(static_cast<StreamRole>(role));
        relay_.emplace(tuning_.links.relay, index, devices);
        clock_.emplace();
        for (const StreamRole role : {StreamRole::compute, StreamRole::urgent_compute}) {
            // its own workspace would be allocated when a kernel first needs it
            stream(role).make_blas(tuning_.blas_workspace_bytes);
        }
    });
}

void CudaDevice::make_stream(StreamRole role) {
    owned_streams_.push_back(std::make_unique<CudaStream>(index_, multiprocessors_, role, devices_));
    CudaStream& stream = *owned_streams_.back();
    stream.set_tuning(&tuning_);
    if (computes(role)) {
        libraries_.push_back(std::make_unique<Libraries>(*this, stream));
        stream.set_libraries(libraries_.back().get());
    }
    streams_[static_cast<std::size_t>(role)].store(&stream, std::memory_order_release);
}

void* CudaDevice::Libraries::blas() {
    if (stream_.blas() == nullptr)
        device_.guarded("cublasCreate", [&] { stream_.make_blas(device_.tuning_.blas_workspace_bytes); });
    return stream_.blas();
}

void* CudaDevice::Libraries::solver() {
    if (!solver_) device_.guarded("cusolverDnCreate", [&] { solver_.emplace(stream_.native()); });
    return solver_->handle();
}

bool CudaDevice::open(StreamRole stream) noexcept {
    if (stream_if_there(stream) != nullptr) return true;
    try {
        const CurrentDevice current(index_);
        guarded("making a stream", [&] { make_stream(stream); });
        return true;
    } catch (const std::exception&) {  // kernels go on the streams that are there; a lost device says so elsewhere
        return false;
    }
}

CudaDevice::~CudaDevice() {
    const CurrentDevice current(index_);
    synchronize();
    for (auto& stream : streams_) stream.store(nullptr, std::memory_order_release);
    libraries_.clear();
    owned_streams_.clear();
    relay_.reset();
    clock_.reset();
}

void CudaDevice::enable_access_to(const CudaDevice& peer) {
    const CurrentDevice current(index_);
    guarded("cudaDeviceEnablePeerAccess", [&] {
        int possible = 0;
        check_cuda(cudaDeviceCanAccessPeer(&possible, index_, peer.index_), "cudaDeviceCanAccessPeer");
        if (possible == 0) return;
        const cudaError_t status = cudaDeviceEnablePeerAccess(peer.index_, 0);
        if (status == cudaErrorPeerAccessAlreadyEnabled) {
            // by another Runtime; compute-sanitizer lists it as an error
            static_cast<void>(cudaGetLastError());
        } else {
            check_cuda(status, "cudaDeviceEnablePeerAccess");
        }
        reached_peers_[static_cast<std::size_t>(peer.index_)] = true;
    });
}

std::size_t CudaDevice::free_bytes() const {
    const CurrentDevice current(index_);
    return guarded("cudaMemGetInfo", [&] {
        std::size_t free = 0;
        std::size_t all = 0;
        check_cuda(cudaMemGetInfo(&free, &all), "cudaMemGetInfo");
        return free;
    });
}

bool CudaDevice::reaches(const Device& peer) const {
    return !peer.emulated() && reached_peers_[static_cast<std::size_t>(peer.index())];
}

void* CudaDevice::allocate(std::size_t bytes) {
    const CurrentDevice current(index_);
    return guarded("allocate", [&] {
        void* memory = nullptr;
        const std::string call = "cudaMalloc of " + std::to_string(bytes) + " bytes";
        if (bytes > 0) check_cuda(cudaMalloc(&memory, bytes), call.c_str());
        return memory;
    });
}

void CudaDevice::release(void* memory) noexcept {
    if (memory == nullptr) return;
    const CurrentDevice current(index_);
    try_cuda(cudaFree(memory), "cudaFree");
}

void CudaDevice::pin(void* host_memory, std::size_t bytes) {
    const CurrentDevice current(index_);
    guarded("cudaHostRegister", [&] {
        if (bytes == 0) return;
        pinned_->pin(host_memory, bytes, [&] {
            const cudaError_t status = cudaHostRegister(host_memory, bytes, cudaHostRegisterPortable);
            if (status == cudaErrorHostMemoryAlreadyRegistered) {
                static_cast<void>(cudaGetLastError());
                return false;
            }
            check_cuda(status, "cudaHostRegister");
            return true;
        });
    });
}

void CudaDevice::unpin(void* host_memory) noexcept {
    const CurrentDevice current(index_);
    pinned_->unpin(host_memory, [&] { try_cuda(cudaHostUnregister(host_memory), "cudaHostUnregister"); });
}

bool CudaDevice::is_pinned(const void* host_memory, std::size_t bytes) const noexcept {
    const auto known_to_cuda = [](const void* address) {
        cudaPointerAttributes attributes{};
        return try_cuda(cudaPointerGetAttributes(&attributes, address), "cudaPointerGetAttributes") &&
               attributes.type == cudaMemoryTypeHost;
    };
    return bytes > 0 && known_to_cuda(host_memory) &&
           known_to_cuda(static_cast<const std::byte*>(host_memory) + bytes - 1);
}

void CudaDevice::attach_thread() {
    guarded("cudaSetDevice", [&] { check_cuda(cudaSetDevice(index_), "cudaSetDevice"); });
}

void CudaDevice::wait_for(StreamRole stream, Device& other, StreamRole other_stream, Ticket ticket) {
    guarded("cudaStreamWaitEvent", [&] {
        if (other.lost()) return;  // what it will not do any more is not waited for
        auto& awaited = static_cast<CudaDevice&>(other);
        try {
            this->stream(stream).wait_for(awaited.stream(other_stream), other.index(), other_stream, ticket);
        } catch (const CudaFailure& failure) {
            if (!failure.sticky || !awaited.notice_if_lost()) throw;  // it was not known yet
        }
    });
}

void CudaDevice::enqueue_copy(const char* call, StreamRole role, const Copy& copy, cudaMemcpyKind kind) {
    guarded(call, [&] {
        const Copy flat = as_one_row_where_possible(copy);
        if (flat.rows == 0 || flat.row_bytes == 0) return;
        cudaStream_t queue = stream(role).native();
        if (flat.rows == 1) {
            check_cuda(cudaMemcpyAsync(flat.to, flat.from, flat.row_bytes, kind, queue), call);
        } else {
            check_cuda(cudaMemcpy2DAsync(flat.to, flat.to_pitch, flat.from, flat.from_pitch, flat.row_bytes, flat.rows,
                                         kind, queue),
                       call);
        }
    });
}

void CudaDevice::copy(StreamRole stream, const Copy& copy) {
    const bool inwards = stream == StreamRole::from_host;
    if (copy.rows > 0 && copy.row_bytes > 0 && stage(stream, as_one_row_where_possible(copy))) return;
    enqueue_copy(inwards ? "cudaMemcpyAsync from the host" : "cudaMemcpyAsync to the host", stream, copy,
                 inwards ? cudaMemcpyHostToDevice : cudaMemcpyDeviceToHost);
}

/// False where CUDA copies by itself without holding up the thread, where there is too much to copy, or no memory can
/// be pinned.
bool CudaDevice::stage(StreamRole role, const Copy& copy) {
    const bool inwards = role == StreamRole::from_host;
    return guarded("copy of host memory that is not pinned", [&] {
        CudaStaging& staging = staging_[static_cast<std::size_t>(role)];
        if (!CudaStaging::wants(copy, inwards ? copy.from : copy.to) || !staging.ready()) return false;
        if (inwards) {
            staging.from_host(stream(role).native(), copy);
        } else {
            staging.to_host(stream(role).native(), copy);
        }
        return true;
    });
}

void CudaDevice::copy_within(StreamRole stream, const Copy& copy) {
    enqueue_copy("cudaMemcpyAsync within the device", stream, copy, cudaMemcpyDeviceToDevice);
}

void CudaDevice::copy_to_peer(StreamRole stream, Device& peer, const Copy& copy) {
    guarded_with(static_cast<const CudaDevice&>(peer), [&] {
        enqueue_copy("cudaMemcpyAsync to a peer", stream, copy,
                     cudaMemcpyDefault);  // CUDA knows where both sides lie
    });
}

std::optional<RelayMark> CudaDevice::relay_to_peer(Device& peer, const Copy& copy,
                                                   const std::optional<RelayMark>& before, RelayEnd end) {
    auto& target = static_cast<CudaDevice&>(peer);
    const CurrentDevice current(index_);
    return guarded_with(target, [&] {
        return guarded("relay to a peer", [&] {
            CudaRelay* const next = end == RelayEnd::last ? nullptr : &*target.relay_;
            return relay_->enqueue(copy, before, next, stream(StreamRole::relay).native());
        });
    });
}

void CudaDevice::launch(StreamRole stream, std::function<void(Stream)> kernel) {
    const CurrentDevice current(index_);
    guarded("launch", [&] {
        static_cast<void>(cudaGetLastError());  // what an earlier call left is not this kernel's
        try {
            kernel(Stream(&this->stream(stream).context()));
        } catch (const std::exception& error) {
            // perhaps a call of the kernel's met the fault of an earlier one
            if (context_is_spoilt()) mark_lost(error.what());
            throw;
        }
        check_cuda(cudaGetLastError(), "kernel launch");  // of a kernel<<<>>> whose error was not asked for
    });
}

Ticket CudaDevice::record(StreamRole stream, Timing timing) {
    return guarded("cudaEventRecord", [&] { return this->stream(stream).record(timing); });
}

bool CudaDevice::reached(StreamRole stream, Ticket ticket) {
    return guarded("cudaEventQuery", [&] { return this->stream(stream).reached(ticket); });
}

bool CudaDevice::is_idle() {
    return guarded("cudaEventQuery", [&] {
        for (int role = 0; role < stream_roles; ++role) {
            CudaStream* const stream = stream_if_there(static_cast<StreamRole>(role));
            if (stream == nullptr || !computes(static_cast<StreamRole>(role))) continue;
            if (!stream->reached(stream->recorded())) return false;
        }
        return true;
    });
}

std::int64_t CudaDevice::time_of(StreamRole stream, Ticket ticket) {
    const CurrentDevice current(index_);
    return guarded("cudaEventElapsedTime", [&] {
        cudaEvent_t event = this->stream(stream).timed_event(ticket);
        if (event == nullptr) check_cuda(cudaErrorInvalidValue, "time_of");
        return clock_->host_time(event);
    });
}

std::int64_t CudaDevice::host_time_of(std::int64_t timer) {
    const CurrentDevice current(index_);
    return guarded("reading the device's timer", [&] { return clock_->host_time_of_timer(timer); });
}

void CudaDevice::synchronize() noexcept {
    for (int role = 0; role < stream_roles; ++role) {
        const CudaStream* const stream = stream_if_there(static_cast<StreamRole>(role));
        if (stream == nullptr) continue;
        const cudaError_t status = cudaStreamSynchronize(stream->native());
        if (!try_cuda(status, "cudaStreamSynchronize") && is_sticky(status) && context_is_spoilt())
            mark_lost(cudaGetErrorString(status));
    }
}

std::vector<std::unique_ptr<Device>> make_cuda_devices(int limit, const TuningTables& tables) {
    int count = 0;
    // without a driver or a visible GPU this is an error; for us it is none
    if (!try_cuda(cudaGetDeviceCount(&count), "cudaGetDeviceCount")) return {};
    count = std::min(count, limit);
    const auto pinned = std::make_shared<PinnedRanges>();
    std::vector<std::unique_ptr<CudaDevice>> devices;
    for (int index = 0; index < count; ++index)
        devices.push_back(std::make_unique<CudaDevice>(index, count, pinned, tables));
    for (const auto& device : devices) {
        for (const auto& peer : devices) {
            if (device != peer) device->enable_access_to(*peer);
        }
    }
    return {std::make_move_iterator(devices.begin()), std::make_move_iterator(devices.end())};
}

}  // namespace basalt::detail
