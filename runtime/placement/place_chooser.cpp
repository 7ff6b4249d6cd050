#include "runtime/placement/place_chooser.hpp"

#include <algorithm>

#include "runtime/graph/thread_context.hpp"
#include "runtime/memory/coherence.hpp"
#include "runtime/trace/trace_recorder.hpp"

namespace basalt::detail {

namespace {

// The plan's time for a task whose time is not known: less than real tasks take, because a plan that is too short is
// corrected as tasks complete, and one that is too long holds up whatever depends on them.
constexpr PlacePlan::Time assumed_task_ns = 20'000;

constexpr double nanosecond = 1e-9;

double seconds_until(PlacePlan::Time then, PlacePlan::Time now) {
    return static_cast<double>(std::max<PlacePlan::Time>(0, then - now)) * nanosecond;
}

std::vector<int> tasks_at_once(const Gpus& gpus, const PlaceChooser::Machine& machine) {
    std::vector<int> at_once{machine.workers};
    at_once.insert(at_once.end(), static_cast<std::size_t>(gpus.count()), machine.gpu_streams);
    return at_once;
}

/// The kinds of processors by node, as models call them.
std::vector<std::string> kinds_by_node(const Gpus& gpus) {
    std::vector<std::string> kinds{"cores"};
    for (const auto& device : gpus.all()) kinds.push_back(device->model());
    return kinds;
}

std::vector<std::string> distinct(const std::vector<std::string>& names) {
    std::vector<std::string> once;
    for (const std::string& name : names) {
        if (std::find(once.begin(), once.end(), name) == once.end()) once.push_back(name);
    }
    return once;
}

Place place_of(Node node) { return node == host_node ? Place::cpu() : Place::gpu(device_of_node(node)); }

std::size_t bytes_of(const BoundAccess& access) {
    return static_cast<std::size_t>(access.row_end - access.row_begin) *
           static_cast<std::size_t>(access.col_end - access.col_begin) * access.version->datum->element_size;
}

bool valid_on(const BoundAccess& access, Node node) {
    const Residency* residency = access.version->residency.get();
    return residency != nullptr ? residency->valid_on(node) : node == host_node;
}

bool is_whole(const BoundAccess& access) {
    const Datum& datum = *access.version->datum;
    return access.row_begin == 0 && access.row_end == datum.rows && access.col_begin == 0 &&
           access.col_end == datum.cols;
}

std::span<const BoundAccess> accesses_of(const TaskBuilder& task) { return {task.access_begin(), task.access_count()}; }

}  // namespace

struct PlaceChooser::OfTask {
    TaskModels::Found found;
    std::uint64_t size;
    PlacePlan::Time now;
};

PlaceChooser::PlaceChooser(std::unique_ptr<Policy> policy, std::string name, const Gpus& gpus, const Machine& machine)
    : policy_(std::move(policy)),
      name_(std::move(name)),
      observed_(policy_->observed()),
      gpus_(gpus),
      plan_(tasks_at_once(gpus, machine)),
      models_(distinct(kinds_by_node(gpus))) {
    const std::vector<std::string> by_node = kinds_by_node(gpus);
    const std::vector<std::string> once = distinct(by_node);
    for (const std::string& kind : by_node) {
        kinds_.push_back(static_cast<std::size_t>(std::find(once.begin(), once.end(), kind) - once.begin()));
    }
    if (observed_ != Observed::none) placed_.emplace(plan_);
}

Node PlaceChooser::choose(TaskBuilder& task, const TaskOptions& options, std::span<const Node> nodes) {
    pending_.model = nullptr;
    if (nodes.size() == 1 && observed_ != Observed::all) return nodes.front();
    offers_.clear();
    std::uint64_t size = 0;
    for (const BoundAccess& access : accesses_of(task)) size += bytes_of(access);
    for (const Node node : nodes) offers_.push_back(data_offer(task, node));
    size = options.size.value_or(size);

    std::optional<OfTask> known;
    if (observed_ != Observed::none) {
        known.emplace(OfTask{models_.find(options.name.c_str(), size), size, TraceRecorder::now()});
        for (std::size_t i = 0; i < nodes.size(); ++i) add_times(offers_[i], task, nodes[i], *known);
    }
    const std::size_t chosen = [&] {
        // as inside a hook: the lock of the program order is held, on which submit() would wait for ever
        const ThreadContext inside(task.graph(), nullptr, &task.task(), &task.task());
        return policy_->choose({options.name.c_str(), options.priority, size, offers_});
    }();
    if (chosen >= nodes.size()) {
        throw UsageError("policy '" + name_ + "' chooses offer " + std::to_string(chosen) + " for task '" +
                         options.name.c_str() + "'; allowed is 0 to " + std::to_string(nodes.size() - 1));
    }
    if (known) {
        pending_.node = nodes[chosen];
        pending_.now = known->now;
        pending_.model = &known->found.model;
        const auto seconds = offers_[chosen].seconds;
        pending_.duration = seconds ? static_cast<PlacePlan::Time>(*seconds / nanosecond) : assumed_task_ns;
        find_copies(task, pending_.node, pending_.now, pending_.copies);
    }
    return nodes[chosen];
}

PlaceOffer PlaceChooser::data_offer(const TaskBuilder& task, Node node) {
    PlaceOffer offer{.place = place_of(node)};
    for (const BoundAccess& access : accesses_of(task)) {
        if (!valid_on(access, node)) continue;
        offer.bytes_there += bytes_of(access);
        if (writes(access.mode)) offer.written_bytes_there += bytes_of(access);
    }
    return offer;
}

void PlaceChooser::add_times(PlaceOffer& offer, const TaskBuilder& task, Node node, const OfTask& known) {
    find_copies(task, node, known.now, copies_);
    PlacePlan::Time copying = 0;
    for (const PlannedCopy& copy : copies_) copying += copy.duration;
    offer.at_once = plan_.at_once(node);
    offer.queued = plan_.queued(node);
    offer.free_in = seconds_until(plan_.free_at(node, known.now), known.now);
    offer.data_in = seconds_until(plan_.data_at(copies_, known.now), known.now);
    offer.copy_seconds = seconds_until(copying, 0);
    offer.seconds = TaskModels::seconds(known.found, known.size, kind_of(node));
    offer.tried = known.found.model.kinds[kind_of(node)].tried();
}

/// What the task waits for on that node, one entry for each access.
void PlaceChooser::find_copies(const TaskBuilder& task, Node node, PlacePlan::Time now,
                               std::vector<PlannedCopy>& copies) const {
    copies.clear();
    const auto accesses = accesses_of(task);
    const bool idle = plan_.idle();  // then nothing is to be waited for, whatever was expected
    for (std::size_t i = 0; i < accesses.size(); ++i) {
        const BoundAccess& access = accesses[i];
        const bool again = std::any_of(accesses.begin(), accesses.begin() + static_cast<std::ptrdiff_t>(i),
                                       [&](const BoundAccess& other) { return other.version == access.version; });
        const bool moves = !again && !valid_on(access, node) && !Coherence::overwritten(task, access);
        PlannedCopy copy = moves ? copy_to(node, access) : PlannedCopy{};
        copy.ready = idle ? now : expected(access);
        copies.push_back(copy);
    }
}

/// The copy that brings the data to a node where they are not valid; see Transfers::source_for().
PlannedCopy PlaceChooser::copy_to(Node node, const BoundAccess& access) const {
    const auto bytes = static_cast<double>(access.version->datum->bytes());
    const auto time = [bytes](double fixed_bytes, double rate) {
        return static_cast<PlacePlan::Time>((bytes + fixed_bytes) / rate / nanosecond);
    };
    const auto by_host_link = [&](int device) {
        const auto& links = gpus_.device(device).tuning().links;
        return PlannedCopy{0, time(links.host_chunk_bytes, links.host_bytes_a_second), device};
    };
    std::optional<PlannedCopy> far;
    for (int source = 0; source < gpus_.count(); ++source) {
        if (!valid_on(access, node_of_device(source))) continue;
        if (node == host_node) return by_host_link(source);
        const Device& from = gpus_.device(source);
        const auto& links = from.tuning().links;
        if (from.reaches(gpus_.device(device_of_node(node))))
            return {0, time(links.peer_chunk_bytes, links.peer_bytes_a_second), device_of_node(node)};
        far = by_host_link(source);
    }
    PlannedCopy copy = by_host_link(device_of_node(node));
    if (far && !valid_on(access, host_node)) copy.duration += far->duration;  // by way of the host
    return copy;
}

/// When the tasks that the access waits for are expected to have run. Of accesses to parts of a datum it is not known
/// which ones overlap: they wait for those that used all of it.
PlacePlan::Time PlaceChooser::expected(const BoundAccess& access) {
    const ExpectedUse& use = access.version->expected;
    if (!is_whole(access)) return use.written;
    const PlacePlan::Time contents = std::max(use.written, use.part_written);
    return writes(access.mode) ? std::max(contents, use.read) : contents;
}

void PlaceChooser::commit(const TaskBuilder& task) {
    if (pending_.model == nullptr) return;
    const auto [finish, share] = plan_.add(pending_.node, pending_.copies, pending_.duration, pending_.now);
    placed_->add(task.task(), pending_.node, share, pending_.model->kinds[kind_of(pending_.node)]);
    for (const BoundAccess& access : accesses_of(task)) {
        ExpectedUse& use = access.version->expected;
        std::int64_t& until = !writes(access.mode) ? use.read : is_whole(access) ? use.written : use.part_written;
        until = std::max(until, finish);
    }
    pending_.model = nullptr;
}

}  // namespace basalt::detail
