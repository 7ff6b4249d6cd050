#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/host_memory.hpp"
#include "runtime/graph/access_map.hpp"
#include "runtime/graph/residency.hpp"

namespace basalt::detail {

class TaskGraph;

/// One incarnation of a datum's contents: its memory and who uses it. A datum has one, and more while
/// renaming lets writers overtake the users of older contents.
struct Version {
    AccessMap accesses;  ///< as the datum's home order sees it; guarded by its lock
    void* base = nullptr;
    Datum* datum = nullptr;
    HostBuffer owned;  ///< empty for memory of the user's
    /// Where the contents are; none as long as no device has used them. Guarded by the root scope's lock.
    std::unique_ptr<Residency> residency;

    /// The contents are not needed any more, so they are not worth a transfer. Under the root scope's lock.
    void abandon() {
        if (residency) residency->abandon();
    }
};

/// What the runtime knows of one contiguous allocation. What every access needs comes first, and the first
/// version lies right behind it, so that all of it can be fetched from memory at once. Its place in memory is the
/// DatumPool's and stays readable.
struct alignas(64) Datum {
    Index rows = 0;
    std::int32_t cols = 0;
    bool renameable = false;
    bool scratch = false;
    bool borrowed = false;  ///< the user's own memory, where the contents belong in the end
    /// The program order that keeps `Version::accesses`, by its number: that of a finished one is never used again.
    std::uint64_t home_order = 0;
    Version* current = &first;  ///< guarded by the home order's lock
    std::size_t element_size = 0;
    const TaskGraph* graph = nullptr;  ///< of the runtime that registered it
    /// Which of the place's tenants this is, see DatumPool. Changed by the thread that registers the datum or gives it
    /// up; a thread that submits at the same time may see the old one or the new one.
    std::atomic<std::uint32_t> generation{0};

    alignas(64) Version first;
    std::unique_ptr<Version> renamed;  ///< owns *current once that is no longer `first`

    void prefetch() const {
        const auto* begin = reinterpret_cast<const char*>(this);
        for (std::size_t line = 0; line < 4; ++line) __builtin_prefetch(begin + 64 * line);
    }

    std::mutex retired_lock;  // guards what follows, which the tasks that retire a version change
    std::vector<HostBuffer> spare_buffers;
    int retired_versions = 0;
    bool given_up = false;

    std::string name;  ///< for errors

    /// Whether the program has the datum. Relaxed: the generation orders nothing.
    bool is_registered() const { return (generation.load(std::memory_order_relaxed) & 1) != 0; }
    bool is(std::uint32_t tenant) const { return generation.load(std::memory_order_relaxed) == tenant; }
    /// From now on accesses to the datum are refused.
    void end_registration() { generation.fetch_add(1, std::memory_order_relaxed); }
    /// Frees what it owns; as new afterwards, but for name, graph and generation.
    void forget_contents() noexcept;

    std::size_t bytes() const { return element_size * static_cast<std::size_t>(rows) * static_cast<std::size_t>(cols); }
};

}  // namespace basalt::detail
