// Tasks that commute: one at a time on each element, in the order in which they came, and none that waits for ever.
#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "basalt/array.hpp"
#include "basalt/runtime.hpp"
#include "runtime/execution/commute.hpp"
#include "runtime/graph/datum.hpp"
#include "runtime/graph/scope.hpp"
#include "tests/common/catch.hpp"
#include "tests/common/runtime_settings.hpp"
#include "tests/common/watchdog.hpp"
#include "tests/runtime/random_graph/random.hpp"

using namespace basalt;
using namespace basalt::detail;
using basalt_tests::every_setting;
using basalt_tests::Random;
using basalt_tests::Setting;
using basalt_tests::Watchdog;

namespace {

constexpr Index rows = 8;
constexpr std::size_t arrays = 3;

/// Rows of one of the arrays.
struct Part {
    std::size_t array;
    Index begin;
    Index end;
};

Part random_part(Random& random) {
    const auto begin = random.between<Index>(0, rows - 1);
    return {random.between<std::size_t>(0, arrays - 1), begin, random.between<Index>(begin + 1, rows)};
}

/// Tasks that add one to every element of the parts they commute on, and what that adds up to.
class Additions {
  public:
    explicit Additions(Runtime& runtime) : runtime_(runtime) {
        for (std::size_t i = 0; i < arrays; ++i) data_.emplace_back(runtime, rows);
    }

    /// A task on a few parts, which perhaps has children on parts of them.
    void submit(Random& random, int children) {
        const std::vector<Part> parts{random_part(random), random_part(random), random_part(random)};
        for (const Part& part : parts) expect(part);
        std::vector<Part> inner_parts;
        for (int i = 0; i < children; ++i) {
            const Part& part = random.pick(parts);
            const auto begin = random.between<Index>(part.begin, part.end - 1);
            inner_parts.push_back({part.array, begin, random.between<Index>(begin + 1, part.end)});
            expect(inner_parts.back());
        }
        runtime_.submit({.priority = random.between(0, 2)}, access(parts[0]), access(parts[1]), access(parts[2]),
                        [this, inner_parts](View<int> a, View<int> b, View<int> c) {
                            for (const View<int>& view : {a, b, c}) add(view);
                            for (const Part& inner : inner_parts) submit_inner(inner, 2);
                        });
    }

    void check() {
        for (std::size_t i = 0; i < arrays; ++i) {
            const View<int> found = data_[i].host_view();
            for (Index row = 0; row < rows; ++row) {
                CAPTURE(i, row);
                CHECK(found[row] == expected_[i][static_cast<std::size_t>(row)]);
            }
        }
    }

  private:
    Access<int> access(const Part& part) const { return commute(data_[part.array].rows(part.begin, part.end)); }
    static void add(const View<int>& view) {
        for (Index i = 0; i < view.rows(); ++i) ++view[i];
    }
    void expect(const Part& part) {
        for (Index row = part.begin; row < part.end; ++row) ++expected_[part.array][static_cast<std::size_t>(row)];
    }
    /// Several levels deep.
    void submit_inner(const Part& inner, int levels) {
        runtime_.submit({}, access(inner), [this, inner, levels](View<int> view) {
            if (levels == 0) return add(view);
            submit_inner(inner, levels - 1);
        });
    }

    Runtime& runtime_;
    std::vector<Array<int>> data_;
    std::array<std::array<int, rows>, arrays> expected_{};
};

/// Tasks without an engine, and the data that they commute on.
struct Bench {
    CommuteArbiter arbiter;
    Scope root{1};
    std::array<Version, 2> versions;
    std::vector<std::unique_ptr<Task>> tasks;

    BoundAccess region(std::size_t version, Index begin, Index end) {
        return BoundAccess(&versions[version], {nullptr, begin, end, 0, 1, 0, AccessMode::commute});
    }
    Task& task(Scope& scope, const std::vector<BoundAccess>& regions) {
        Task& task = *tasks.emplace_back(std::make_unique<Task>());
        task.scope = &scope;
        task.commutes = true;
        std::copy(regions.begin(), regions.end(), task.accesses.begin());
        task.access_count = static_cast<std::uint32_t>(regions.size());
        return task;
    }
    std::vector<Task*> released_by(const Task& task) {
        std::vector<Task*> released;
        arbiter.release(task, released);
        return released;
    }
};

using List = std::vector<Task*>;

}  // namespace

TEST_CASE("tasks that commute on overlapping parts of several arrays exclude each other, at every level",
          "[sanitize]") {
    const Setting setting = GENERATE(from_range(every_setting({2, 8})));
    const std::uint64_t seed = GENERATE(range(1, 6));
    CAPTURE(setting, seed);
    const Watchdog watchdog(setting.text());
    Runtime runtime(setting.config());
    Random random(seed);
    Additions additions(runtime);
    for (int i = 0; i < 200; ++i) additions.submit(random, random.one_in(3) ? random.between(1, 4) : 0);
    additions.check();
}

TEST_CASE("a task costs the same however many others wait to commute") {
    const Watchdog watchdog;
    Config config;
    config.workers = 2;
    config.window = Config::most_window;
    Runtime runtime(config);
    Array<long> x(runtime, 2);
    constexpr long tasks = 200'000;  // minutes, where each looks at all that wait
    for (long i = 0; i < tasks; ++i) {
        runtime.submit({}, commute(x.rows(i % 2, i % 2 + 1)), [](View<long> x) { ++x[0]; });
    }
    CHECK(x.host_view()[0] == tasks / 2);
    CHECK(x.host_view()[1] == tasks / 2);
}

TEST_CASE("tasks are let through in the order in which they came, as far as their regions are free") {
    Bench bench;
    Task& first = bench.task(bench.root, {bench.region(0, 0, 4)});
    Task& both = bench.task(bench.root, {bench.region(0, 2, 6), bench.region(1, 0, 4)});
    Task& other = bench.task(bench.root, {bench.region(1, 3, 4)});
    Task& last = bench.task(bench.root, {bench.region(0, 0, 4)});
    Task& apart = bench.task(bench.root, {bench.region(0, 6, 8)});
    CHECK(bench.arbiter.acquire(first));
    CHECK_FALSE(bench.arbiter.acquire(both));
    CHECK(bench.arbiter.acquire(other));
    CHECK_FALSE(bench.arbiter.acquire(last));
    CHECK(bench.arbiter.acquire(apart));
    CHECK(bench.arbiter.acquire(first));  // queued a second time: it has its region
    CHECK(bench.released_by(first) == List{&last});
    CHECK(bench.released_by(other).empty());  // of what `both` needs, `last` has a part
    CHECK(bench.released_by(last) == List{&both});
    CHECK(bench.arbiter.acquire(both));
    CHECK(bench.released_by(both).empty());
    CHECK(bench.released_by(apart).empty());
}

TEST_CASE("tasks that wait for one region get it in a row, until one comes that waited elsewhere before") {
    Bench bench;
    const auto rows_of = [&](Index begin, Index end) -> Task& {
        return bench.task(bench.root, {bench.region(0, begin, end)});
    };
    Task& holder = rows_of(0, 4);
    Task& first = rows_of(0, 4);
    Task& second = rows_of(0, 4);
    Task& overlapping = rows_of(2, 6);
    Task& last = rows_of(0, 4);
    CHECK(bench.arbiter.acquire(holder));
    for (Task* task : {&first, &second, &overlapping, &last}) CHECK_FALSE(bench.arbiter.acquire(*task));
    CHECK(bench.released_by(holder) == List{&first});
    Task& late = rows_of(3, 5);
    CHECK_FALSE(bench.arbiter.acquire(late));  // some task holds a part of it
    CHECK(bench.released_by(first) == List{&second});
    CHECK(bench.arbiter.acquire(second));
    CHECK(bench.released_by(second) == List{&overlapping});
    CHECK(bench.released_by(overlapping) == List{&last});
    CHECK(bench.released_by(last) == List{&late});
    CHECK(bench.released_by(late).empty());
}

TEST_CASE("rows keep the order in which tasks came") {
    Bench bench;
    Task& holder = bench.task(bench.root, {bench.region(0, 0, 4)});
    CHECK(bench.arbiter.acquire(holder));
    std::vector<Task*> waiters;
    for (std::size_t i = 0; i < 2 * CommuteArbiter::most_in_a_row; ++i) {
        waiters.push_back(&bench.task(bench.root, {bench.region(0, 0, 4)}));
        CHECK_FALSE(bench.arbiter.acquire(*waiters.back()));
    }
    Task* running = &holder;
    std::size_t position = 0;
    while (position < 10) {
        CHECK(bench.released_by(*running) == List{waiters[position]});
        running = waiters[position++];
    }
    Task& overlapping = bench.task(bench.root, {bench.region(0, 3, 8)});
    CHECK_FALSE(bench.arbiter.acquire(overlapping));
    while (running != &overlapping) {
        const List released = bench.released_by(*running);
        REQUIRE(released.size() == 1);
        running = released[0];
        ++position;
    }
    CHECK(position == waiters.size() + 1);  // in the order in which they came
}

TEST_CASE("children share what their parent holds, one at a time, and strangers wait for the parent") {
    Bench bench;
    Task& parent = bench.task(bench.root, {bench.region(0, 0, 8)});
    Scope children(parent, 2);
    Task& child = bench.task(children, {bench.region(0, 0, 4)});
    Scope grandchildren(child, 3);
    Task& grandchild = bench.task(grandchildren, {bench.region(0, 0, 2)});
    Task& sibling = bench.task(children, {bench.region(0, 2, 6)});
    Task& stranger = bench.task(bench.root, {bench.region(0, 1, 2)});
    CHECK(bench.arbiter.acquire(parent));
    CHECK_FALSE(bench.arbiter.acquire(stranger));
    CHECK(bench.arbiter.acquire(child));
    CHECK_FALSE(bench.arbiter.acquire(sibling));
    CHECK(bench.arbiter.acquire(grandchild));
    CHECK(bench.released_by(grandchild).empty());
    CHECK(bench.released_by(child) == List{&sibling});
    CHECK(bench.released_by(sibling).empty());
    CHECK(bench.released_by(parent) == List{&stranger});
}

TEST_CASE("unused regions are forgotten, and those in use are not") {
    Bench bench;
    Task& holder = bench.task(bench.root, {bench.region(0, 0, 1)});
    Task& waiter = bench.task(bench.root, {bench.region(0, 0, 2)});
    CHECK(bench.arbiter.acquire(holder));
    CHECK_FALSE(bench.arbiter.acquire(waiter));
    for (Index row = 10; row < 2000; ++row) {
        Task& task = bench.task(bench.root, {bench.region(static_cast<std::size_t>(row % 2), row, row + 1)});
        CHECK(bench.arbiter.acquire(task));
        CHECK(bench.released_by(task).empty());
    }
    CHECK(bench.released_by(holder) == List{&waiter});
}
