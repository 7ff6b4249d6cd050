#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "basalt/access.hpp"
#include "basalt/runtime.hpp"

namespace basalt {

namespace detail {

enum class Storage : std::uint8_t {
    owned,     ///< allocated (zeroed) and freed by the runtime; write-only accesses may rename it
    borrowed,  ///< the user's memory: never renamed, never freed
    pinned,    ///< part of a larger object, such as a matrix, which owns the memory
    scratch,   ///< as pinned; when a task writes some rows, the other rows lose their contents
    none,      ///< no bytes: a token, which orders tasks
};

class DataRegistry;

/// Waits for the tasks that use the datum, and for no others, then forgets it. A task that uses the datum itself cannot
/// wait for that; memory that the runtime owns is then freed after its last user. Does nothing where the runtime has
/// ended, since that has released the datum already.
void destroy_datum(DataRegistry& registry, Datum* datum, std::uint32_t generation) noexcept;
/// A name of the form "stem#number" for data without one.
std::string default_name(const char* stem);

/// Owns the registration of a datum. Movable, not copyable. The registration ends with the handle or with the runtime,
/// whichever ends first; the datum's place in memory stays readable, and its generation tells.
class DatumHandle {
  public:
    DatumHandle() = default;
    DatumHandle(DataRegistry& registry, Datum* datum, std::uint32_t generation)
        : registry_(&registry), datum_(datum), generation_(generation) {}
    DatumHandle(DatumHandle&& other) noexcept
        : registry_(other.registry_), datum_(std::exchange(other.datum_, nullptr)), generation_(other.generation_) {}
    DatumHandle& operator=(DatumHandle&& other) noexcept {
        if (this != &other) {
            reset();
            registry_ = other.registry_;
            datum_ = std::exchange(other.datum_, nullptr);
            generation_ = other.generation_;
        }
        return *this;
    }
    ~DatumHandle() { reset(); }

    void reset() noexcept {
        if (datum_ != nullptr) destroy_datum(*registry_, datum_, generation_);
        datum_ = nullptr;
    }
    Datum* get() const { return datum_; }
    std::uint32_t generation() const { return generation_; }
    /// The registration is somebody else's from now on.
    void detach() noexcept { datum_ = nullptr; }
    /// Valid as long as the datum is registered.
    DataRegistry* registry() const { return registry_; }

  private:
    DataRegistry* registry_ = nullptr;
    Datum* datum_ = nullptr;
    std::uint32_t generation_ = 0;
};

/// Registers `rows` x `cols` elements of `element_size` bytes. `base` is the memory unless it is owned.
/// `name`, which is copied, shows up in errors. Throws std::bad_alloc or UsageError.
DatumHandle create_datum(Runtime& runtime, void* base, std::size_t element_size, Index rows, std::int32_t cols,
                         Storage storage, std::string_view name);
/// Registers a value of the user's own type, in the host's memory. The runtime keeps it until its last user has
/// completed.
DatumHandle create_object(Runtime& runtime, std::shared_ptr<void> value, std::string_view name);
/// The same for a column-major array of the user's, `rows` x `cols`, element (i, j) at base[i + j * ld]. Its columns
/// are the datum's rows.
DatumHandle create_columns(Runtime& runtime, void* base, std::size_t element_size, Index rows, Index cols, Index ld,
                           Storage storage, std::string_view name);
/// The most columns of a datum, that is rows of an array in columns.
inline constexpr Index most_datum_columns = Index{1} << 28;
/// Data in the memory of another one, see Partition: a block for each pair of neighbours in `row_cuts` and in
/// `col_cuts`, row by row. The cuts are of the datum's rows and columns; they ascend and begin and end with its first
/// and its last one. Throws std::bad_alloc or UsageError.
struct BlockHandles {
    void* base;  ///< of the whole datum, in the host's memory
    std::vector<DatumHandle> blocks;
};
BlockHandles split_datum(const DatumHandle& whole, const std::vector<Index>& row_cuts,
                         const std::vector<Index>& col_cuts);
/// Waits for every task submitted so far that uses the datum; returns its memory. Throws UsageError for an
/// empty handle, after the end of the runtime, and inside a task that did not create the datum.
void* wait_datum(const DatumHandle& handle);
/// The same for a caller that writes all of the datum: its contents count as valid, whatever became of its users.
void* wait_datum_to_overwrite(const DatumHandle& handle);
/// The datum ends after its last user, without a wait; the handle is empty afterwards. Throws UsageError for
/// memory of the user's.
void release_datum_when_unused(DatumHandle& handle);

}  // namespace detail

}  // namespace basalt
