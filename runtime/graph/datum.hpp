#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/host_memory.hpp"
#include "base/spin_lock.hpp"
#include "runtime/graph/access_map.hpp"
#include "runtime/graph/partitions.hpp"
#include "runtime/graph/residency.hpp"

namespace basalt::detail {

class TaskGraph;

/// When the tasks submitted so far are expected to have used the contents, in nanoseconds of the steady clock; for
/// policies that look ahead (PlacePlan). 0: long ago.
struct ExpectedUse {
    std::int64_t written = 0;       ///< as a whole
    std::int64_t part_written = 0;  ///< in parts
    std::int64_t read = 0;
};

/// One incarnation of a datum's contents: its memory and who uses it. A datum has one, and more while
/// renaming lets writers overtake the users of older contents.
struct Version {
    AccessMap accesses;  ///< as the datum's home order sees it; guarded by its lock
    void* base = nullptr;
    Datum* datum = nullptr;
    HostBuffer owned;  ///< empty for memory of the user's
    /// Where the contents are; none as long as no device has used them. Guarded by the root scope's lock.
    std::unique_ptr<Residency> residency;
    ExpectedUse expected;     ///< guarded by the root scope's lock
    Version* next = nullptr;  ///< on a VersionList

    /// The contents are not needed any more, so they are not worth a transfer. Under the root scope's lock.
    void abandon() {
        if (residency) residency->abandon();
    }
};

/// Versions in the order in which they came; each is on one list at most. Not synchronised.
class VersionList {
  public:
    bool empty() const { return first_ == nullptr; }
    Version& front() { return *first_; }
    void push_back(Version& version) {
        version.next = nullptr;
        (empty() ? first_ : last_->next) = &version;
        last_ = &version;
    }
    Version& pop_front() { return *std::exchange(first_, first_->next); }

  private:
    Version* first_ = nullptr;
    Version* last_ = nullptr;
};

/// What the runtime knows of one contiguous allocation. What every access needs comes first, and the first
/// version lies right behind it, so that all of it can be fetched from memory at once. Its place in memory is the
/// DatumPool's and stays readable. With an odd number of cache lines (448 bytes with libstdc++) the lines that every
/// access needs lie in all sets of the caches.
struct alignas(64) Datum {
    Index rows = 0;
    std::int32_t cols = 0;
    bool renameable = false;
    bool scratch = false;
    bool borrowed = false;  ///< the user's own memory, where the contents belong in the end
    /// A block, or an array that was cut into blocks: see ArrayBlocks. Guarded by the home order's lock.
    bool shares_memory = false;
    /// The program order that keeps `Version::accesses`, by its number: that of a finished one is never used again.
    std::uint64_t home_order = 0;
    Version* current = &first;  ///< guarded by the home order's lock
    std::size_t element_size = 0;
    const TaskGraph* graph = nullptr;  ///< of the runtime that registered it
    /// Which of the place's tenants this is, see DatumPool. Changed by the thread that registers the datum or gives it
    /// up; a thread that submits at the same time may see the old one or the new one.
    std::atomic<std::uint32_t> generation{0};
    /// A task that uses the oldest of `former`, when there were as many versions as there may be: before it has
    /// completed none is free, unless some are unused. Guarded by the home order's lock.
    TaskRef in_use_by{};
    bool may_have_unused = false;  ///< there may be versions in `unused`

    alignas(64) Version first;
    /// Other versions that renaming has made, and those that were current and have no residency, oldest first: their
    /// users may still run, and a task that needs a version looks whether they do. Guarded by the home order's lock.
    std::vector<std::unique_ptr<Version>> further;
    VersionList former;
    std::shared_ptr<void> object;  ///< a value of the user's own type, which tasks find at the version's base

    void prefetch() const {
        const auto* begin = reinterpret_cast<const char*>(this);
        for (std::size_t line = 0; line < 4; ++line) __builtin_prefetch(begin + 64 * line);
    }

    SpinLock retired_lock;     // guards what follows, which the tasks that retire a version change
    VersionList unused;        ///< versions without users
    int retired_versions = 0;  ///< for whose last users tasks of the runtime's own wait
    bool given_up = false;
    bool left = false;  ///< see DatumPool::leave_all(); guarded by the pool's lock

    std::string name;  ///< for errors

    // -- of blocks, of arrays that are cut into blocks, and of memory with a leading dimension
    Index ld = 0;              ///< elements from one row to the next in the host's memory; elsewhere there are `cols`
    Version* whole = nullptr;  ///< of a block: its array, which has one version as long as it is cut
    Index first_row = 0;       ///< of a block, in its array
    Index first_col = 0;
    bool by_columns = false;  ///< the rows are what the user calls columns
    /// In program order, the last user of the memory used it through this datum. Guarded by the home order's lock, as
    /// is what follows.
    bool is_current = false;
    std::unique_ptr<Partitions> partitions;  ///< of an array

    /// Whether the program has the datum. Relaxed: the generation orders nothing.
    bool is_registered() const { return (generation.load(std::memory_order_relaxed) & 1) != 0; }
    bool is(std::uint32_t tenant) const { return generation.load(std::memory_order_relaxed) == tenant; }
    /// From now on accesses to the datum are refused.
    void end_registration() { generation.fetch_add(1, std::memory_order_relaxed); }
    /// Frees what it owns; as new afterwards, but for name, graph and generation.
    void forget_contents() noexcept;

    /// It only orders tasks.
    bool is_token() const { return element_size == 0; }
    /// Whether its rows do not follow each other in the host's memory.
    bool strided() const { return ld != cols && rows > 1; }
    /// Its elements as those of the array that it is a block of, or of itself.
    ArrayPart part_of_whole() const { return {first_row, first_row + rows, first_col, first_col + cols}; }
    /// " rows [0, 4) columns [1, 2)" as the program counts them, without the columns where there is one; empty for a
    /// token and an object.
    std::string text_of(const ArrayPart& part) const;
    /// A block's name, and which part of its array it is; otherwise the name.
    std::string label() const;
    std::size_t row_bytes() const { return element_size * static_cast<std::size_t>(cols); }
    std::size_t bytes() const { return row_bytes() * static_cast<std::size_t>(rows); }
};

}  // namespace basalt::detail
