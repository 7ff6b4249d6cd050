// Which cores runtimes are bound to, in one process and in several.
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <optional>
#include <set>
#include <string>
#include <thread>

#include "basalt/runtime.hpp"
#include "base/core_claims.hpp"
#include "base/topology.hpp"
#include "tests/common/catch.hpp"
#include "tests/common/watchdog.hpp"

using basalt::Config;
using basalt::Runtime;
using basalt::detail::core_count;
using basalt::detail::CoreClaims;
using basalt_tests::Watchdog;

namespace {

std::string cores_of(const CoreClaims& claims) {
    std::string text;
    for (const std::size_t core : claims.cores()) text += (text.empty() ? "" : " ") + std::to_string(core);
    return text;
}

/// The core that one claim gets after another one.
std::string second_core() { return core_count() > 1 ? "1" : "0"; }

/// Processes that heed each other, and no others.
std::string own_scope() { return "basalt test " + std::to_string(getpid()); }

/// The processors on which the calling thread may run.
std::set<int> allowed_processors() {
    cpu_set_t set;
    CPU_ZERO(&set);
    sched_getaffinity(0, sizeof set, &set);
    std::set<int> processors;
    for (int i = 0; i < CPU_SETSIZE; ++i) {
        if (CPU_ISSET(i, &set)) processors.insert(i);
    }
    return processors;
}

/// The processors on which a task of the runtime may run.
std::set<int> processors_of(Runtime& rt) {
    std::set<int> processors;
    rt.submit({}, [&] { processors = allowed_processors(); });
    while (!rt.wait_for(std::chrono::seconds(1))) {  // a thread of the runtime runs the task, not this one
    }
    return processors;
}

Config one_worker(bool bind) {
    Config config;
    config.workers = 1;
    config.gpus = 0;
    config.bind = bind;
    return config;
}

}  // namespace

// Run under HWLOC_SYNTHETIC, as one of two sockets with four cores each.
TEST_CASE("runtimes get cores of their own while there are enough, then share them evenly", "[.eight_cores]") {
    REQUIRE(core_count() == 8);
    std::optional<CoreClaims> first(3);
    CHECK(cores_of(*first) == "0 1 2");
    const CoreClaims second(3);
    CHECK(cores_of(second) == "3 4 5");
    CHECK(second.package_of(0) == 0);
    CHECK(second.package_of(1) == 1);
    {
        const CoreClaims third(4);
        CHECK(cores_of(third) == "0 1 6 7");
        first.reset();
        CHECK(cores_of(CoreClaims(2)) == "0 2");  // one is free again
    }
    CHECK(cores_of(CoreClaims(5)) == "0 1 2 6 7");
    CHECK(cores_of(CoreClaims(8)) == "0 1 2 3 4 5 6 7");
    CHECK(cores_of(CoreClaims(10)) == "0 1 2 3 4 5 6 7 0 1");
    CHECK(CoreClaims(0).cores().empty());
    CHECK(cores_of(CoreClaims(2)) == "0 1");
}

TEST_CASE("a runtime that takes a core leaves the others to the next one") {
    const Watchdog watchdog;
    Runtime a(one_worker(true));
    Runtime b(one_worker(true));
    Runtime unbound(one_worker(false));
    const std::set<int> of_a = processors_of(a);
    const std::set<int> of_b = processors_of(b);
    CHECK(of_a.size() == 1);
    CHECK(of_b.size() == 1);
    CHECK((of_a != of_b) == (core_count() > 1));
    CHECK(processors_of(unbound).size() >= static_cast<std::size_t>(core_count()));
}

TEST_CASE("processes heed each other's claims as long as they live") {
    const std::string scope = own_scope();
    std::array<int, 2> told{}, ended{};
    REQUIRE(pipe(told.data()) == 0);
    REQUIRE(pipe(ended.data()) == 0);
    const pid_t other = fork();
    if (other == 0) {
        const CoreClaims claims(1, scope);
        const std::size_t core = claims.cores().at(0);
        char end = 0;
        close(ended[1]);
        if (write(told[1], &core, sizeof core) < 0 || read(ended[0], &end, 1) < 0) _exit(1);
        _exit(0);
    }
    std::size_t core = 99;
    REQUIRE(read(told[0], &core, sizeof core) == sizeof core);
    CHECK(core == 0);
    CHECK(cores_of(CoreClaims(1, scope)) == second_core());
    CHECK(cores_of(CoreClaims(1, scope + " else")) == "0");
    for (const int end : {told[0], told[1], ended[0], ended[1]}) close(end);
    waitpid(other, nullptr, 0);
    CHECK(cores_of(CoreClaims(1, scope)) == "0");
}

TEST_CASE("a process that a bound thread forks may use all cores again, and claims none") {
    const std::string scope = own_scope();
    const CoreClaims claims(1, scope);
    int status = -1;
    std::thread([&] {
        claims.bind_this_thread(0);
        const pid_t child = fork();
        if (child == 0) {
            const bool free = allowed_processors().size() >= static_cast<std::size_t>(core_count());
            // the parent's claim still holds for it
            const bool heeds = cores_of(CoreClaims(1, scope)) == second_core();
            _exit(free && heeds ? 0 : 1);
        }
        waitpid(child, &status, 0);
    }).join();
    CHECK(status == 0);
}

TEST_CASE("a thread leaves the cores of other places, and may run where it might before") {
    if (core_count() < 2) SKIP("one core");
    std::thread([] {
        const CoreClaims claims(2, own_scope());
        const int own = basalt::detail::processor_of(static_cast<int>(claims.cores()[0])).value(),
                  other = basalt::detail::processor_of(static_cast<int>(claims.cores()[1])).value();
        const auto allow = [](const std::set<int>& processors) {
            cpu_set_t set;
            CPU_ZERO(&set);
            for (const int processor : processors) CPU_SET(processor, &set);
            REQUIRE(sched_setaffinity(0, sizeof set, &set) == 0);
        };
        allow({other});
        claims.leave_other_cores();  // it may not
        CHECK(sched_getcpu() == other);
        CHECK(allowed_processors() == std::set{other});
        bool left = false;
        for (int attempt = 0; attempt < 100 && !left; ++attempt) {  // the system may move it, too
            allow({other});
            allow({own, other});
            claims.leave_other_cores();
            left = sched_getcpu() == own;
            CHECK(allowed_processors() == std::set{own, other});
        }
        CHECK(left);
    }).join();
}
