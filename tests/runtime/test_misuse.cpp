// What programs do wrong: each is refused, or ends with a text that names the task, or is logged; nothing hangs.
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "basalt/array.hpp"
#include "basalt/runtime.hpp"
#include "runtime/engine/stall_watch.hpp"
#include "tests/common/catch.hpp"
#include "tests/common/mentions.hpp"
#include "tests/common/runtime_settings.hpp"
#include "tests/common/watchdog.hpp"

using namespace basalt;
using basalt_tests::error_of;
using basalt_tests::mentions;
using basalt_tests::small_machine;
using basalt_tests::Watchdog;

namespace {

struct Ended {
    std::string text;
    bool aborted;
};

/// Runs the program in a process of its own, which prints to a pipe. (No thread runs in this one at that time.)
template <class Program>
Ended in_another_process(const Program& program) {
    int pipe_ends[2];
    REQUIRE(pipe(pipe_ends) == 0);
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        alarm(30);
        dup2(pipe_ends[1], STDOUT_FILENO);
        dup2(pipe_ends[1], STDERR_FILENO);
        std::signal(SIGABRT, SIG_DFL);  // not the test program's handler
        program();
        _exit(0);
    }
    close(pipe_ends[1]);
    Ended ended{};
    char buffer[512];
    for (ssize_t got = 0; (got = ::read(pipe_ends[0], buffer, sizeof buffer)) > 0;) {
        ended.text.append(buffer, static_cast<std::size_t>(got));
    }
    close(pipe_ends[0]);
    int status = 0;
    waitpid(child, &status, 0);
    ended.aborted = WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
    return ended;
}

/// Waits for the runtime in its destructor, and keeps what that threw.
struct WaitsAtItsEnd {
    Runtime& runtime;
    std::string& error;
    ~WaitsAtItsEnd() {
        error = error_of<UsageError>([&] { runtime.wait(); });
    }
};

}  // namespace

TEST_CASE("a runtime that is destroyed inside its task ends the program and names the task") {
    const int gpus = GENERATE(0, 1);
    const Ended ended = in_another_process([&] {
        // No smart pointer: its reset() would take the address away from the thread that waits. The process ends before
        // anything is lost.
        auto* const rt = new Runtime(small_machine(gpus));
        rt->submit(
            {.name = "culprit", .place = gpus > 0 ? Place::gpu(0) : Place::cpu()}, [rt] { delete rt; },
            cuda([](Stream) {}));
        rt->wait();
    });
    CAPTURE(ended.text);
    CHECK(ended.aborted);
    CHECK(mentions(ended.text, "destroyed inside its task 'culprit'"));
}

TEST_CASE("a task that ends its thread ends the program and is named") {
    const int gpus = GENERATE(0, 1);
    const Ended ended = in_another_process([&] {
        Runtime rt(small_machine(gpus));
        rt.submit(
            {.name = "culprit", .place = gpus > 0 ? Place::gpu(0) : Place::cpu()}, [] { pthread_exit(nullptr); },
            cuda([](Stream) {}));
        rt.wait();
    });
    CAPTURE(ended.text);
    CHECK(ended.aborted);
    CHECK(mentions(ended.text, "task 'culprit' ends its thread"));
}

TEST_CASE("wait() in a destructor of what a kernel captured is refused and names the task", "[sanitize]") {
    const Watchdog watchdog;
    const int gpus = GENERATE(0, 1);
    Runtime rt(small_machine(gpus));
    std::string error;
    rt.submit(
        {.name = "owner", .place = gpus > 0 ? Place::gpu(0) : Place::cpu()},
        [guard = std::shared_ptr<WaitsAtItsEnd>(new WaitsAtItsEnd{rt, error})] {}, cuda([](Stream) {}));
    rt.wait();
    CHECK(mentions(error, "wait() in a destructor"));
    CHECK(mentions(error, gpus > 0 ? "a task on a GPU" : "task 'owner'"));
    rt.submit({}, [] {});
    rt.wait();
}

TEST_CASE("an array may be waited for in a destructor of what a kernel captured", "[sanitize]") {
    struct Looks {
        Array<int> x;
        std::atomic<int>& seen;
        ~Looks() {
            if (x.size() > 0) seen = x.host_view()[0];
        }
    };
    const Watchdog watchdog;
    Runtime rt(small_machine());
    std::atomic<int> seen{0};
    auto looks = std::shared_ptr<Looks>(new Looks{Array<int>(rt, 1), seen});
    rt.submit({}, write(looks->x), [](View<int> v) { v[0] = 3; });
    rt.submit({}, [looks = std::move(looks)] {});
    rt.wait();
    CHECK(seen == 3);
}

TEST_CASE("a thread that waits learns once that nothing has happened for long") {
    using std::chrono::seconds;
    const detail::StallWatch::Time start{};
    detail::StallWatch watch(seconds(5));
    CHECK_FALSE(watch.stalled(1, start));
    CHECK_FALSE(watch.stalled(1, start + seconds(5)));
    CHECK_FALSE(watch.stalled(2, start + seconds(6)));
    CHECK_FALSE(watch.stalled(2, start + seconds(11)));
    CHECK(watch.stalled(2, start + seconds(12)));
    CHECK_FALSE(watch.stalled(2, start + seconds(100)));
}

TEST_CASE("a thread that was started inside a task and waits hangs, but not without a word") {
    const Ended ended = in_another_process([] {
        alarm(7);  // behind the first message
        Runtime rt(small_machine());
        rt.submit({.name = "culprit"}, [&rt] { std::thread([&rt] { rt.wait(); }).join(); });
        rt.wait();
    });
    CAPTURE(ended.text);
    CHECK_FALSE(ended.aborted);
    CHECK(mentions(ended.text, "a thread has waited for 5 s in which no task began or completed"));
    CHECK(mentions(ended.text, "kernels that run on cores: 'culprit'"));
    CHECK(mentions(ended.text, "A task must not block on a thread that waits for the runtime"));
}

TEST_CASE("without a window a mutex may be held over submit()", "[sanitize]") {
    const Watchdog watchdog;
    Config config = small_machine();
    config.window = 0;
    Runtime rt(config);
    std::mutex lock;
    int count = 0;
    {
        const std::lock_guard guard(lock);
        for (int i = 0; i < 10'000; ++i) {
            rt.submit({}, [&] {
                const std::lock_guard inner(lock);
                ++count;
            });
        }
    }
    rt.submit({}, [&] {
        for (int i = 0; i < 5000; ++i) rt.submit({}, [] {});
    });
    rt.wait();
    CHECK(count == 10'000);
}

TEST_CASE("prefetch and broadcast check their arguments with and without GPUs") {
    const int gpus = GENERATE(0, 1);
    Runtime rt(small_machine(gpus));
    const Array<int> none;
    const Array<int> x(rt, 4);
    CHECK(mentions(error_of<UsageError>([&] { rt.prefetch(none, Place::cpu()); }), "empty"));
    CHECK(mentions(error_of<UsageError>([&] { rt.broadcast(none.region()); }), "empty"));
    CHECK(mentions(error_of<UsageError>([&] { rt.prefetch(x, Place::gpu(5)); }), "Place::gpu(5)"));
    CHECK(mentions(error_of<UsageError>([&] { rt.prefetch(x, Place::gpu(-1)); }), "Place::gpu(-1)"));
    CHECK(mentions(error_of<UsageError>([&] { rt.prefetch(x, Place::any()); }), "Place::any()"));
    CHECK_NOTHROW(rt.prefetch(x, Place::cpu()));
    CHECK_NOTHROW(rt.broadcast(x.region()));
    CHECK_NOTHROW(rt.prefetch(x.rows(2, 2), Place::cpu()));
}

TEST_CASE("a gang on a GPU is refused, and so is waiting inside a GPU kernel") {
    const Watchdog watchdog;
    Runtime rt(small_machine(1));
    Array<int> x(rt, 4);
    const std::string why = error_of<UsageError>([&] {
        rt.submit(
            {.name = "crowd", .threads = {2, 2}, .place = Place::gpu(0)}, readwrite(x), [](const Team&, View<int>) {},
            cuda([](Stream) {}));
    });
    CHECK(mentions(why, "task 'crowd': a gang that is placed on a GPU"));
    rt.submit(
        {.name = "waits", .place = Place::gpu(0)}, readwrite(x), [&](View<int>) { rt.wait(); }, cuda([](Stream) {}));
    const std::string error = error_of<TaskError>([&] { rt.wait(); });
    CHECK(mentions(error, "'waits'"));
    CHECK(mentions(error, "inside its GPU kernel"));
}
