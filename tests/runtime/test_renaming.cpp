// Arrays that get fresh memory when they are overwritten.
#include <atomic>
#include <mutex>
#include <set>
#include <vector>

#include "basalt/array.hpp"
#include "basalt/runtime.hpp"
#include "tests/common/catch.hpp"
#include "tests/common/gate.hpp"
#include "tests/common/runtime_settings.hpp"

using namespace basalt;
using basalt_tests::comes_true;
using basalt_tests::every_setting;
using basalt_tests::Gate;
using basalt_tests::WatchedSetting;

TEST_CASE("a writer of a whole owned array overtakes its readers on fresh memory") {
    const WatchedSetting setting(GENERATE(from_range(every_setting({2, 4, 8}))));
    Gate gate;
    std::atomic<bool> written{false};
    std::atomic<int> old_value{0};
    Runtime runtime(setting.config());
    Array<int> x(runtime, 3);
    runtime.submit({}, write(x), [](View<int> x) { x[0] = 1; });
    runtime.submit({}, read(x), [&](View<const int> x) {
        gate.pass();
        old_value = x[0];
    });
    gate.await_arrival();
    runtime.submit({}, write(x), [&](View<int> x) {
        x[0] = 2;
        written = true;
    });
    CHECK(comes_true([&] { return written.load(); }));
    CHECK(runtime.statistics().renamed == 1);
    gate.open();
    CHECK(x.host_view()[0] == 2);
    CHECK(old_value == 1);
}

TEST_CASE("a writer that waits for all users of an array anyway gets no fresh memory") {
    Gate gate;
    Runtime runtime({.workers = 2});
    Array<int> x(runtime, 1), y(runtime, 1);
    runtime.submit({}, write(x), [&](View<int> x) {
        gate.pass();
        x[0] = 1;
    });
    gate.await_arrival();
    runtime.submit({}, read(x), write(y), [](View<const int> x, View<int> y) { y[0] = x[0] + 1; });
    runtime.submit({}, read(y), write(x), [](View<const int> y, View<int> x) { x[0] = y[0] + 1; });
    CHECK(runtime.statistics().renamed == 0);
    SECTION("one of the users is another task") {
        runtime.submit({}, read(y), [](View<const int>) {});
        runtime.submit({}, read(x), write(y), [](View<const int> x, View<int> y) { y[0] = x[0]; });
        CHECK(runtime.statistics().renamed == 1);
    }
    gate.open();
    CHECK(x.host_view()[0] == 3);
}

TEST_CASE("an array that is renamed again and again uses few memories", "[sanitize]") {
    Runtime runtime({.workers = 2});
    Array<int> x(runtime, 1);
    std::mutex mutex;
    std::set<const int*> memories;
    std::atomic<int> wrong{0};
    Gate gate;
    runtime.submit({}, read(x), [&](View<const int>) { gate.pass(); });
    gate.await_arrival();
    for (int i = 0; i < 2000; ++i) {
        if (i == 100) gate.open();
        runtime.submit({}, write(x), [&, i](View<int> x) {
            x[0] = i;
            const std::lock_guard guard(mutex);
            memories.insert(x.data());
        });
        runtime.submit({}, read(x), [&wrong, i](View<const int> x) { wrong += x[0] == i ? 0 : 1; });
        if (i % 500 == 499) CHECK(x.host_view()[0] == i);
    }
    runtime.wait();
    CHECK(wrong == 0);
    CHECK(runtime.statistics().renamed > 0);
    CHECK(memories.size() <= 17);
}

TEST_CASE("a writer waits for the readers of what is borrowed, only partly written, or written without views") {
    const WatchedSetting setting(GENERATE(from_range(every_setting({2, 4}))));
    const int kind = GENERATE(0, 1, 2);
    CAPTURE(kind);
    Gate gate;
    std::atomic<bool> written{false};
    std::vector<int> memory(3, 0);
    Runtime runtime(setting.config());
    Array<int> x = kind == 0 ? Array<int>::wrap(runtime, memory.data(), 3) : Array<int>(runtime, 3);
    runtime.submit({}, read(x), [&](View<const int>) { gate.pass(); });
    gate.await_arrival();
    if (kind < 2) {
        runtime.submit({}, write(kind == 1 ? x.rows(0, 2) : x.region()), [&](View<int>) { written = true; });
    } else {
        runtime.submit({}, AccessList().write(x), [&] { written = true; });
    }
    CHECK_FALSE(comes_true([&] { return written.load(); }, std::chrono::milliseconds(30)));
    gate.open();
    runtime.wait();
    CHECK(written);
    CHECK(runtime.statistics().renamed == 0);
}
