#include "runtime/graph/access_map.hpp"

#include <algorithm>

namespace basalt::detail {

void add_to_group(TaskGroup& group, TaskRef task, DependencySink& sink) {
    // A group that long is looked through for completed tasks, and if most are still running, one node takes
    // their place: lists stay short however many tasks read a datum between two writes.
    constexpr std::size_t group_limit = 64;
    if (group.size() >= group_limit) {
        group.erase_if([&](TaskRef member) { return sink.completed(member); });
        if (group.size() > group_limit / 2) {
            const TaskRef node = sink.join(group);
            group.clear();
            if (node.valid()) group.push_back(node);  // not valid: all have completed meanwhile
        }
    }
    group.push_back(task);
}

/// The region's next user waits for the task that closes the reduction.
inline void AccessMap::leave_reduction(Segment& segment, DependencySink& sink) {
    if (segment.reduction == nullptr) [[likely]]
        return;
    segment.writer = sink.close(*segment.reduction);
    segment.reduction.reset();
}

inline void AccessMap::hazards_of_write(Segment& segment, DependencySink& sink) {
    leave_reduction(segment, sink);
    // the group waits for the writer itself, so the writer is implied by any member of it
    if (segment.group.empty()) sink.depend_on(segment.writer);
    for (const TaskRef& member : segment.group) sink.depend_on(member);
}

inline void AccessMap::touch(Segment& segment, TaskRef task, AccessMode mode, DependencySink& sink) {
    if (mode == AccessMode::read || mode == AccessMode::commute) {
        share(segment, task, mode, sink);
        return;
    }
    hazards_of_write(segment, sink);
    segment.writer = task;
    segment.group.clear();
}

void AccessMap::record(TaskRef task, const BoundAccess& access, DependencySink& sink) {
    if (access.row_begin >= access.row_end || access.col_begin >= access.col_end) return;
    if (!used_) begin_with(access);
    if (is_only(access)) {
        touch(only_, task, access.mode, sink);
    } else {
        record_cut(task, access, sink);
    }
}

void AccessMap::begin_with(const BoundAccess& access) {
    used_ = true;
    only_begin_ = access.col_begin;
    only_end_ = access.col_end;
    only_.begin = access.row_begin;
    only_.end = access.row_end;
}

void AccessMap::cut() {
    if (cut_) return;
    cut_ = true;
    bands_.push_back({only_begin_, only_end_, {}});
    bands_[0].segments.push_back(std::move(only_));
}

void AccessMap::record_cut(TaskRef task, const BoundAccess& access, DependencySink& sink) {
    cut();
    if (bands_.size() == 1 && bands_[0].begin == access.col_begin && bands_[0].end == access.col_end) {
        record_in_band(bands_[0], task, access, sink);
        return;
    }
    split_columns(access.col_begin, access.col_end);
    for (Band& band : bands_) {
        if (band.begin < access.col_end && access.col_begin < band.end) record_in_band(band, task, access, sink);
    }
    merge_bands(access, task);
}

void AccessMap::record_in_band(Band& band, TaskRef task, const BoundAccess& access, DependencySink& sink) {
    std::size_t first = split_rows(band, access.row_begin, access.row_end);
    auto in_region = [&](std::size_t i) { return i < band.segments.size() && band.segments[i].begin < access.row_end; };
    if (access.mode == AccessMode::read || access.mode == AccessMode::commute) {
        for (std::size_t i = first; in_region(i); ++i) {
            share(band.segments[i], task, access.mode, sink);
        }
        return;
    }
    std::size_t last = first;
    for (; in_region(last); ++last) hazards_of_write(band.segments[last], sink);
    // one segment now holds all the rows that the task writes
    Segment& written = band.segments[first];
    written.end = access.row_end;
    written.writer = task;
    written.group.clear();
    if (last - first > 1) {
        band.segments.erase(band.segments.begin() + static_cast<std::ptrdiff_t>(first) + 1,
                            band.segments.begin() + static_cast<std::ptrdiff_t>(last));
    }
}

/// Visits the segments that the region consists of from now on.
template <class Visit>
void AccessMap::cut_and_visit(const BoundAccess& region, const Visit& visit) {
    if (!used_) begin_with(region);
    if (is_only(region)) return visit(only_);
    cut();
    split_columns(region.col_begin, region.col_end);
    for (Band& band : bands_) {
        if (band.begin >= region.col_end || region.col_begin >= band.end) continue;
        for (std::size_t i = split_rows(band, region.row_begin, region.row_end);
             i < band.segments.size() && band.segments[i].begin < region.row_end; ++i) {
            visit(band.segments[i]);
        }
    }
}

TaskRef AccessMap::open(const BoundAccess& region, const std::shared_ptr<Reduction>& reduction, DependencySink& sink) {
    TaskGroup before;
    cut_and_visit(region, [&](Segment& segment) {
        leave_reduction(segment, sink);
        if (segment.group.empty() && segment.writer.valid()) before.push_back(segment.writer);
        for (const TaskRef member : segment.group) before.push_back(member);
    });
    before.erase_duplicates();
    const TaskRef last = before.size() > 1 ? sink.join(before) : before.empty() ? TaskRef{} : before.back();
    cut_and_visit(region, [&](Segment& segment) {
        segment.writer = last;
        segment.group.clear();
        segment.reduction = reduction;
    });
    return last;
}

std::shared_ptr<Reduction> AccessMap::reduction_at(const BoundAccess& region) const {
    if (!cut_) return is_only(region) ? only_.reduction : nullptr;
    for (const Band& band : bands_) {
        if (region.col_begin < band.begin || band.end <= region.col_begin) continue;
        const std::size_t i = first_behind(band.segments, region.row_begin);
        const bool inside = i < band.segments.size() && band.segments[i].begin <= region.row_begin;
        return inside ? band.segments[i].reduction : nullptr;
    }
    return nullptr;
}

void AccessMap::share(Segment& segment, TaskRef task, AccessMode mode, DependencySink& sink) {
    const bool commuting = mode == AccessMode::commute;
    leave_reduction(segment, sink);
    // named before by the same task: commuting holds over reading
    if (!segment.group.empty() && segment.group.back() == task && (segment.commuting || !commuting)) return;
    if (!segment.group.empty() && segment.commuting != commuting) {
        segment.writer = segment.group.size() == 1 ? segment.group.back() : sink.join(segment.group);
        segment.group.clear();
    }
    segment.commuting = commuting;
    sink.depend_on(segment.writer);
    add_to_group(segment.group, task, sink);
}

/// The first segment that ends behind the row. In segments of equal size without gaps, the usual way to cut a datum, it
/// is found without a search.
std::size_t AccessMap::first_behind(const std::vector<Segment>& segments, Index row) {
    if (segments.empty() || segments.back().end <= row) return segments.size();
    const Segment& first = segments.front();
    if (row >= first.begin) {
        const Index rows = first.end - first.begin;
        const auto guess = static_cast<std::size_t>(rows == 1 ? row - first.begin : (row - first.begin) / rows);
        if (guess < segments.size() && segments[guess].begin <= row && row < segments[guess].end) return guess;
    }
    const auto position =
        std::partition_point(segments.begin(), segments.end(), [&](const Segment& s) { return s.end <= row; });
    return static_cast<std::size_t>(position - segments.begin());
}

/// Cuts the band so that segments cover exactly [begin, end) and none crosses its borders.
/// Returns the index of the first segment inside.
std::size_t AccessMap::split_rows(Band& band, Index begin, Index end) {
    std::vector<Segment>& segments = band.segments;
    const std::size_t first = first_behind(segments, begin);
    if (first < segments.size() && segments[first].begin == begin && segments[first].end == end) return first;

    std::size_t i = first;
    Index covered = begin;
    if (i < segments.size() && segments[i].begin < begin) {
        Segment head = segments[i];
        head.end = begin;
        segments[i].begin = begin;
        segments.insert(segments.begin() + static_cast<std::ptrdiff_t>(i), std::move(head));
        ++i;
    }
    const std::size_t inside = i;
    while (covered < end) {
        if (i == segments.size() || segments[i].begin > covered) {
            const Index gap_end = i == segments.size() ? end : std::min(end, segments[i].begin);
            segments.insert(segments.begin() + static_cast<std::ptrdiff_t>(i),
                            Segment{.begin = covered, .end = gap_end});
        } else if (segments[i].end > end) {
            Segment tail = segments[i];
            tail.begin = end;
            segments[i].end = end;
            segments.insert(segments.begin() + static_cast<std::ptrdiff_t>(i) + 1, std::move(tail));
        }
        covered = segments[i].end;
        ++i;
    }
    return inside;
}

void AccessMap::split_columns(std::int32_t begin, std::int32_t end) {
    std::vector<Band> result;
    result.reserve(bands_.size() + 2);
    std::int32_t covered = begin;  // columns of [begin, end) up to here are in the result
    auto fill_gap = [&](std::int32_t upto) {
        if (covered < upto) result.push_back({covered, upto, {}});
        covered = std::max(covered, upto);
    };
    for (Band& band : bands_) {
        if (band.end <= begin) {
            result.push_back(std::move(band));
            continue;
        }
        fill_gap(std::min(band.begin, end));
        for (const std::int32_t cut : {begin, end}) {
            if (band.begin < cut && cut < band.end) {
                Band left{band.begin, cut, band.segments};
                band.begin = cut;
                result.push_back(std::move(left));
            }
        }
        covered = std::max(covered, std::min(band.end, end));
        result.push_back(std::move(band));
    }
    fill_gap(end);
    bands_ = std::move(result);
}

/// Where a task has overwritten several whole bands, one band with one segment tells the same.
void AccessMap::merge_bands(const BoundAccess& access, TaskRef task) {
    if (access.mode == AccessMode::read || access.mode == AccessMode::commute) return;
    auto overwritten = [&](const Band& band) {
        return access.col_begin <= band.begin && band.end <= access.col_end && band.segments.size() == 1 &&
               band.segments[0].writer == task && band.segments[0].begin == access.row_begin &&
               band.segments[0].end == access.row_end;
    };
    for (std::size_t i = 0; i + 1 < bands_.size();) {
        if (overwritten(bands_[i]) && overwritten(bands_[i + 1]) && bands_[i].end == bands_[i + 1].begin) {
            bands_[i].end = bands_[i + 1].end;
            bands_.erase(bands_.begin() + static_cast<std::ptrdiff_t>(i) + 1);
        } else {
            ++i;
        }
    }
}

std::size_t AccessMap::segments() const {
    if (!cut_) return used_ ? 1 : 0;
    std::size_t count = 0;
    for (const Band& band : bands_) count += band.segments.size();
    return count;
}

}  // namespace basalt::detail
