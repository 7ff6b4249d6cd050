#include "runtime/placement/place_plan.hpp"

namespace basalt::detail {

PlacePlan::PlacePlan(const std::vector<int>& at_once) {
    for (const int lanes : at_once) {
        processors_.push_back(std::make_unique<Processor>());
        processors_.back()->lanes.resize(static_cast<std::size_t>(lanes));
    }
}

/// Moves the plan of the processor by its delay or lead.
void PlacePlan::settle(Processor& processor, Time now) const {
    const std::size_t queued = processor.queued.load(std::memory_order_relaxed);
    const Time left = processor.left.load(std::memory_order_relaxed);
    const auto lanes = static_cast<Time>(processor.lanes.size());
    Time planned = 0;
    for (Time& lane : processor.lanes) {
        lane = std::max(lane, now);
        planned += lane - now;
    }
    // what runs now counts in full in `left`, however much of it is done
    const Time running =
        queued == 0 ? 0 : left * std::min<Time>(lanes, static_cast<Time>(queued)) / static_cast<Time>(queued);
    const Time move = left < planned ? left - planned : std::max<Time>(0, left - running - planned);
    if (move == 0) return;
    for (Time& lane : processor.lanes) lane = std::max(now, lane + move / lanes);
}

PlacePlan::Time PlacePlan::free_at(Node node, Time now) {
    Processor& processor = *processors_[static_cast<std::size_t>(node)];
    settle(processor, now);
    return *std::min_element(processor.lanes.begin(), processor.lanes.end());
}

PlacePlan::Time PlacePlan::arrive(Links& links, std::span<const PlannedCopy> copies, Time now) {
    Time all = now;
    for (const PlannedCopy& copy : copies) {
        Time there = std::max(copy.ready, now);
        if (copy.duration > 0) {
            Time& link = links[static_cast<std::size_t>(copy.device)];
            there = link = std::max(link, there) + copy.duration;
        }
        all = std::max(all, there);
    }
    return all;
}

PlacePlan::Planned PlacePlan::add(Node node, std::span<const PlannedCopy> copies, Time duration, Time now) {
    Processor& processor = *processors_[static_cast<std::size_t>(node)];
    settle(processor, now);
    Time& lane = *std::min_element(processor.lanes.begin(), processor.lanes.end());
    const Time finish = std::max(arrive(links_, copies, now), lane) + duration;
    const Time share = finish - lane;
    lane = finish;
    processor.left.fetch_add(share, std::memory_order_relaxed);
    processor.queued.fetch_add(1, std::memory_order_relaxed);
    return {finish, share};
}

bool PlacePlan::idle() const {
    return std::all_of(processors_.begin(), processors_.end(),
                       [](const auto& processor) { return processor->queued.load(std::memory_order_relaxed) == 0; });
}

}  // namespace basalt::detail
