#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/graph/task_group.hpp"

namespace basalt::detail {

class Reduction;

/// Receives the hazards of a task under submission: makes it wait for another task, tells whether a task has
/// completed, and replaces several tasks by one node.
class DependencySink {
  public:
    virtual void depend_on(TaskRef predecessor) = 0;
    virtual bool completed(TaskRef task) const = 0;
    virtual TaskRef join(const TaskGroup& tasks) = 0;
    /// The task behind which the reduction's result is in its region. No task joins the reduction any more.
    virtual TaskRef close(Reduction& reduction) = 0;

  protected:
    ~DependencySink() = default;
};

/// How a task used a region: as one of several that may do so in any order, or alone.
enum class Use : bool { shared, exclusive };

/// Adds a task to those that share a region, and keeps their list short.
void add_to_group(TaskGroup& group, TaskRef task, DependencySink& sink);

/// Who used each region of one datum last, as one scope sees it: the source of all hazards.
///
/// The datum is cut into bands of columns and each band into segments of rows, as finely as the accesses so far demand.
/// Segments that one task overwrites together are merged again. A segment remembers the last exclusive access and the
/// shared group since then: readers, or commuting tasks. Hazards follow: a reader waits for the last writer (RaW); a
/// writer waits for the readers since (WaR), or for the last writer when there were none (WaW); commuting tasks wait
/// for the last writer and stand to readers and writers as a group. So do tasks that reduce, but the group is that of
/// the Reduction, and its next user waits for the task that closes it.
///
/// Not synchronised: the lock of the submitting scope guards it.
class AccessMap {
  public:
    /// Records that `task` uses the region and reports its hazards to `sink`.
    void record(TaskRef task, const BoundAccess& access, DependencySink& sink);

    /// Whether that task is the last one that wrote the region, as far as that is known without a search.
    bool last_written_by(TaskRef task, const AccessRecord& region) const {
        return used_ && !cut_ && only_.reduction == nullptr && only_.writer == task &&
               only_.begin == region.row_begin && only_.end == region.row_end && only_begin_ == region.col_begin &&
               only_end_ == region.col_end;
    }
    /// No task uses the datum. Keeps the memory.
    void clear() {
        used_ = cut_ = false;
        only_.writer = {};
        only_.reduction.reset();
        only_.group.clear();
        bands_.clear();
    }

    /// Whether a part belongs to a reduction.
    bool in_reduction() const {
        const auto reduced = [](const Segment& segment) { return segment.reduction != nullptr; };
        if (!cut_) return used_ && reduced(only_);
        return std::any_of(bands_.begin(), bands_.end(), [&](const Band& band) {
            return std::any_of(band.segments.begin(), band.segments.end(), reduced);
        });
    }

    /// Whether the predicate holds for one of the tasks that a writer of everything would wait for, some of which may
    /// have completed, or whether a part belongs to a reduction.
    template <class Predicate>
    bool any_user(const Predicate& predicate) const {
        const auto in_segment = [&](const Segment& segment) {
            if (segment.reduction != nullptr) return true;
            if (segment.group.empty()) return segment.writer.valid() && predicate(segment.writer);
            return std::any_of(segment.group.begin(), segment.group.end(), predicate);
        };
        if (!cut_) return used_ && in_segment(only_);
        return std::any_of(bands_.begin(), bands_.end(), [&](const Band& band) {
            return std::any_of(band.segments.begin(), band.segments.end(), in_segment);
        });
    }

    /// The reduction, perhaps closed, in which the region's first element is; nullptr where it is in none.
    std::shared_ptr<Reduction> reduction_at(const BoundAccess& region) const;
    /// From now on the region belongs to a reduction. Returns what its tasks wait for, those that used the region
    /// before; an invalid reference where there are none.
    TaskRef open(const BoundAccess& region, const std::shared_ptr<Reduction>& reduction, DependencySink& sink);

    /// visit(task, use) for every task that is recorded: those that used any region last, perhaps completed.
    template <class F>
    void for_each_user(const F& visit) const {
        const auto visit_segment = [&](const Segment& segment) {
            if (segment.writer.valid()) visit(segment.writer, Use::exclusive);
            const Use use = segment.commuting ? Use::exclusive : Use::shared;
            for (const TaskRef member : segment.group) visit(member, use);
        };
        if (!cut_) {
            if (used_) visit_segment(only_);
            return;
        }
        for (const Band& band : bands_) {
            for (const Segment& segment : band.segments) visit_segment(segment);
        }
    }

    /// visit(task) for those with which a task would commute that commutes on the region now: tasks, and what joins
    /// several of them.
    template <class F>
    void for_each_commuting(const BoundAccess& region, const F& visit) const {
        const auto visit_segment = [&](const Segment& segment) {
            if (!segment.commuting || segment.end <= region.row_begin || region.row_end <= segment.begin) return;
            for (const TaskRef member : segment.group) visit(member);
        };
        if (!cut_) {
            if (used_ && only_begin_ < region.col_end && region.col_begin < only_end_) visit_segment(only_);
            return;
        }
        for (const Band& band : bands_) {
            if (region.col_end <= band.begin || band.end <= region.col_begin) continue;
            for (const Segment& segment : band.segments) visit_segment(segment);
        }
    }

    /// Segments at present, for tests.
    std::size_t segments() const;

  private:
    struct Segment {
        Index begin = 0;
        Index end = 0;
        TaskRef writer{};
        bool commuting = false;  ///< what the group is: commuting tasks or readers
        TaskGroup group{};
        std::shared_ptr<Reduction> reduction{};  ///< since the writer; the group is empty then
    };
    struct Band {
        std::int32_t begin;
        std::int32_t end;
        std::vector<Segment> segments;  ///< disjoint, ascending; gaps were never used
    };

    static void touch(Segment& segment, TaskRef task, AccessMode mode, DependencySink& sink);
    /// `mode`: AccessMode::read or AccessMode::commute.
    static void share(Segment& segment, TaskRef task, AccessMode mode, DependencySink& sink);
    static void leave_reduction(Segment& segment, DependencySink& sink);
    static void hazards_of_write(Segment& segment, DependencySink& sink);
    static void record_in_band(Band& band, TaskRef task, const BoundAccess& access, DependencySink& sink);
    static std::size_t first_behind(const std::vector<Segment>& segments, Index row);
    static std::size_t split_rows(Band& band, Index begin, Index end);
    void split_columns(std::int32_t begin, std::int32_t end);
    void merge_bands(const BoundAccess& access, TaskRef task);

    bool is_only(const BoundAccess& access) const {
        return !cut_ && only_.begin == access.row_begin && only_.end == access.row_end &&
               only_begin_ == access.col_begin && only_end_ == access.col_end;
    }
    void begin_with(const BoundAccess& access);
    void cut();
    void record_cut(TaskRef task, const BoundAccess& access, DependencySink& sink);
    template <class Visit>
    void cut_and_visit(const BoundAccess& region, const Visit& visit);

    // As long as every access has been to one and the same region, that is all there is: no memory but this.
    bool used_ = false;
    bool cut_ = false;  ///< then bands_ tells, and not the three below
    std::int32_t only_begin_ = 0;
    std::int32_t only_end_ = 0;
    Segment only_;

    std::vector<Band> bands_;
};

}  // namespace basalt::detail
