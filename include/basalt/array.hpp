#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "basalt/access.hpp"
#include "basalt/datum_handle.hpp"
#include "basalt/partition.hpp"
#include "basalt/runtime.hpp"

namespace basalt {

/// A one-dimensional array of `size` elements that tasks may access: one datum.
///
/// An array that the runtime owns starts zeroed. A task that overwrites all of it never waits for earlier users: it
/// gets fresh storage (renaming). Destruction waits for the tasks that use it. Movable, not copyable; a moved-from or
/// released array has size 0 and is like one made by Array(). Thread-safe like Runtime::submit. T is trivially copyable
/// and aligned to 256 bytes at most. Its memory is aligned to alignof(T) and, where it is at least as long, to a cache
/// line.
///
/// An array may outlive its runtime. The runtime's end waits for the tasks, brings the contents of a wrapped array to
/// the user's memory, and frees an owned one. Afterwards host_view() throws UsageError, and so does the submission of a
/// task that accesses the array to any runtime. Destruction does nothing more.
template <class T>
class Array {
    static_assert(std::is_trivially_copyable_v<T>, "the runtime moves data as bytes");
    static_assert(alignof(T) <= 256, "elements may be aligned to 256 bytes at most, which is what GPUs' memory is");

  public:
    Array() = default;
    Array(Array&& other) noexcept : handle_(std::move(other.handle_)), size_(std::exchange(other.size_, 0)) {}
    Array& operator=(Array&& other) noexcept {
        if (this == &other) return *this;
        handle_ = std::move(other.handle_);
        size_ = std::exchange(other.size_, 0);
        return *this;
    }
    ~Array() = default;

    /// `size` >= 0 elements owned by the runtime. `name`, which is copied, appears in errors; nullptr: "array#number".
    /// Throws std::bad_alloc, UsageError.
    Array(Runtime& runtime, Index size, const char* name = nullptr)
        : Array(runtime, nullptr, size, detail::Storage::owned, name) {}

    /// Borrows `size` elements of the user's memory until release() or destruction; never renamed. After a wait()
    /// outside of tasks, in the time until the next submission, the user's memory holds the array's contents and may be
    /// read and written directly; tasks submitted afterwards see what was written there. Where a GPU was lost that had
    /// the contents, or their copy failed, every graph's next wait() throws DataError, unless it has another error to
    /// throw. Tasks on GPUs copy the array there once more after each wait(): data that stay on GPUs belong into an
    /// array that the runtime owns.
    static Array wrap(Runtime& runtime, T* data, Index size, const char* name = nullptr) {
        return Array(runtime, data, size, detail::Storage::borrowed, name);
    }

    Index size() const { return size_; }

    /// All of the array.
    Region<T> region() const { return rows(0, size_); }

    /// Elements [begin, end). Tasks on disjoint parts are independent, but copies between memories move the whole
    /// array: where several GPUs, or GPUs and cores, work on parts at the same time, use the blocks of split().
    Region<T> rows(Index begin, Index end) const {
        if (begin < 0 || end < begin || end > size_) throw_out_of_range(begin, end);
        return {handle_.get(), handle_.generation(), begin, end, 0, 1, begin, end - begin, 1, 1, size_};
    }

    /// Cuts the array into `blocks` nearly equal blocks that GPUs and cores use at the same time, see Partition. From
    /// then on tasks that overwrite the array wait for its users. Waits for nothing. Throws UsageError unless
    /// 1 <= blocks <= size(), and inside a task that did not make the array.
    Partition<T> split(Index blocks) const { return cut(detail::equal_cuts("Array::split", "blocks", blocks, size_)); }
    /// The same with blocks that begin at 0 and at each of `cuts`, which ascend: 0 < cut < size().
    Partition<T> split_at(std::vector<Index> cuts) const {
        return cut(detail::checked_cuts("Array::split_at", "cuts", std::move(cuts), size_));
    }

    /// Waits for the tasks that use the array and returns its elements for the host to write, all of them. This is also
    /// how the user's own memory becomes valid again after a task failed that should have written it. What was there is
    /// lost; failed tasks that should have written the array are made good.
    View<T> host_overwrite() const { return View<T>(static_cast<T*>(detail::wait_datum_to_overwrite(handle_)), size_); }

    /// Waits for the tasks that use the array and returns its elements, in the host's memory. Throws DataError where
    /// they have no valid contents: a task that should have written them failed or was cancelled, or a GPU was lost
    /// that held the only copy.
    View<T> host_view() const { return View<T>(static_cast<T*>(detail::wait_datum(handle_)), size_); }

    /// Waits for the tasks that use the array, then gives it up. The memory of a wrapped array belongs to the user
    /// again. That it does not hold the array's contents is only logged here: wait() before tells.
    void release() {
        handle_.reset();
        size_ = 0;
    }

    /// Gives up an array that the runtime owns, without waiting: its memory is freed behind the last task that uses
    /// it. For temporaries. Throws UsageError for wrapped arrays, whose memory the program could not use safely.
    void release_when_unused() {
        if (handle_.get() != nullptr) detail::release_datum_when_unused(handle_);
        size_ = 0;
    }

  private:
    Array(Runtime& runtime, T* data, Index size, detail::Storage storage, const char* name)
        : handle_(detail::create_datum(runtime, data, sizeof(T), size, 1, storage,
                                       name != nullptr ? std::string(name) : detail::default_name("array"))),
          size_(size) {}

    Partition<T> cut(const std::vector<Index>& cuts) const {
        return Partition<T>(handle_, detail::ElementOrder::line, size_, cuts, {0, 1});
    }

    [[noreturn]] void throw_out_of_range(Index begin, Index end) const {
        throw UsageError("Array::rows(" + std::to_string(begin) + ", " + std::to_string(end) +
                         "): allowed is 0 <= begin <= end <= " + std::to_string(size_));
    }

    detail::DatumHandle handle_;
    Index size_ = 0;
};

}  // namespace basalt
