#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/spin_lock.hpp"
#include "runtime/graph/task_pool.hpp"

namespace basalt::detail {

/// Which tasks were submitted last in each slot, for messages about those in flight: a thread that does not run a task
/// may not read the task itself, which may end meanwhile. Costs some 20 ns a task. Thread-safe.
class Diary {
  public:
    /// What a task does with a datum.
    struct Use {
        const Datum* datum = nullptr;
        std::uint32_t generation = 0;
        AccessMode mode = AccessMode::read;
    };
    struct Entry {
        TaskRef task;
        std::uint64_t number = 0;  ///< in the order of submission
        const char* name = nullptr;
        TileIndex tile;
        std::array<Use, Task::inline_accesses> uses;  ///< the first ones
        std::uint32_t accesses = 0;                   ///< all of them

        /// "update(3,4)", as task_label().
        std::string label() const;
        /// "read x, write y, ...".
        std::string uses_text() const;
        /// The data that both use, as far as they are noted: "x, y".
        std::string common_data(const Entry& other) const;
    };

    Diary();
    ~Diary();
    Diary(const Diary&) = delete;
    Diary& operator=(const Diary&) = delete;

    /// The task is being submitted; under its order's lock.
    void note(const Task& task);
    /// The task's entry, unless another one has taken its slot.
    std::optional<Entry> find(TaskRef task) const;
    /// The newest entries of all slots, by number; most of the tasks may have completed.
    std::vector<Entry> all() const;

  private:
    struct Chunk {
        mutable SpinLock lock;  // guards the entries
        std::array<Entry, TaskPool::chunk_slots> entries;
    };
    Chunk& chunk_of(std::uint32_t slot);

    static constexpr std::size_t chunks = TaskPool::max_slots / TaskPool::chunk_slots;
    /// Made when their first slot is used; then they stay.
    std::unique_ptr<std::array<std::atomic<Chunk*>, chunks>> chunks_;
    std::atomic<std::uint64_t> next_number_{1};
};

}  // namespace basalt::detail
