#pragma once

#include <cstddef>
#include <utility>

#include "basalt/access.hpp"
#include "basalt/runtime.hpp"

namespace basalt {

namespace detail {

enum class Storage : std::uint8_t {
    owned,     ///< allocated (zeroed) and freed by the runtime; write-only accesses may rename it
    borrowed,  ///< the user's memory: never renamed, never freed
    pinned,    ///< part of a larger object, such as a matrix, which owns the memory
    scratch,   ///< as pinned; when a task writes some rows, the other rows lose their contents
};

class DataRegistry;

/// Waits for the tasks that use the datum, and for no others, then forgets it. A task that uses the datum itself cannot
/// wait for that; memory that the runtime owns is then freed after its last user.
void destroy_datum(DataRegistry& registry, Datum* datum) noexcept;
/// A name of the form "stem#number" for data without one; lives as long as the program.
const char* default_name(const char* stem);

/// Owns the registration of a datum. Movable, not copyable.
class DatumHandle {
  public:
    DatumHandle() = default;
    DatumHandle(DataRegistry& registry, Datum* datum) : registry_(&registry), datum_(datum) {}
    DatumHandle(DatumHandle&& other) noexcept
        : registry_(std::exchange(other.registry_, nullptr)), datum_(std::exchange(other.datum_, nullptr)) {}
    DatumHandle& operator=(DatumHandle&& other) noexcept {
        if (this != &other) {
            reset();
            registry_ = std::exchange(other.registry_, nullptr);
            datum_ = std::exchange(other.datum_, nullptr);
        }
        return *this;
    }
    ~DatumHandle() { reset(); }

    void reset() noexcept {
        if (datum_ != nullptr) destroy_datum(*registry_, datum_);
        datum_ = nullptr;
    }
    Datum* get() const { return datum_; }
    DataRegistry* registry() const { return registry_; }

  private:
    DataRegistry* registry_ = nullptr;
    Datum* datum_ = nullptr;
};

/// Registers `rows` x `cols` elements of `element_size` bytes. `base` is the memory unless it is owned.
/// `name` shows up in errors. Throws std::bad_alloc or UsageError.
DatumHandle create_datum(Runtime& runtime, void* base, std::size_t element_size, Index rows, std::int32_t cols,
                         Storage storage, const char* name);
/// Waits for every task submitted so far that uses the datum; returns its memory. Throws UsageError for an
/// empty handle, and inside a task that did not create the datum.
void* wait_datum(const DatumHandle& handle);
/// The same for a caller that writes all of the datum: its contents count as valid, whatever became of its users.
void* wait_datum_to_overwrite(const DatumHandle& handle);

}  // namespace detail

/// A one-dimensional array of `size` elements that tasks may access: one datum.
///
/// An array that the runtime owns starts zeroed. A task that overwrites all of it never waits for earlier users: it
/// gets fresh storage (renaming). Destruction waits for the tasks that use it. Movable, not copyable. Thread-safe like
/// Runtime::submit; T is trivially copyable.
template <class T>
class Array {
    static_assert(std::is_trivially_copyable_v<T>, "the runtime moves data as bytes");

  public:
    Array() = default;

    /// `size` >= 0 elements owned by the runtime. Throws std::bad_alloc, UsageError.
    Array(Runtime& runtime, Index size, const char* name = nullptr)
        : Array(runtime, nullptr, size, detail::Storage::owned, name) {}

    /// Borrows `size` elements of the user's memory until release() or destruction; never renamed.
    static Array wrap(Runtime& runtime, T* data, Index size, const char* name = nullptr) {
        return Array(runtime, data, size, detail::Storage::borrowed, name);
    }

    Index size() const { return size_; }

    /// All of the array.
    Region<T> region() const { return rows(0, size_); }

    /// Elements [begin, end). Tasks on disjoint parts are independent.
    Region<T> rows(Index begin, Index end) const {
        if (begin < 0 || end < begin || end > size_) throw_out_of_range(begin, end);
        return {handle_.get(), begin, end, 0, 1, begin, end - begin, 1, 1, size_};
    }

    /// Waits for the tasks that use the array and returns its elements for the host to write, all of them. What was
    /// there is lost; failed tasks that should have written the array are made good.
    View<T> host_overwrite() const { return View<T>(static_cast<T*>(detail::wait_datum_to_overwrite(handle_)), size_); }

    /// Waits for the tasks that use the array and returns its elements, in the host's memory. Throws DataError where
    /// they have no valid contents: a task that should have written them failed or was cancelled, or a GPU was lost
    /// that held the only copy.
    View<T> host_view() const { return View<T>(static_cast<T*>(detail::wait_datum(handle_)), size_); }

    /// Waits for the tasks that use the array, then gives it up. The memory of a wrapped array belongs to the user
    /// again.
    void release() {
        handle_.reset();
        size_ = 0;
    }

  private:
    Array(Runtime& runtime, T* data, Index size, detail::Storage storage, const char* name)
        : handle_(detail::create_datum(runtime, data, sizeof(T), size, 1, storage,
                                       name != nullptr ? name : detail::default_name("array"))),
          size_(size) {}

    [[noreturn]] void throw_out_of_range(Index begin, Index end) const {
        throw UsageError("Array::rows(" + std::to_string(begin) + ", " + std::to_string(end) +
                         "): allowed is 0 <= begin <= end <= " + std::to_string(size_));
    }

    detail::DatumHandle handle_;
    Index size_ = 0;
};

}  // namespace basalt
