#pragma once

#include <utility>

#include "basalt/array.hpp"
#include "runtime/engine/runtime_access.hpp"
#include "runtime/memory/host_pool.hpp"

namespace basalt::detail {

/// An array of the runtime's own in memory that GPUs copy to and from at full speed. Never renamed.
template <class T>
class PinnedArray {
  public:
    PinnedArray() = default;
    /// Contents are undefined. Throws std::bad_alloc, DeviceError.
    PinnedArray(Runtime& runtime, Index size, const char* name)
        : size_(size),
          memory_(pinned_memory(runtime), static_cast<std::size_t>(size) * sizeof(T)),
          datum_(create_datum(runtime, memory_.data(), sizeof(T), size, 1, Storage::pinned, name)) {}

    PinnedArray(PinnedArray&& other) noexcept = default;
    PinnedArray& operator=(PinnedArray&& other) noexcept {
        PinnedArray former(std::move(other));  // ends as a whole: first the datum, then the memory
        std::swap(size_, former.size_);
        std::swap(memory_, former.memory_);
        std::swap(datum_, former.datum_);
        return *this;
    }
    ~PinnedArray() = default;

    Region<T> region() const { return rows(0, size_); }
    Region<T> rows(Index begin, Index end) const {
        return {datum_.get(), datum_.generation(), begin, end, 0, 1, begin, end - begin, 1, 1, size_};
    }

    /// Array::host_view() and Array::host_overwrite().
    View<T> host_view() const { return View<T>(static_cast<T*>(wait_datum(datum_)), size_); }
    View<T> host_overwrite() const { return View<T>(static_cast<T*>(wait_datum_to_overwrite(datum_)), size_); }

  private:
    Index size_ = 0;
    PooledBuffer memory_;
    DatumHandle datum_;  // after the memory: its destruction waits before the memory goes
};

}  // namespace basalt::detail
