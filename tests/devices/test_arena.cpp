// Memory of a device in blocks, given back while tasks still use it.
#include "runtime/memory/arena.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "runtime/device/device.hpp"
#include "tests/common/catch.hpp"

using namespace basalt;
using namespace basalt::detail;

namespace {

constexpr std::size_t kib = 1024;

TaskGroup group(std::initializer_list<std::uint32_t> slots) {
    TaskGroup tasks;
    for (const std::uint32_t slot : slots) tasks.push_back({slot, 1});
    return tasks;
}

std::vector<std::uint32_t> slots_of(const TaskGroup& tasks) {
    std::vector<std::uint32_t> slots;
    for (const TaskRef task : tasks) slots.push_back(task.slot);
    std::sort(slots.begin(), slots.end());
    return slots;
}

/// 64 KiB of which no task has completed but those of even slots above 100.
struct Memory {
    std::vector<std::unique_ptr<Device>> devices = make_emulated_devices({.gpus = 1});
    Arena arena{*devices[0], 64 * kib, [](TaskRef task) { return task.slot > 100 && task.slot % 2 == 0; }};

    /// A block; its former users' slots go to `users`.
    void* take(std::size_t bytes, std::vector<std::uint32_t>* users = nullptr) {
        TaskGroup former;
        void* block = arena.take(bytes, former);
        if (users != nullptr) *users = slots_of(former);
        return block;
    }
};

}  // namespace

TEST_CASE("who gets memory is told of all tasks that may still use it", "[sanitize]") {
    Memory memory;
    void* const one = memory.take(32 * kib);
    void* const two = memory.take(32 * kib);
    CHECK(memory.take(512) == nullptr);
    memory.arena.give_back(one, group({1, 2}));
    memory.arena.give_back(two, group({2, 3}));
    CHECK(memory.arena.in_use() == 0);
    std::vector<std::uint32_t> users;
    void* const both = memory.take(64 * kib, &users);
    REQUIRE(both != nullptr);
    CHECK(users == std::vector<std::uint32_t>{1, 2, 3});
    memory.arena.give_back(both, {});
}

TEST_CASE("tasks that have completed are forgotten where free blocks meet", "[sanitize]") {
    Memory memory;
    void* const one = memory.take(32 * kib);
    void* const two = memory.take(32 * kib);
    memory.arena.give_back(one, group({1, 102}));
    memory.arena.give_back(two, group({103, 104}));
    std::vector<std::uint32_t> users;
    memory.take(64 * kib, &users);
    CHECK(users == std::vector<std::uint32_t>{1, 103});
}

TEST_CASE("memory that is cut and joined many times before a task ends names each task once", "[sanitize]") {
    Memory memory;
    void* const all = memory.take(64 * kib);
    memory.arena.give_back(all, group({1, 2, 3}));
    std::vector<std::uint32_t> users;
    for (int round = 0; round < 64; ++round) {  // without that 3 * 2^64 of them
        TaskGroup former;
        void* const low = memory.arena.take(16 * kib, former);
        memory.arena.give_back(low, former);
    }
    memory.take(64 * kib, &users);
    CHECK(users == std::vector<std::uint32_t>{1, 2, 3});
}

TEST_CASE("a limit below what memory is handed out in is one: there is none", "[sanitize]") {
    const auto devices = make_emulated_devices({.gpus = 1});
    for (const std::size_t limit : {1, 511}) {
        Arena arena(*devices[0], limit, [](TaskRef) { return true; });
        TaskGroup users;
        CHECK(arena.capacity() == 0);
        CHECK(arena.take(1, users) == nullptr);
    }
}

TEST_CASE("unused chunks make room for a larger one", "[sanitize]") {
    constexpr std::size_t mib = 1024 * kib;
    const auto devices = make_emulated_devices({.gpus = 1, .memory = 8 * mib});
    Arena arena(*devices[0], 0, [](TaskRef task) { return task.slot > 100; });
    TaskGroup users;
    void* const one = arena.take(3 * mib, users);
    void* const two = arena.take(3 * mib, users);
    arena.give_back(one, group({101}));
    arena.give_back(two, group({7}));
    CHECK(arena.take(7 * mib, users) == nullptr);  // task 7 may still use its chunk
    CHECK(arena.total() == 6 * mib);
    arena.begin_reservation();
    void* const larger = arena.take(5 * mib, users);
    CHECK(larger != nullptr);
    CHECK(arena.total() == 8 * mib);
    CHECK(users.empty());
    arena.begin_reservation();
    CHECK(arena.take(9 * mib, users) == nullptr);
    CHECK(arena.total() == 8 * mib);
    arena.give_back(larger, {});
}
