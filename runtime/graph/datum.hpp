#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

#include "base/host_memory.hpp"
#include "runtime/graph/access_map.hpp"
#include "runtime/graph/residency.hpp"

namespace basalt::detail {

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
/// version lies right behind it, so that all of it can be fetched from memory at once.
struct alignas(64) Datum {
    Index rows = 0;
    std::int32_t cols = 0;
    bool renameable = false;
    bool scratch = false;
    bool borrowed = false;  ///< the user's own memory, where the contents belong in the end
    /// The program order that keeps `Version::accesses`, by its number: that of a finished one is never used again.
    std::uint64_t home_order = 0;
    Version* current = &first;  ///< guarded by the home order's lock
    const char* name = "";
    std::size_t element_size = 0;

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

    /// A retired version has lost its last user.
    void take_back(HostBuffer buffer);
    /// The current version has lost its last user and the program has forgotten the datum: it deletes itself,
    /// now or when the last retired version is back.
    void give_up();

    std::size_t bytes() const { return element_size * static_cast<std::size_t>(rows) * static_cast<std::size_t>(cols); }
};

}  // namespace basalt::detail
