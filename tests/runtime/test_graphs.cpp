// Graphs of the user's: their errors, cancels and waits are their own, dependencies hold across them, and what a failed
// task should have written is never taken for contents.
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "basalt/array.hpp"
#include "basalt/graph.hpp"
#include "basalt/runtime.hpp"
#include "tests/common/catch.hpp"
#include "tests/common/gate.hpp"
#include "tests/common/mentions.hpp"
#include "tests/common/runtime_settings.hpp"
#include "tests/common/watchdog.hpp"

using namespace basalt;
using namespace std::chrono_literals;
using basalt_tests::comes_true;
using basalt_tests::error_of;
using basalt_tests::every_setting;
using basalt_tests::Gate;
using basalt_tests::mentions;
using basalt_tests::Setting;
using basalt_tests::Watchdog;
using basalt_tests::WatchedSetting;

namespace {

void increment(View<int> x) { ++x[0]; }
void fail(View<int>) { throw std::runtime_error("boom"); }

}  // namespace

TEST_CASE("an error reaches the graph that it happened in and no other", "[sanitize]") {
    const WatchedSetting setting(GENERATE(from_range(every_setting())));
    Runtime runtime(setting.config());
    std::atomic<int> sound{0};
    std::atomic<int> told{0};
    const auto work = [&](bool fails) {
        Graph graph(runtime);
        Array<int> x(runtime, 1, "x");
        for (int round = 0; round < 20; ++round) {
            graph.submit({}, write(x), [](View<int> x) { x[0] = 0; });
            for (int i = 0; i < 10; ++i) graph.submit({}, readwrite(x), increment);
            if (fails) graph.submit({.name = "bad"}, readwrite(x), fail);
            try {
                graph.wait();
                sound += x.host_view()[0] == 10;
            } catch (const TaskError& error) {
                told += error.task() == "bad";
            }
        }
    };
    std::thread failing([&] { work(true); });
    std::thread other([&] { work(false); });
    work(false);
    failing.join();
    other.join();
    runtime.wait();
    CHECK(sound == 40);
    CHECK(told == 20);
}

TEST_CASE("dependencies hold across graphs on the same data", "[sanitize]") {
    const WatchedSetting setting(GENERATE(from_range(every_setting())));
    Runtime runtime(setting.config());
    Graph first(runtime);
    Graph second(runtime, 5);
    Array<long> x(runtime, 1);
    long expected = 0;
    for (long i = 0; i < 300; ++i) {
        const auto step = [i](View<long> x) { x[0] = 3 * x[0] % 1000 + i; };
        expected = 3 * expected % 1000 + i;
        if (i % 3 == 0) {
            first.submit({}, readwrite(x), step);
        } else if (i % 3 == 1) {
            second.submit({}, readwrite(x), step);
        } else {
            runtime.submit({}, readwrite(x), step);
        }
    }
    first.wait();
    second.wait();
    CHECK(x.host_view()[0] == expected);
    runtime.wait();
}

TEST_CASE("what depends on a failed task does not run in any graph, until its data are written", "[sanitize]") {
    const WatchedSetting setting(GENERATE(from_range(every_setting())));
    Runtime runtime(setting.config());
    Graph failing(runtime);
    Graph dependent(runtime);
    Array<int> x(runtime, 4, "x");
    Array<int> y(runtime, 1, "y");
    Array<int> z(runtime, 1, "z");
    std::atomic<int> ran{0};
    std::atomic<int> wrong{0};
    const bool waits_first = GENERATE(false, true);
    failing.submit({.name = "bad"}, readwrite(x.rows(0, 2)), fail);
    if (waits_first) CHECK_THROWS_AS(failing.wait(), TaskError);
    dependent.submit({.name = "use"}, read(x.rows(1, 3)), readwrite(y), [&](View<const int>, View<int>) { ++wrong; });
    dependent.submit({.name = "use of use"}, read(y), readwrite(z), [&](View<const int>, View<int>) { ++wrong; });
    dependent.submit({}, readwrite(x.rows(2, 4)), [&](View<int>) { ++ran; });
    const std::string text = error_of<DataError>([&] { dependent.wait(); });
    CHECK(mentions(text, "task use did not run: 'x' rows [0, 2) has no valid contents: task bad failed"));
    CHECK(mentions(text, "boom"));
    CHECK(ran == 1);
    CHECK(wrong == 0);
    CHECK(mentions(error_of<DataError>([&] { x.host_view(); }), "'x' rows [0, 2)"));
    CHECK(mentions(error_of<DataError>([&] { z.host_view(); }), "task bad failed"));
    if (!waits_first) CHECK_THROWS_AS(failing.wait(), TaskError);

    runtime.submit({}, write(x.rows(0, 1)), [](View<int> x) { x[0] = 1; });
    CHECK(mentions(error_of<DataError>([&] { x.host_view(); }), "'x' rows [1, 2)"));
    runtime.submit({}, write(x.rows(1, 2)), [](View<int> x) { x[0] = 1; });
    runtime.submit({}, readwrite(x), increment);
    CHECK(x.host_view()[0] == 2);
    z.host_overwrite()[0] = 5;
    runtime.submit({}, readwrite(z), increment);
    CHECK(z.host_view()[0] == 6);
    runtime.wait();
    dependent.wait();
}

TEST_CASE("a cancelled graph drops its own tasks and leaves others alone", "[sanitize]") {
    const WatchedSetting setting(GENERATE(from_range(every_setting())));
    Runtime runtime(setting.config());
    Graph cancelled(runtime);
    Graph other(runtime);
    Array<int> x(runtime, 1, "x");
    Array<int> y(runtime, 1, "y");
    Gate gate;
    cancelled.submit({}, readwrite(x), [&](View<int>) { gate.pass(); });
    for (int i = 0; i < 10; ++i) cancelled.submit({.name = "dropped"}, readwrite(x), increment);
    for (int i = 0; i < 10; ++i) other.submit({}, readwrite(y), increment);
    gate.await_arrival();
    cancelled.cancel();
    CHECK(cancelled.cancelled());
    CHECK_FALSE(other.cancelled());
    gate.open();
    CHECK_THROWS_AS(cancelled.wait(), Cancelled);
    other.wait();
    CHECK(y.host_view()[0] == 10);
    CHECK(mentions(error_of<DataError>([&] { x.host_view(); }),
                   "task dropped did not run, because its graph was cancelled"));
    cancelled.submit({}, write(x), [](View<int> x) { x[0] = 7; });
    cancelled.wait();
    CHECK(x.host_view()[0] == 7);
}

TEST_CASE("cancelling while nothing is in flight does nothing") {
    const WatchedSetting setting(GENERATE(from_range(every_setting({1, 2}))));
    Runtime runtime(setting.config());
    Graph graph(runtime);
    Array<int> x(runtime, 1);
    runtime.submit({}, [] {});
    runtime.wait();
    runtime.cancel();
    graph.cancel();
    runtime.submit({}, write(x), [](View<int> x) { x[0] = 1; });
    graph.submit({}, readwrite(x), increment);
    CHECK(x.host_view()[0] == 2);
    graph.wait();
    runtime.wait();
}

TEST_CASE("a loop that reads its residual ends with an error when a task of it fails") {
    const WatchedSetting setting(GENERATE(from_range(every_setting({1, 2}))));
    Runtime runtime(setting.config());
    Array<double> residual(runtime, 1, "residual");
    runtime.submit({}, write(residual), [](View<double> r) { r[0] = 1; });
    int rounds = 0;
    const auto iterate = [&] {
        for (; residual.host_view()[0] > 1e-3 && rounds < 1000; ++rounds) {
            runtime.submit({.name = "iterate"}, readwrite(residual), [k = rounds](View<double> r) {
                if (k == 3) throw std::runtime_error("diverged");
                r[0] *= 0.5;
            });
        }
    };
    CHECK(mentions(error_of<DataError>(iterate), "diverged"));
    CHECK(rounds == 4);
    CHECK_THROWS_AS(runtime.wait(), TaskError);
}

TEST_CASE("a library's own tasks go to the graph that the thread submits to") {
    const Watchdog watchdog("SubmitTo");
    Runtime runtime(Setting{"priority", 2}.config());
    Graph graph(runtime);
    Graph inner(runtime);
    Gate gate;
    runtime.submit({}, [&] { gate.pass(); });  // so that runtime.wait() could not return
    {
        const SubmitTo here(graph);
        Array<int> x(runtime, 1);
        runtime.submit({}, readwrite(x), increment);
        {
            const SubmitTo there(inner);
            runtime.submit({.name = "bad"}, [] { throw std::runtime_error("boom"); });
        }
        runtime.submit({}, readwrite(x), increment);
        runtime.wait();
        CHECK(x.host_view()[0] == 2);
    }
    while (inner.error() == nullptr) std::this_thread::yield();
    CHECK(runtime.error() == nullptr);  // that of the program's own graph
    {
        const SubmitTo there(inner);
        CHECK(runtime.error() == inner.error());
    }
    CHECK_THROWS_AS(inner.wait(), TaskError);
    CHECK(inner.error() == nullptr);
    gate.open();
    runtime.wait();
}

TEST_CASE("priorities of graphs add to those of tasks") {
    const Watchdog watchdog("priorities");
    Runtime runtime(Setting{"priority", 1}.config());
    Graph urgent(runtime, 100);
    std::vector<int> order;
    std::mutex lock;
    const auto note = [&](int number) {
        const std::lock_guard guard(lock);
        order.push_back(number);
    };
    Array<int> start(runtime, 1);
    Gate gate;
    runtime.submit({.priority = 1000}, write(start), [&](View<int>) { gate.pass(); });
    for (int i = 0; i < 3; ++i) runtime.submit({.priority = i}, read(start), [&, i](View<const int>) { note(i); });
    urgent.submit({.priority = -90}, read(start), [&](View<const int>) { note(10); });
    urgent.submit({}, read(start), [&](View<const int>) { note(100); });
    gate.open();
    runtime.wait();
    urgent.wait();
    CHECK(order == std::vector<int>{100, 10, 2, 1, 0});
}

TEST_CASE("a graph is refused inside a task, and after its runtime has ended") {
    const Watchdog watchdog("misuse");
    auto runtime = std::make_unique<Runtime>(Setting{"priority", 2}.config());
    Graph graph(*runtime);
    std::string text;
    runtime->submit({.name = "outer"}, [&] {
        try {
            graph.submit({}, [] {});
        } catch (const UsageError& error) {
            text = error.what();
        }
    });
    runtime->wait();
    CHECK(mentions(text, "inside task 'outer'"));
    int ran = 0;
    graph.submit({}, [&] { ++ran; });
    runtime.reset();
    CHECK(ran == 1);
    CHECK_THROWS_AS(graph.submit({}, [] {}), UsageError);
    CHECK_THROWS_AS(graph.wait(), UsageError);
    CHECK_THROWS_AS(graph.runtime(), UsageError);
}

TEST_CASE("a task that is dropped while another thread takes the error is not taken for one that ran", "[sanitize]") {
    const Watchdog watchdog("dropped during wait()");
    Runtime runtime(Setting{"priority", 4}.config());
    Graph graph(runtime);
    Graph reader(runtime);
    std::atomic<bool> stop{false};
    std::thread waiting([&] {
        while (!stop) {
            try {
                graph.wait();
            } catch (const Error&) {
            }
        }
    });
    std::atomic<int> wrong{0};
    for (int i = 0; i < 5000; ++i) {
        Array<int> x(runtime, 1);
        bool wrote = false;
        graph.submit({}, [] { throw std::runtime_error("boom"); });
        graph.submit({}, write(x), [&](View<int> x) {
            x[0] = 7;
            wrote = true;
        });
        reader.submit({}, read(x), [&](View<const int>) { wrong += wrote ? 0 : 1; });
        try {
            reader.wait();
        } catch (const DataError&) {
        }
    }
    stop = true;
    waiting.join();
    CHECK(wrong == 0);
}

TEST_CASE("children that begin after their parent has failed do not make its data valid", "[sanitize]") {
    const Watchdog watchdog("children of a failed parent");
    Runtime runtime(Setting{"priority", 4}.config());
    constexpr Index parts = 500;
    std::atomic<int> wrong{0};
    for (int round = 0; round < 20; ++round) {
        Array<int> x(runtime, parts);
        Graph failing(runtime);
        Graph reader(runtime);
        failing.submit({.name = "parent"}, write(x), [&](View<int>) {
            for (Index i = 0; i < parts; ++i)
                runtime.submit({}, write(x.rows(i, i + 1)), [](View<int> x) { x[0] = 1; });
            throw std::runtime_error("boom");
        });
        for (Index i = 0; i < parts; ++i) {
            reader.submit({}, read(x.rows(i, i + 1)), [&](View<const int>) { ++wrong; });
        }
        CHECK_THROWS_AS(failing.wait(), TaskError);
        CHECK_THROWS_AS(reader.wait(), DataError);
    }
    CHECK(wrong == 0);
}

TEST_CASE("a graph that is given up inside a task, or by what one captured, lives until its tasks have run",
          "[sanitize]") {
    const Watchdog watchdog("graphs given up in tasks");
    Runtime runtime(Setting{"priority", 2}.config());
    std::atomic<int> ran{0};
    for (int i = 0; i < 50; ++i) {
        auto captured = std::make_shared<Graph>(runtime);
        captured->submit({}, [captured, &ran] { ++ran; });
        captured.reset();
        auto given_up = std::make_unique<Graph>(runtime);
        Graph& graph = *given_up;
        graph.submit({}, [&given_up, &ran] {
            given_up.reset();
            ++ran;
        });
        runtime.wait();
        CHECK(comes_true([&] { return ran == 2 * i + 2; }));
    }
    std::string text;
    runtime.submit({.name = "maker"}, [&] {
        try {
            const Graph inside(runtime);
        } catch (const UsageError& error) {
            text = error.what();
        }
    });
    runtime.wait();
    CHECK(mentions(text, "making a Graph inside task 'maker'"));
}

TEST_CASE("a graph does not wait for tasks of others on which it does not depend") {
    const Watchdog watchdog("independent graphs");
    Runtime runtime(Setting{"priority", 4}.config());
    Graph reading(runtime);
    Graph writing(runtime);
    Array<int> x(runtime, 1);
    Array<int> y(runtime, 1);
    Gate gate;
    runtime.submit({}, write(x), [](View<int> x) { x[0] = 1; });
    runtime.wait();
    reading.submit({}, read(x), write(y), [&](View<const int>, View<int>) { gate.pass(); });
    gate.await_arrival();
    SECTION("renaming") {
        writing.submit({}, write(x), [](View<int> x) { x[0] = 2; });
        writing.wait();  // before, this waited for the reader of the old contents
    }
    SECTION("many readers") {
        for (int i = 0; i < 200; ++i) {
            // They wait for the gate by their dependency on y. In their kernels they would block every worker, and the
            // thread that waits below.
            reading.submit({}, read(x), read(y), [](View<const int>, View<const int>) {});
            writing.submit({}, read(x), [](View<const int>) {});
        }
        writing.wait();
    }
    gate.open();
    reading.wait();
    runtime.wait();
}
