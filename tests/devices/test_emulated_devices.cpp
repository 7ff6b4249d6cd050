// Features of emulated devices only: they check their arguments, fail on request, and count calls.
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstddef>
#include <fstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "tests/common/catch.hpp"
#include "tests/common/mentions.hpp"
#include "tests/common/watchdog.hpp"
#include "tests/devices/emulated_machine.hpp"

using namespace basalt;
using namespace basalt_tests;
using namespace std::chrono_literals;
using basalt::detail::EmulatedStatistics;

TEST_CASE("an emulated device says whether its own memory is too small or the host's") {
    const Watchdog watchdog;
    const Machine machine = emulated_machine({.gpus = 1, .memory = std::size_t{2} << 30});
    Attempt attempt;
    attempt([&] { machine[0].allocate(std::size_t{3} << 30); });
    REQUIRE(attempt.errors == 1);
    CHECK(mentions(attempt.texts[0], "3221225472 bytes do not fit, 2147483648 of 2147483648 are free"));

    rlimit before{};
    REQUIRE(getrlimit(RLIMIT_AS, &before) == 0);
    std::size_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    rlimit tight = before;
    tight.rlim_cur = pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE)) + (std::size_t{256} << 20);
    REQUIRE(setrlimit(RLIMIT_AS, &tight) == 0);
    attempt([&] { machine[0].allocate(std::size_t{1} << 30); });
    REQUIRE(setrlimit(RLIMIT_AS, &before) == 0);
    REQUIRE(attempt.errors == 2);
    CHECK(mentions(attempt.texts[1], "the host has no room for 1073741824 bytes"));
    CHECK(mentions(attempt.texts[1], "ulimit -v"));
}

TEST_CASE("a hop that a lost device leaves out blocks no waiter") {
    const Watchdog watchdog;
    const Machine machine = emulated_machine(
        {.gpus = 3, .memory = 1 << 20, .failing_copy = 1, .failures_are_sticky = true, .failing_gpu = 0},
        relaying_tables());
    const Buffer first(machine[0], 5000);
    const Buffer second(machine[1], 5000);
    const Buffer third(machine[2], 5000);
    const std::optional<RelayMark> mark =
        machine[0].relay_to_peer(machine[1], {second.get(), first.get(), 5000}, {}, RelayEnd::passed_on);
    machine[1].relay_to_peer(machine[2], {third.get(), second.get(), 5000}, mark, RelayEnd::last);
    await(machine[1], StreamRole::relay, machine[1].record(StreamRole::relay, Timing::untimed));
    machine[0].synchronize();
    CHECK(machine[0].lost());
}

TEST_CASE("an emulated device describes itself") {
    const Machine machine = emulated_machine({.gpus = 2, .memory = 12345 * 512, .peer_access = GENERATE(true, false)});
    CHECK(machine[1].name() == "gpu 1");
    CHECK(machine[1].index() == 1);
    CHECK(machine[1].emulated());
    CHECK(machine[1].memory_bytes() == 12345 * 512);
    CHECK(machine[1].free_bytes() == machine[1].memory_bytes());
    CHECK(machine[0].reaches(machine[1]) == machine[1].reaches(machine[0]));
    machine[1].launch(StreamRole::compute, [](Stream stream) {
        if (stream.device() != 1 || !stream.context()->emulated || stream.native() != nullptr) {
            throw std::logic_error("another stream");
        }
    });
    CHECK_NOTHROW(await(machine[1], StreamRole::compute, machine[1].record(StreamRole::compute, Timing::untimed)));
}

TEST_CASE("without peer access a copy to a peer is refused") {
    const Machine machine = emulated_machine({.gpus = 2, .memory = 1 << 20, .peer_access = false});
    const Buffer a(machine[0], 100), b(machine[1], 100);
    CHECK_FALSE(machine[0].reaches(machine[1]));
    CHECK_THROWS_AS(machine[0].copy_to_peer(StreamRole::peer, machine[1], {b.get(), a.get(), 100}), DeviceError);
}

TEST_CASE("fresh device memory is full of NaN") {
    const Machine machine = emulated_machine({.gpus = 1, .memory = 1 << 20});
    const Buffer buffer(machine[0], 10 * sizeof(double));
    std::array<double, 10> home{};
    machine[0].copy(StreamRole::to_host, {home.data(), buffer.get(), sizeof(home)});
    machine[0].synchronize();
    for (const double x : home) CHECK(std::isnan(x));
}

TEST_CASE("memory that is never written takes no host memory") {
    const auto resident_pages = [] {
        std::ifstream in("/proc/self/statm");
        std::size_t all = 0, resident = 0;
        in >> all >> resident;
        return resident;
    };
    constexpr std::size_t bytes = std::size_t{100} << 20;
    const Machine machine = emulated_machine({.gpus = 1, .memory = bytes});
    const std::size_t before = resident_pages();
    const Buffer buffer(machine[0], bytes);
    CHECK(resident_pages() < before + bytes / 4096 / 4);
    Bytes last(1);
    machine[0].copy(StreamRole::to_host, {last.data(), buffer.get() + bytes - 1, 1});
    machine[0].synchronize();
    CHECK(last[0] == std::byte{0xFF});
}

TEST_CASE("a copy of what is not on the device, or not on the host, is refused") {
    const Machine machine = emulated_machine({.gpus = 2, .memory = 1 << 20});
    const Buffer here(machine[0], 1000), there(machine[1], 1000);
    Bytes host(2000);
    Device& device = machine[0];
    const auto throws = [](auto&& call) { CHECK_THROWS_AS(call(), DeviceError); };
    throws([&] { device.copy(StreamRole::from_host, {host.data(), host.data() + 1000, 10}); });
    throws([&] { device.copy(StreamRole::from_host, {there.get(), host.data(), 10}); });
    throws([&] { device.copy(StreamRole::from_host, {here.get(), there.get(), 10}); });
    throws([&] { device.copy(StreamRole::from_host, {here.get(), host.data(), 1001}); });
    throws([&] { device.copy(StreamRole::from_host, {here.get() + 1, host.data(), 10, 2, 990, 10}); });
    throws([&] { device.copy(StreamRole::to_host, {host.data(), there.get(), 10}); });
    throws([&] { device.copy(StreamRole::to_host, {there.get(), here.get(), 10}); });
    throws([&] { device.copy(StreamRole::compute, {here.get(), host.data(), 10}); });
    throws([&] { device.copy_within(StreamRole::compute, {here.get(), there.get(), 10}); });
    throws([&] { device.copy_to_peer(StreamRole::peer, machine[1], {here.get(), here.get(), 10}); });
    throws([&] { device.copy_to_peer(StreamRole::peer, machine[1], {there.get(), there.get(), 10}); });
    throws([&] { device.copy_to_peer(StreamRole::peer, device, {here.get(), here.get(), 10}); });
    throws([&] { device.copy_within(StreamRole::compute, {here.get(), here.get() + 500, 10, 3, 9, 10}); });
    throws([&] { device.pin(here.get() + 999, 1); });
    throws([&] { device.wait_for(StreamRole::compute, machine[1], StreamRole::peer, 1); });
    throws([&] { device.time_of(StreamRole::compute, 1); });
    CHECK_NOTHROW(device.copy_to_peer(StreamRole::peer, machine[1], {there.get() + 990, here.get(), 10}));
    CHECK_NOTHROW(device.copy(StreamRole::from_host, {nullptr, nullptr, 0}));
}

TEST_CASE("memory that is released before a copy of it has run is noticed") {
    const Machine machine = emulated_machine({.gpus = 1, .memory = 1 << 20});
    std::atomic<bool> open{false};
    void* memory = machine[0].allocate(100);
    Bytes host(100);
    machine[0].launch(StreamRole::to_host, [&](Stream) {
        while (!open) std::this_thread::sleep_for(1ms);
    });
    machine[0].copy(StreamRole::to_host, {host.data(), memory, 100});
    const Ticket ticket = machine[0].record(StreamRole::to_host, Timing::untimed);
    machine[0].release(memory);
    open = true;
    CHECK_THROWS_AS(await(machine[0], StreamRole::to_host, ticket), DeviceError);
    CHECK_NOTHROW(await(machine[0], StreamRole::to_host, ticket));
}

TEST_CASE("writing past the ends of an allocation, or releasing it twice, ends the program") {
    const int mistake = GENERATE(0, 1, 2);
    CAPTURE(mistake);
    std::fflush(nullptr);
    const pid_t child = fork();
    if (child == 0) {
        std::signal(SIGABRT, SIG_DFL);  // not the test library's
        if (std::freopen("/dev/null", "w", stderr) == nullptr) _exit(2);
        basalt::detail::EmulatedMemory memory(4096);
        auto* begin = static_cast<char*>(memory.allocate(777));
        if (mistake == 0) begin[777] = 0;
        if (mistake == 1) begin[-1] = 0;
        memory.release(begin);
        if (mistake == 2) memory.release(begin);
        _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    CHECK(WIFSIGNALED(status));
    CHECK(WTERMSIG(status) == SIGABRT);
}

TEST_CASE("the statistics count calls, bytes and memory") {
    const Machine machine = emulated_machine({.gpus = 2, .memory = 1 << 20});
    Bytes host(300);
    {
        const Buffer a(machine[0], 300), b(machine[1], 300);
        const Buffer more(machine[0], 5000);
        put(machine[0], a.get(), host);
        machine[0].copy_to_peer(StreamRole::peer, machine[1], {b.get(), a.get(), 100, 2, 100, 150});
        machine[0].copy_within(StreamRole::compute, {more.get(), a.get(), 50});
        machine[0].synchronize();
        launch_fill(machine, machine[0], StreamRole::compute, a.get(), 0, 300);
        CHECK(contents(machine[0], a.get(), 300) == Bytes(300));
        CHECK(statistics(machine[0]).bytes_allocated == 512 + 5120);
        machine[1].synchronize();
    }
    const EmulatedStatistics found = statistics(machine[0]);
    CHECK(found.bytes_allocated == 0);
    CHECK(found.peak_bytes == 512 + 5120);
    CHECK(found.allocations == 2);
    CHECK(found.releases == 2);
    CHECK(found.copies_from_host == 1);
    CHECK(found.copies_to_host == 1);
    CHECK(found.copies_to_peers == 1);
    CHECK(found.copies_within == 1);
    CHECK(found.bytes_copied == 300 + 200 + 50 + 300);
    CHECK(found.kernels == 1);
    CHECK(found.records == 2);
}

TEST_CASE("a wait that is over or implied is dropped") {
    const Machine machine = emulated_machine({.gpus = 2, .memory = 1 << 20});
    std::atomic<bool> open{false};
    machine[0].launch(StreamRole::compute, [&](Stream) {
        while (!open) std::this_thread::sleep_for(1ms);
    });
    const Ticket first = machine[0].record(StreamRole::compute, Timing::untimed);
    const Ticket second = machine[0].record(StreamRole::compute, Timing::untimed);
    const auto wait = [&](Ticket ticket) {
        machine[1].wait_for(StreamRole::compute, machine[0], StreamRole::compute, ticket);
    };
    wait(0);
    CHECK(statistics(machine[1]).waits == 0);
    wait(first);
    wait(first);
    CHECK(statistics(machine[1]).waits == 1);
    wait(second);
    wait(first);
    CHECK(statistics(machine[1]).waits == 2);
    machine[1].wait_for(StreamRole::peer, machine[0], StreamRole::compute, second);  // another pair
    CHECK(statistics(machine[1]).waits == 3);
    machine[0].wait_for(StreamRole::compute, machine[0], StreamRole::compute, second);  // its own order
    CHECK(statistics(machine[0]).waits == 0);
    open = true;
    machine[0].synchronize();
    machine[0].wait_for(StreamRole::peer, machine[0], StreamRole::compute, second);
    CHECK(statistics(machine[0]).waits == 0);
}

TEST_CASE("delays are bounded, and repeat with the seed") {
    const Machine machine = emulated_machine({.gpus = 1, .memory = 1 << 20, .longest_delay = 2ms});
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < 50; ++i) machine[0].launch(StreamRole::compute, [](Stream) {});
    machine[0].synchronize();
    const auto taken = std::chrono::steady_clock::now() - begin;
    CHECK(taken > 15ms);  // 50 ms on average
}
