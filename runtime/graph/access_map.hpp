#pragma once

#include <cstdint>
#include <vector>

#include "runtime/graph/task_group.hpp"

namespace basalt::detail {

/// Receives the hazards of a task under submission: makes it wait for another task, tells whether a task has
/// completed, and replaces several tasks by one node.
class DependencySink {
  public:
    virtual void depend_on(TaskRef predecessor) = 0;
    virtual bool completed(TaskRef task) const = 0;
    virtual TaskRef join(const TaskGroup& tasks) = 0;

  protected:
    ~DependencySink() = default;
};

/// Who used each region of one datum last, as one scope sees it: the source of all hazards.
///
/// The datum is cut into bands of columns and each band into segments of rows, as finely as the accesses so far demand.
/// Segments that one task overwrites together are merged again. A segment remembers the last exclusive access and the
/// shared group since then: readers, or commuting tasks. Hazards follow: a reader waits for the last writer (RaW); a
/// writer waits for the readers since (WaR), or for the last writer when there were none (WaW); commuting tasks wait
/// for the last writer and stand to readers and writers as a group.
///
/// Not synchronised: the lock of the submitting scope guards it.
class AccessMap {
  public:
    /// Records that `task` uses the region and reports its hazards to `sink`.
    void record(TaskRef task, const BoundAccess& access, DependencySink& sink);

    /// Whether any task that used the datum has not completed.
    bool busy(const DependencySink& sink) const;

    /// visit(task, exclusive) for every task that is recorded: those that used any region last, perhaps completed.
    template <class F>
    void for_each_user(const F& visit) const {
        const auto visit_segment = [&](const Segment& segment) {
            if (segment.writer.valid()) visit(segment.writer, true);
            for (const TaskRef member : segment.group) visit(member, segment.commuting);
        };
        if (!cut_) {
            if (used_) visit_segment(only_);
            return;
        }
        for (const Band& band : bands_) {
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
        TaskGroup group;
    };
    struct Band {
        std::int32_t begin;
        std::int32_t end;
        std::vector<Segment> segments;  ///< disjoint, ascending; gaps were never used
    };

    static void touch(Segment& segment, TaskRef task, AccessMode mode, DependencySink& sink);
    static void share(Segment& segment, TaskRef task, bool commuting, DependencySink& sink);
    static void hazards_of_write(const Segment& segment, DependencySink& sink);
    static void record_in_band(Band& band, TaskRef task, const BoundAccess& access, DependencySink& sink);
    static std::size_t first_behind(const std::vector<Segment>& segments, Index row);
    static std::size_t split_rows(Band& band, Index begin, Index end);
    void split_columns(std::int32_t begin, std::int32_t end);
    void merge_bands(const BoundAccess& access, TaskRef task);

    void record_cut(TaskRef task, const BoundAccess& access, DependencySink& sink);

    // As long as every access has been to one and the same region, that is all there is: no memory but this.
    bool used_ = false;
    bool cut_ = false;  ///< then bands_ tells, and not the three below
    std::int32_t only_begin_ = 0;
    std::int32_t only_end_ = 0;
    Segment only_;

    std::vector<Band> bands_;
};

}  // namespace basalt::detail
