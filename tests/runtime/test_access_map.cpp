// The source of all hazards against brute force: what every element's last users say about who waits for
// whom.
#include <algorithm>
#include <array>
#include <set>
#include <vector>

#include "runtime/graph/access_map.hpp"
#include "runtime/graph/reduction.hpp"
#include "tests/common/catch.hpp"
#include "tests/runtime/random_graph/random.hpp"

using namespace basalt;
using namespace basalt::detail;
using basalt_tests::Random;

namespace {

/// A graph without an engine: tasks are numbers, and a task completes when a test says so.
class HazardGraph final : public DependencySink {
  public:
    /// Begins the next task; hazards reported from now on are its own.
    TaskRef begin() {
        current_ = add_node();
        return {current_, 0};
    }
    void complete(std::uint32_t task) { completed_.insert(task); }

    void depend_on(TaskRef predecessor) override {
        if (predecessor.valid() && predecessor.slot != current_) predecessors_[current_].insert(predecessor.slot);
    }
    bool completed(TaskRef task) const override { return completed_.contains(task.slot); }
    TaskRef join(const TaskGroup& tasks) override {
        const std::uint32_t node = add_node();
        for (const TaskRef task : tasks) {
            if (task.valid() && task.slot != current_) predecessors_[node].insert(task.slot);
        }
        ++joins;
        return {node, 0};
    }

    TaskRef close(Reduction& reduction) override { return reduction.closing(); }

    const std::set<std::uint32_t>& direct(std::uint32_t task) const { return predecessors_[task]; }

    /// Everybody that the task waits for, directly or not.
    std::set<std::uint32_t> all_before(std::uint32_t task) const {
        std::set<std::uint32_t> found;
        std::vector<std::uint32_t> open{task};
        while (!open.empty()) {
            const std::uint32_t next = open.back();
            open.pop_back();
            for (const std::uint32_t before : predecessors_[next]) {
                if (found.insert(before).second) open.push_back(before);
            }
        }
        return found;
    }

    int joins = 0;

  private:
    std::uint32_t add_node() {
        predecessors_.emplace_back();
        return static_cast<std::uint32_t>(predecessors_.size()) - 1;
    }

    std::uint32_t current_ = 0;
    std::vector<std::set<std::uint32_t>> predecessors_;
    std::set<std::uint32_t> completed_;
};

BoundAccess access(AccessMode mode, Index row_begin, Index row_end, std::int32_t col_begin = 0,
                   std::int32_t col_end = 1) {
    return BoundAccess(nullptr, AccessRecord{nullptr, row_begin, row_end, col_begin, col_end, 0, mode});
}

struct OneTask {
    std::uint32_t task;
    std::vector<BoundAccess> accesses;
    std::set<std::uint32_t> before;  ///< whom it waits for, directly or not
};

bool overlap(const BoundAccess& a, const BoundAccess& b) {
    const std::int32_t a_col = a.col_begin, b_col = b.col_begin, a_end = a.col_end, b_end = b.col_end;
    return std::max(a.row_begin, b.row_begin) < std::min(a.row_end, b.row_end) &&
           std::max(a_col, b_col) < std::min(a_end, b_end);
}

/// Whether program order alone makes b wait for a.
bool conflict(const OneTask& a, const OneTask& b) {
    for (const BoundAccess& x : a.accesses) {
        for (const BoundAccess& y : b.accesses) {
            const bool shared = x.mode == y.mode && (x.mode == AccessMode::read || x.mode == AccessMode::commute);
            if (overlap(x, y) && !shared) return true;
        }
    }
    return false;
}

std::uint32_t submit(HazardGraph& graph, AccessMap& map, const BoundAccess& a) {
    const TaskRef task = graph.begin();
    map.record(task, a, graph);
    return task.slot;
}

using Set = std::set<std::uint32_t>;

}  // namespace

TEST_CASE("a reader waits for the last writer and for no other reader") {
    HazardGraph graph;
    AccessMap map;
    const auto writer = submit(graph, map, access(AccessMode::readwrite, 0, 10));
    const auto first = submit(graph, map, access(AccessMode::read, 0, 10));
    const auto second = submit(graph, map, access(AccessMode::read, 0, 10));
    CHECK(graph.direct(first) == Set{writer});
    CHECK(graph.direct(second) == Set{writer});
}

TEST_CASE("a writer waits for the readers since the last writer and for no earlier task") {
    HazardGraph graph;
    AccessMap map;
    submit(graph, map, access(AccessMode::write, 0, 10));
    const auto first = submit(graph, map, access(AccessMode::read, 0, 10));
    const auto second = submit(graph, map, access(AccessMode::read, 0, 10));
    const auto writer = submit(graph, map, access(AccessMode::write, 0, 10));
    CHECK(graph.direct(writer) == Set{first, second});
    CHECK(graph.direct(submit(graph, map, access(AccessMode::write, 0, 10))) == Set{writer});
}

TEST_CASE("tasks on disjoint intervals are independent and on overlapping ones are not") {
    HazardGraph graph;
    AccessMap map;
    const auto left = submit(graph, map, access(AccessMode::readwrite, 0, 5));
    const auto right = submit(graph, map, access(AccessMode::readwrite, 5, 10));
    CHECK(graph.direct(right).empty());
    CHECK(graph.direct(submit(graph, map, access(AccessMode::read, 4, 6))) == Set{left, right});
}

TEST_CASE("commuting tasks wait for what was before them but not for each other") {
    HazardGraph graph;
    AccessMap map;
    const auto writer = submit(graph, map, access(AccessMode::write, 0, 4));
    const auto first = submit(graph, map, access(AccessMode::commute, 0, 4));
    const auto second = submit(graph, map, access(AccessMode::commute, 0, 4));
    CHECK(graph.direct(first) == Set{writer});
    CHECK(graph.direct(second) == Set{writer});
    const Set before = graph.all_before(submit(graph, map, access(AccessMode::read, 0, 4)));
    CHECK(before.contains(first));
    CHECK(before.contains(second));
}

TEST_CASE("a task that commutes on and reads one region is waited for by later readers") {
    HazardGraph graph;
    AccessMap map;
    submit(graph, map, access(AccessMode::commute, 0, 4));
    const TaskRef both = graph.begin();
    map.record(both, access(AccessMode::commute, 0, 4), graph);
    map.record(both, access(AccessMode::read, 0, 4), graph);
    CHECK(graph.all_before(submit(graph, map, access(AccessMode::read, 0, 4))).contains(both.slot));
}

TEST_CASE("one node stands for many readers, and a writer behind them has few edges") {
    HazardGraph graph;
    AccessMap map;
    Set readers;
    for (int i = 0; i < 1000; ++i) readers.insert(submit(graph, map, access(AccessMode::read, 0, 10)));
    const auto writer = submit(graph, map, access(AccessMode::write, 0, 10));
    CHECK(graph.joins > 0);
    CHECK(graph.direct(writer).size() <= 65);
    const Set before = graph.all_before(writer);
    CHECK(std::includes(before.begin(), before.end(), readers.begin(), readers.end()));
}

TEST_CASE("an access to an empty region depends on nothing and nothing depends on it") {
    HazardGraph graph;
    AccessMap map;
    submit(graph, map, access(AccessMode::write, 0, 10));
    CHECK(graph.direct(submit(graph, map, access(AccessMode::write, 5, 5))).empty());
    CHECK(graph.direct(submit(graph, map, access(AccessMode::write, 0, 10, 1, 1))).empty());
    CHECK(graph.direct(submit(graph, map, access(AccessMode::read, 0, 10))) == Set{0});
}

TEST_CASE("segments that one task overwrites become one again") {
    HazardGraph graph;
    AccessMap map;
    for (Index row = 0; row < 20; ++row) submit(graph, map, access(AccessMode::write, row, row + 1, 0, 4));
    CHECK(map.segments() == 20);
    submit(graph, map, access(AccessMode::write, 0, 20, 0, 4));
    CHECK(map.segments() == 1);
    submit(graph, map, access(AccessMode::read, 0, 20, 1, 2));
    CHECK(map.segments() == 3);
    submit(graph, map, access(AccessMode::readwrite, 0, 20, 0, 4));
    CHECK(map.segments() == 1);
}

TEST_CASE("a datum is busy until every task that used it has completed") {
    HazardGraph graph;
    AccessMap map;
    const auto busy = [&] { return map.any_user([&](TaskRef user) { return !graph.completed(user); }); };
    CHECK_FALSE(busy());
    const auto writer = submit(graph, map, access(AccessMode::write, 0, 10));
    const auto reader = submit(graph, map, access(AccessMode::read, 3, 4));
    graph.complete(writer);
    CHECK(busy());
    graph.complete(reader);
    CHECK_FALSE(busy());
    submit(graph, map, access(AccessMode::write, 0, 10));
    CHECK(busy());
    map.clear();
    CHECK_FALSE(busy());
}

TEST_CASE("random accesses wait for exactly whom program order demands", "[sanitize]") {
    using enum AccessMode;
    constexpr Index rows = 12;
    constexpr std::int32_t cols = 5;
    for (std::uint64_t seed = 1; seed <= 300; ++seed) {
        CAPTURE(seed);
        Random random(seed);
        HazardGraph graph;
        AccessMap map;
        std::vector<OneTask> tasks;
        const int count = random.between(1, 60);
        for (int i = 0; i < count; ++i) {
            const TaskRef ref = graph.begin();
            OneTask task{ref.slot, {}, {}};
            const int accesses = random.between(1, 3);
            // (what a task that mixes reading and commuting waits for depends on the order in its list)
            const AccessMode shared = random.one_in(2) ? read : commute;
            for (int k = 0; k < accesses; ++k) {
                const Index row = random.between<Index>(0, rows - 1);
                const auto col = random.between<std::int32_t>(0, cols - 1);
                task.accesses.push_back(access(random.pick(std::array{shared, shared, write, readwrite}), row,
                                               random.between<Index>(row, rows), col,
                                               random.between<std::int32_t>(col, cols)));
                map.record(ref, task.accesses.back(), graph);
            }
            task.before = graph.all_before(task.task);
            Set demanded;  // what conflicts with the task, and with those, and so on
            for (auto other = tasks.rbegin(); other != tasks.rend(); ++other) {
                if (conflict(*other, task)) {
                    CHECK(task.before.contains(other->task));
                    demanded.insert(other->task);
                    demanded.insert(other->before.begin(), other->before.end());
                }
            }
            for (const OneTask& other : tasks) {
                if (task.before.contains(other.task)) CHECK(demanded.contains(other.task));
            }
            tasks.push_back(std::move(task));
        }
    }
}
