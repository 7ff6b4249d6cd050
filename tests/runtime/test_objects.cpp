// Values of the program's own types as data of tasks, arrays that are given up without waiting, and contents that are
// given up.
#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "basalt/array.hpp"
#include "basalt/graph.hpp"
#include "basalt/object.hpp"
#include "basalt/recording.hpp"
#include "basalt/routine.hpp"
#include "basalt/runtime.hpp"
#include "tests/common/catch.hpp"
#include "tests/common/gate.hpp"
#include "tests/common/mentions.hpp"
#include "tests/common/runtime_settings.hpp"
#include "tests/common/watchdog.hpp"

using namespace basalt;
using basalt_tests::error_of;
using basalt_tests::every_setting;
using basalt_tests::Gate;
using basalt_tests::mentions;
using basalt_tests::WatchedSetting;

namespace {

/// Counts how many of its kind live; neither copyable nor movable.
struct Counted {
    explicit Counted(std::atomic<int>& count, int start = 0) : living(&count), value(start) { ++*living; }
    ~Counted() { --*living; }
    Counted(const Counted&) = delete;
    Counted& operator=(const Counted&) = delete;

    std::atomic<int>* living;
    int value;
};

using Words = std::map<std::string, int>;

}  // namespace

// -- objects

TEST_CASE("tasks use an object in the order of their accesses, by reference", "[sanitize]") {
    const WatchedSetting setting(GENERATE(from_range(every_setting())));
    Runtime rt(setting.config());
    const Object<Words> words(rt);
    Array<int> seen(rt, 1);
    std::atomic<int> wrong{0};
    for (int round = 0; round < 40; ++round) {
        rt.submit({}, write(words), [round](Words& w) { w = {{"round", round}}; });
        for (int i = 0; i < 3; ++i) rt.submit({}, commute(words), [](Words& w) { ++w["added"]; });
        rt.submit({}, read(words), write(seen), [&, round](const Words& w, View<int> s) {
            wrong += w.at("round") != round || w.at("added") != 3;
            s[0] = round;
        });
        rt.submit({}, readwrite(words), read(seen), [&, round](Words& w, View<const int> s) {
            wrong += s[0] != round;
            w.clear();
        });
    }
    CHECK(words.host_value().empty());
    CHECK(wrong == 0);
    rt.wait();
}

TEST_CASE("lists, recordings, loops and values work with objects, too", "[sanitize]") {
    const WatchedSetting setting(GENERATE(from_range(every_setting())));
    Runtime rt(setting.config());
    const Object<std::vector<int>> log(rt);
    AccessList list;
    list.readwrite(log);
    rt.submit({}, list, [](const Addresses& a) { static_cast<std::vector<int>*>(a.front())->push_back(1); });
    Recording twice(rt, [&] {
        rt.submit({}, readwrite(log), [](std::vector<int>& l) { l.push_back(2); });
        rt.submit({}, readwrite(log), [](std::vector<int>& l) { l.push_back(3); });
    });
    twice.run();
    twice.run();
    Future<std::size_t> size = rt.submit({}, read(log), [](const std::vector<int>& l) { return l.size(); });
    CHECK(size.get() == 5);
    std::atomic<int> sum{0};
    rt.parallel_for(
        {0, 5}, 1, [&](Index i, const std::vector<int>& l) { sum += l[static_cast<std::size_t>(i)]; }, read(log));
    CHECK(sum == 11);
    CHECK(log.host_value() == std::vector<int>{1, 2, 3, 2, 3});
}

TEST_CASE("kernels of every form may write an object", "[sanitize]") {
    const WatchedSetting setting(GENERATE(from_range(every_setting())));
    Runtime rt(setting.config());
    const Object<int> number(rt, 3);
    CHECK(rt.submit({}, readwrite(number), [](int& n) { return n++; }).get() == 3);
    rt.submit({}, readwrite(number), [&rt](int& n) -> Routine<> {
        co_await rt.submit({}, [] {});
        n += 10;
    });
    Array<int> seen(rt, 1);
    Future<int> both = rt.submit({}, write(seen), readwrite(number), [](View<int> s, int& n) -> Routine<int> {
        s[0] = n++;
        co_return n;
    });
    CHECK(both.get() == 15);
    CHECK(seen.host_view()[0] == 14);
    rt.submit({}, [] { return 5; })
        .then(
            {}, [](int five, int& n) { n += five; }, readwrite(number));
    rt.submit({}, [] {}).then(
        {}, [](int& n) { n *= 2; }, readwrite(number));
    CHECK(number.host_value() == 40);
    rt.submit_for(
        {}, {0, 10}, 1, [](Index, int& n) { std::atomic_ref(n) += 1; }, readwrite(number));
    rt.parallel_for(
        {0, 10}, 1, [](IndexRange, int& n) { std::atomic_ref(n) += 1; }, readwrite(number));
    rt.submit_chunks(
        {}, {0, 10}, 1, [&](IndexRange) { return commute(number); }, [](Index, int& n) { ++n; });
    CHECK(number.host_value() == 70);
}

TEST_CASE("an object's value is made in place, and ends behind its last user", "[sanitize]") {
    const WatchedSetting setting(GENERATE(from_range(every_setting())));
    std::atomic<int> living{0};
    std::optional<Runtime> rt(std::in_place, setting.config());
    auto outer = std::make_unique<Object<Counted>>(*rt, living, 7);
    CHECK(living == 1);
    std::atomic<int> value{0};
    rt->submit({}, readwrite(*outer), [&](Counted&) {
        outer.reset();  // inside a task that uses it
        CHECK(living == 1);
    });
    rt->wait();
    CHECK(living == 0);
    Object<Counted> late(*rt, living, 8);
    rt->submit({}, read(late), [&](const Counted& c) { value = c.value; });
    Object<Counted> moved = std::move(late);
    CHECK(moved.host_value().value == 8);
    CHECK(value == 8);
    rt.reset();
    CHECK(living == 0);
    CHECK_THROWS_AS(moved.host_value(), UsageError);
}

TEST_CASE("what a failed task should have made of an object is not shown", "[sanitize]") {
    const WatchedSetting setting(GENERATE(from_range(every_setting())));
    Runtime rt(setting.config());
    const Object<int> x = Object<int>::named("counter", rt, 3);
    rt.submit({}, write(x), [](int&) { throw std::runtime_error("boom"); });
    CHECK_THROWS_AS(rt.wait(), TaskError);
    CHECK(mentions(error_of<DataError>([&] { x.host_value(); }), "'counter'"));
    x.host_overwrite() = 4;
    rt.submit({}, readwrite(x), [](int& v) { ++v; });
    CHECK(x.host_value() == 5);
}

// -- temporaries

TEST_CASE("an array that is released when unused lives until its last task has ended", "[sanitize]") {
    const WatchedSetting setting(GENERATE(from_range(every_setting())));
    Runtime rt(setting.config());
    Array<long> sum(rt, 1);
    Gate gate;
    rt.submit({}, write(sum), [&](View<long> s) {
        gate.pass();
        s[0] = 0;
    });
    for (int i = 0; i < 50; ++i) {
        Array<long> part(rt, 1000, "part");
        rt.submit({}, read(sum), write(part), [i](View<const long>, View<long> p) {
            for (Index j = 0; j < p.size(); ++j) p[j] = i;
        });
        rt.submit({}, read(part), readwrite(sum), [](View<const long> p, View<long> s) {
            for (Index j = 0; j < p.size(); ++j) s[0] += p[j];
        });
        const Region<long> former = part.region();
        part.release_when_unused();  // at once, although nothing has run
        CHECK(part.size() == 0);
        CHECK(mentions(error_of<UsageError>([&] { rt.submit({}, read(former), [] {}); }), "part"));
        part.release_when_unused();  // an empty one: nothing
    }
    gate.open();
    CHECK(sum.host_view()[0] == 1000 * 49 * 50 / 2);
    std::vector<long> mine(4);
    Array<long> wrapped = Array<long>::wrap(rt, mine.data(), 4, "mine");
    CHECK(mentions(error_of<UsageError>([&] { wrapped.release_when_unused(); }), "'mine'"));
    CHECK(wrapped.host_view().size() == 4);
}

// -- contents that are given up

TEST_CASE("invalidated contents are not read until they are written again", "[sanitize]") {
    const WatchedSetting setting(GENERATE(from_range(every_setting())));
    Runtime rt(setting.config());
    Array<int> x(rt, 10, "x");
    std::atomic<int> read_before{0}, read_after{0};
    rt.submit({}, write(x), [](View<int> v) { v[0] = 5; });
    rt.submit({}, read(x), [&](View<const int> v) { read_before = v[0]; });
    rt.invalidate(x);
    Graph graph(rt);
    graph.submit({}, read(x), [&](View<const int>) { ++read_after; });
    CHECK(mentions(error_of<DataError>([&] { graph.wait(); }), "the program invalidated it"));
    rt.wait();
    CHECK(read_before == 5);
    CHECK(read_after == 0);
    CHECK_THROWS_AS(x.host_view(), DataError);
    rt.submit({}, write(x), [](View<int> v) {
        for (Index i = 0; i < v.size(); ++i) v[i] = 6;
    });
    CHECK(x.host_view()[9] == 6);
    rt.invalidate(x);
    x.host_overwrite()[0] = 7;
    CHECK(x.host_view()[0] == 7);
    rt.submit({}, [&] { CHECK_THROWS_AS(rt.invalidate(x), UsageError); });
    rt.wait();
    const Region<int> former = x.region();
    x.release();
    CHECK_THROWS_AS(rt.invalidate(x), UsageError);
    CHECK_THROWS_AS(rt.prefetch(former, Place::cpu()), UsageError);
}
