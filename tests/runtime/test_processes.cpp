// Processes around the runtime: fork(), exec, and the ends of a process. Cases that fork run in a process of their own,
// and not under ThreadSanitizer, which does not follow a process with several threads through fork().
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "basalt/array.hpp"
#include "basalt/graph.hpp"
#include "basalt/lu.hpp"
#include "basalt/matrix.hpp"
#include "basalt/recording.hpp"
#include "basalt/runtime.hpp"
#include "basalt/span.hpp"
#include "tests/common/catch.hpp"
#include "tests/common/child_process.hpp"
#include "tests/common/gate.hpp"
#include "tests/common/mentions.hpp"
#include "tests/common/runtime_settings.hpp"

using namespace basalt;
using namespace std::chrono_literals;
using basalt_tests::Ended;
using basalt_tests::error_of;
using basalt_tests::Gate;
using basalt_tests::in_child;
using basalt_tests::mentions;
using basalt_tests::small_machine;

namespace {

/// A hidden case of this program, in a process of its own that begins with main().
Ended alone(const char* test_case) {
    return in_child([&] {
        execl("/proc/self/exe", "test_processes", test_case, static_cast<char*>(nullptr));
        _exit(3);
    });
}

int sum_on(Runtime& rt) {
    Array<int> x(rt, 4);
    for (int i = 0; i < 100; ++i) rt.submit({}, readwrite(x), [](View<int> v) { ++v[0]; });
    rt.submit({.threads = {2, 2}}, readwrite(x), [](const Team& team, View<int> v) {
        team.barrier();
        if (team.rank() == 0) ++v[0];
    });
    return x.host_view()[0];
}

/// Prints what the call throws, if it is a UsageError.
template <class Call>
void print_error(const char* what, const Call& call) {
    std::printf("%s: %s\n", what, error_of<UsageError>(call).c_str());
}

}  // namespace

TEST_CASE("in a child process an inherited runtime is refused by every use, and its end does nothing") {
    const int gpus = GENERATE(0, 1);
    const bool busy = GENERATE(false, true);
    CAPTURE(gpus, busy);
    Gate gate;
    std::optional<Runtime> rt(small_machine(gpus));
    std::optional<Array<int>> x(std::in_place, *rt, 4, "inherited");
    std::optional<Matrix<double>> a(std::in_place, *rt, 64, 64);
    std::optional<Graph> graph(std::in_place, *rt);
    std::optional<Recording> recording(std::in_place, *rt, [&] { rt->submit({}, readwrite(*x), [](View<int>) {}); });
    const TaskHandle handle = rt->submit({}, [] {});
    if (busy) rt->submit({}, readwrite(*x), [&](View<int>) { gate.pass(); });
    if (busy) gate.await_arrival();
    const Ended child = in_child([&] {
        print_error("submit", [&] { rt->submit({}, [] {}); });
        print_error("wait", [&] { rt->wait(); });
        print_error("wait_for", [&] { rt->wait_for(1ms); });
        print_error("cancel", [&] { rt->cancel(); });
        print_error("statistics", [&] { rt->statistics(); });
        print_error("array", [&] { Array<int>(*rt, 3); });
        print_error("view", [&] { x->host_view(); });
        print_error("graph", [&] { graph->wait(); });
        print_error("graph's submit", [&] { graph->submit({}, [] {}); });
        print_error("new graph", [&] { Graph other(*rt); });
        print_error("matrix", [&] { a->tile(0, 0); });
        print_error("handle", [&] { handle.wait(); });
        print_error("recording", [&] { recording->run(); });
        print_error("factor", [&] { lu_factor(*rt, *a); });
        {
            Runtime fresh(small_machine(gpus));
            print_error("array in another runtime", [&] { fresh.submit({}, readwrite(*x), [](View<int>) {}); });
            std::printf("fresh: %d\n", sum_on(fresh));
        }
        recording.reset();
        graph.reset();
        x.reset();
        rt.reset();
        a.reset();
        std::puts("all gone");
    });
    CAPTURE(child.text);
    CHECK(child.ending == "exit 0");
    for (const char* use : {"submit", "wait", "wait_for", "cancel", "statistics", "array", "handle", "new graph"}) {
        CAPTURE(use);
        CHECK(mentions(child.text, std::string(use) + ": the Runtime cannot be used: it was made before fork()"));
    }
    CHECK(mentions(child.text, "view: array or matrix 'inherited' cannot be used: it was made before fork()"));
    CHECK(mentions(child.text, "graph: the Graph cannot be used: it was made before fork()"));
    CHECK(mentions(child.text, "recording: the Recording cannot be used: it was made before fork()"));
    CHECK(mentions(child.text, "factor: the matrix cannot be used: it was made before fork()"));
    CHECK(mentions(child.text, "matrix: the matrix cannot be used: it was made before fork()"));
    CHECK(mentions(child.text, "access to array or matrix 'inherited': it was made before fork()"));
    CHECK(mentions(child.text, "fresh: 101"));
    CHECK(mentions(child.text, "all gone"));
    // the parent does not notice
    gate.open();
    CHECK(sum_on(*rt) == 101);
    graph->submit({}, [] {});
    graph->wait();
}

TEST_CASE("processes may be forked while tasks are submitted, named and run") {
    Runtime rt(small_machine());
    std::atomic<bool> over{false};
    std::vector<std::thread> threads;
    for (int t = 0; t < 2; ++t) {
        threads.emplace_back([&, t] {
            for (int i = 0; !over; ++i) {
                Array<int> x(rt, 4);
                const std::string name = "task " + std::to_string(i % 50 + t);
                rt.submit({.name = TaskName::intern(name)}, readwrite(x), [](View<int> v) { ++v[0]; });
                if (i % 10 == 0) rt.wait();
            }
        });
    }
    int good = 0;
    std::string unexpected;
    for (int round = 0; round < 20; ++round) {
        const Ended child = in_child([&] {
            Runtime fresh(small_machine());
            std::printf("%d %s", sum_on(fresh), TaskName::intern("child").c_str());
        });
        const bool as_expected = child.text == "101 child" && child.ending == "exit 0";
        good += as_expected ? 1 : 0;
        if (!as_expected) unexpected = child.ending + ": " + child.text;
    }
    over = true;
    for (std::thread& thread : threads) thread.join();
    CAPTURE(unexpected);
    CHECK(good == 20);
    rt.wait();
}

TEST_CASE("a task may fork; its child ends by exit, exec or _exit, and is told when its kernel returns") {
    const int way = GENERATE(0, 1, 2, 3);
    CAPTURE(way);
    const Ended program = in_child([&] {
        static std::optional<Runtime> rt(small_machine());
        rt->submit({.name = "forks"}, [&] {
            const pid_t child = fork();
            if (child == 0) {
                std::signal(SIGABRT, SIG_DFL);
                if (way == 0) std::exit(7);
                if (way == 1) execl("/bin/sh", "sh", "-c", "exit 7", static_cast<char*>(nullptr));
                if (way == 2) _exit(7);
                return;
            }
            int status = 0;
            waitpid(child, &status, 0);
            if (WIFEXITED(status)) std::printf("child: %d\n", WEXITSTATUS(status));
            if (WIFSIGNALED(status)) std::printf("child: signal %d\n", WTERMSIG(status));
        });
        rt->wait();
        std::puts("parent goes on");
    });
    CAPTURE(program.text);
    CHECK(program.ending == "exit 0");
    CHECK(mentions(program.text, "parent goes on"));
    CHECK(mentions(program.text, way == 3 ? "child: signal 6" : "child: 7"));
    if (way == 3) CHECK(mentions(program.text, "task 'forks' forked, and its kernel has returned in the child"));
}

namespace {

/// How long the process takes to end once it exits; printed by its parent.
struct TimedEnd {
    Ended end;
    std::chrono::milliseconds took;
};

TimedEnd timed(const char* test_case) {
    const auto begin = std::chrono::steady_clock::now();
    Ended end = alone(test_case);
    return {std::move(end),
            std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - begin)};
}

/// Work that would take minutes.
void submit_long_work(Runtime& rt, Array<int>& x) {
    for (int i = 0; i < 100'000; ++i) {
        rt.submit({.name = "step"}, readwrite(x), [](View<int> v) {
            std::this_thread::sleep_for(5ms);
            ++v[0];
        });
        if (i > 100) return;
    }
}

/// A crash or hang in a static object's destructor shows in the exit status alone.
struct Farewell {
    ~Farewell() { std::fputs("destroyed\n", stderr); }
};

}  // namespace

TEST_CASE("exit() with work in flight ends the process promptly, whichever thread calls it") {
    for (const char* program :
         {"exit: static runtime", "exit: static arrays first", "exit: local runtime", "exit: inside a task",
          "exit: inside a task of a static runtime", "exit: while others submit", "exit: on GPUs"}) {
        CAPTURE(program);
        const TimedEnd end = timed(program);
        CAPTURE(end.end.text);
        CHECK(end.end.ending == "exit 5");
        CHECK(mentions(end.end.text, "exits while tasks are in flight"));
        CHECK(mentions(end.end.text, "destroyed"));
        CHECK(end.took < 10s);  // the work takes longer
    }
}

TEST_CASE("exit() and the end of main() without work in flight destroy static runtimes as usual") {
    const Ended idle = alone("exit: idle static runtime");
    CAPTURE(idle.text);
    CHECK(idle.ending == "exit 5");
    CHECK_FALSE(mentions(idle.text, "in flight"));
    const Ended quick = alone("quick_exit with work in flight");
    CAPTURE(quick.text);
    CHECK(quick.ending == "exit 5");
}

TEST_CASE("exit: static runtime", "[.child]") {
    static const Farewell farewell;
    static Runtime rt(small_machine());
    static Array<int> x(rt, 1);
    submit_long_work(rt, x);
    std::exit(5);
}

TEST_CASE("exit: static arrays first", "[.child]") {
    static const Farewell farewell;
    static Array<int> x;
    static std::optional<Matrix<double>> a;
    static std::optional<Graph> graph;
    static Runtime rt(small_machine());
    a.emplace(rt, 100, 100);
    graph.emplace(rt);
    x = Array<int>(rt, 1);
    graph->submit({}, readwrite(a->tile(0, 0)), [](View<double>) { std::this_thread::sleep_for(20ms); });
    submit_long_work(rt, x);
    std::exit(5);
}

TEST_CASE("exit: local runtime", "[.child]") {
    static const Farewell farewell;
    Runtime rt(small_machine());
    Array<int> x(rt, 1);
    submit_long_work(rt, x);
    std::exit(5);
}

TEST_CASE("exit: inside a task", "[.child]") {
    static const Farewell farewell;
    Runtime rt(small_machine());
    Array<int> x(rt, 1), y(rt, 1);
    submit_long_work(rt, x);
    rt.submit({.name = "exits"}, readwrite(y), [](View<int>) { std::exit(5); });
    submit_long_work(rt, y);
    rt.wait();
}

TEST_CASE("exit: inside a task of a static runtime", "[.child]") {
    static const Farewell farewell;
    static Runtime rt(small_machine());
    static Array<int> x(rt, 1), y(rt, 1);
    submit_long_work(rt, x);
    rt.submit({.name = "exits"}, readwrite(y), [](View<int>) {
        rt.submit({.name = "child"}, [] { std::this_thread::sleep_for(1s); });
        std::exit(5);
    });
    submit_long_work(rt, y);
    rt.wait();
}

TEST_CASE("exit: while others submit", "[.child]") {
    static const Farewell farewell;
    static Runtime rt(small_machine());
    static Array<int> x(rt, 1);
    static std::atomic<int> submitted{0};
    for (int t = 0; t < 3; ++t) {
        std::thread([] {
            while (true) {
                rt.submit({}, commute(x), [](View<int> v) { ++v[0]; });
                if (++submitted % 100 == 0) rt.wait();
            }
        }).detach();
    }
    while (submitted < 1000) std::this_thread::sleep_for(1ms);
    submit_long_work(rt, x);
    std::exit(5);
}

TEST_CASE("exit: on GPUs", "[.child]") {
    static const Farewell farewell;
    static Runtime rt(small_machine(1));
    static Array<int> x(rt, 1);
    for (int i = 0; i < 100; ++i) {
        rt.submit(
            {.name = "on a GPU", .place = Place::gpu(0)}, readwrite(x),
            [](View<int>) { std::this_thread::sleep_for(5ms); }, cuda([](Stream) {}));
    }
    std::exit(5);
}

TEST_CASE("exit: idle static runtime", "[.child]") {
    static Runtime rt(small_machine());
    static Array<int> x(rt, 1);
    rt.submit({}, readwrite(x), [](View<int> v) { v[0] = 5; });
    rt.wait();
    std::exit(x.host_view()[0]);
}

TEST_CASE("quick_exit with work in flight", "[.child]") {
    static Runtime rt(small_machine());
    static Array<int> x(rt, 1);
    submit_long_work(rt, x);
    std::quick_exit(5);
}

namespace {

/// Threads come, submit work on data of their own, and end before it has run. The number of tasks that ran.
int tasks_of_short_lived_threads() {
    Runtime rt(small_machine());
    std::atomic<int> ran{0};
    for (int t = 0; t < 20; ++t) {
        std::thread([&] {
            thread_local std::optional<Array<int>> own;
            thread_local std::unique_ptr<Graph> graph;
            own.emplace(rt, 8);
            graph = std::make_unique<Graph>(rt);
            const Span span("thread");
            for (int i = 0; i < 50; ++i) graph->submit({}, readwrite(*own), [&](View<int>) { ++ran; });
            for (int i = 0; i < 50; ++i) rt.submit({}, [&] { ++ran; });
        }).join();
    }
    rt.wait();
    return ran;
}

}  // namespace

TEST_CASE("threads that used a runtime may end before it, with arrays and work in flight", "[sanitize]") {
    CHECK(tasks_of_short_lived_threads() == 2000);
}

TEST_CASE("a process whose threads used a runtime and ended before it exits as usual") {
    const Ended program = in_child([] { std::printf("ran %d\n", tasks_of_short_lived_threads()); });
    CAPTURE(program.text);
    CHECK(program.ending == "exit 0");
    CHECK(mentions(program.text, "ran 2000"));
}
