#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "basalt/array.hpp"
#include "runtime/engine/submission.hpp"
#include "runtime/engine/waiting.hpp"

namespace basalt::detail {

/// Registers data with the runtime, waits for their users, and forgets them. Thread-safe.
class DataRegistry {
  public:
    /// `coherence`: nullptr where there are no GPUs.
    DataRegistry(TaskGraph& graph, Submission& submission, Waiting& waiting, const Coherence* coherence)
        : graph_(graph), submission_(submission), waiting_(waiting), coherence_(coherence) {}

    /// See create_datum() in basalt/array.hpp.
    Datum* create(void* base, std::size_t element_size, Index rows, std::int32_t cols, Storage storage,
                  std::string_view name);
    /// See destroy_datum() there; the datum is registered here.
    void destroy(Datum* datum) noexcept;
    /// At the runtime's end, outside of tasks: the same for all data that are still registered.
    void release_all() noexcept;
    /// Waits for every task submitted so far that uses the datum; its contents are in the host's memory then. Throws
    /// UsageError inside a task that did not create it, DeviceError where the contents did not come home, and DataError
    /// where there are none.
    void wait(Datum& datum);
    /// The same for a caller that will write all of the contents itself: they count as valid.
    void wait_to_overwrite(Datum& datum);

  private:
    Scope& home_of(const Datum& datum);
    Scope& check_may_wait(const Datum& datum);
    bool used_around_here(const Datum& datum) const;
    bool may_wait_here(const Datum& datum);
    void wait_at_home(Datum& datum, Scope& home, Submission::Contents contents);
    void destroy_when_unused(Datum* datum, Scope& home);

    TaskGraph& graph_;
    Submission& submission_;
    Waiting& waiting_;
    const Coherence* const coherence_;
};

}  // namespace basalt::detail
