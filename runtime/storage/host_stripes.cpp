#include "runtime/storage/host_stripes.hpp"

#include "runtime/engine/gpu_data.hpp"
#include "runtime/engine/runtime_access.hpp"

namespace basalt::detail {

std::unique_lock<std::mutex> HostStripes::begin(Index elements, StripePath path) {
    const bool through_host = path == StripePath::through_host;
    std::unique_lock guard(lock_);
    if (elements_ >= elements && (path_ == StripePath::through_host || !through_host)) return guard;
    const auto gpus = static_cast<std::size_t>(runtime_.gpus());
    const std::size_t count = gpus * buffers_a_gpu;
    const std::size_t bytes = static_cast<std::size_t>(elements) * element_size_;
    clear();
    if (through_host) {
        pinned_ = PooledBuffer(pinned_memory(runtime_), count * bytes);
    } else {
        addresses_ = HostBuffer(count * bytes);
    }
    auto* memory = static_cast<std::byte*>(through_host ? pinned_.data() : addresses_.data());
    for (std::size_t b = 0; b < count; ++b) {
        buffers_.push_back(
            create_datum(runtime_, memory + b * bytes, element_size_, elements, 1, Storage::scratch, "stripe"));
    }
    taken_.assign(gpus, 0);
    elements_ = elements;
    path_ = path;
    return guard;
}

void HostStripes::clear() {
    buffers_.clear();  // waits for their users
    pinned_ = PooledBuffer();
    addresses_ = HostBuffer();
    elements_ = 0;
}

const DatumHandle& HostStripes::next_buffer(int gpu) {
    const auto g = static_cast<std::size_t>(gpu);
    return buffers_[g * buffers_a_gpu + taken_[g]++ % buffers_a_gpu];
}

void HostStripes::done(const Datum* buffer) const { gpu_data(runtime_).abandon(*buffer); }

}  // namespace basalt::detail
