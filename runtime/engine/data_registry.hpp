#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "basalt/datum_handle.hpp"
#include "runtime/engine/submission.hpp"
#include "runtime/engine/waiting.hpp"

namespace basalt::detail {

/// Registers data with the runtime, waits for their users, and forgets them. Thread-safe.
class DataRegistry {
  public:
    /// `coherence`: nullptr where there are no GPUs.
    DataRegistry(TaskGraph& graph, Submission& submission, ArrayBlocks& blocks, Waiting& waiting,
                 const Coherence* coherence)
        : graph_(graph), submission_(submission), blocks_(blocks), waiting_(waiting), coherence_(coherence) {}

    /// Elements as create_datum() and create_columns() in basalt/datum_handle.hpp describe them.
    struct Elements {
        void* base;
        std::size_t element_size;
        Index rows;
        std::int32_t cols;
        Index ld;
        bool by_columns = false;  ///< the rows are what the user calls columns
    };
    Datum* create(const Elements& elements, Storage storage, std::string_view name);
    /// See create_object() there.
    Datum* create_object(std::shared_ptr<void> value, std::string_view name);
    /// See split_datum() there. Throws UsageError inside a task that did not create the datum.
    std::vector<Datum*> split(Datum& datum, const Cuts& cuts);
    /// See destroy_datum() there; the datum is registered here. A block is not waited for.
    void destroy(Datum* datum) noexcept;
    /// See release_datum_when_unused() there.
    void release_when_unused(Datum& datum);
    /// At the runtime's end, outside of tasks: the same for all data that are still registered.
    void release_all() noexcept;
    /// Waits for every task submitted so far that uses the datum; its contents are in the host's memory then. Throws
    /// UsageError inside a task that did not create it, DeviceError where the contents did not come home, and DataError
    /// where there are none.
    void wait(Datum& datum);
    /// The same for a caller that will write all of the contents itself: they count as valid.
    void wait_to_overwrite(Datum& datum);
    /// Runtime::invalidate() for the record's datum.
    void invalidate(const AccessRecord& record);

  private:
    Scope& home_of(const Datum& datum);
    Scope& check_may_wait(const Datum& datum);
    bool used_around_here(const Datum& datum) const;
    bool may_wait_here(const Datum& datum);
    void wait_at_home(Datum& datum, Scope& home, Submission::Contents contents);
    bool abandon_if_unused(Datum& datum, Scope& home);
    void destroy_when_unused(Datum* datum, Scope& home);
    void destroy_block(Datum& block);
    void give_up(Datum* datum);
    void make_current(Datum& datum, Scope& home, Submission::Contents contents);
    void end_registration(Datum& datum, Scope& home);
    DatumOwner make_block(const Datum& whole, const ArrayPart& part, const std::string& name) const;

    TaskGraph& graph_;
    Submission& submission_;
    ArrayBlocks& blocks_;
    Waiting& waiting_;
    const Coherence* const coherence_;
};

}  // namespace basalt::detail
