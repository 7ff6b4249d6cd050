// The barrier of a gang: rounds, members that leave, members that fail, more members than cores.
#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "basalt/error.hpp"
#include "basalt/team.hpp"
#include "tests/common/catch.hpp"
#include "tests/common/watchdog.hpp"

using namespace basalt;
using basalt_tests::Watchdog;

namespace {

/// Runs member(team) on `size` threads that share a barrier.
template <class Member>
void run_team(int size, Member&& member) {
    TeamBarrier barrier(size);
    std::vector<std::thread> threads;
    for (int rank = 0; rank < size; ++rank) threads.emplace_back([&, rank] { member(Team(rank, barrier)); });
    for (std::thread& thread : threads) thread.join();
}

}  // namespace

TEST_CASE("no member passes the barrier before all have arrived, and earlier writes are visible", "[sanitize]") {
    const int size = GENERATE(1, 2, 3, 8);
    CAPTURE(size);
    const Watchdog watchdog;
    constexpr int rounds = 2000;
    std::vector<int> written(static_cast<std::size_t>(size),
                             -1);  // plain on purpose: the barrier orders them
    std::atomic<int> wrong{0};
    run_team(size, [&](const Team& team) {
        for (int round = 0; round < rounds; ++round) {
            written[static_cast<std::size_t>(team.rank())] = round;
            team.barrier();
            for (const int value : written) wrong += value != round ? 1 : 0;
            team.barrier();
        }
    });
    CHECK(wrong == 0);
}

TEST_CASE("a barrier of one member never waits") {
    TeamBarrier barrier(1);
    const Team team(0, barrier);
    CHECK(team.size() == 1);
    for (int i = 0; i < 1000; ++i) team.barrier();
    SUCCEED();
}

TEST_CASE("members that leave are no longer waited for", "[sanitize]") {
    const int size = GENERATE(2, 3, 8);
    CAPTURE(size);
    const Watchdog watchdog;
    for (int repeat = 0; repeat < 200; ++repeat) {
        std::atomic<int> passed{0};
        TeamBarrier barrier(size);
        std::vector<std::thread> threads;
        for (int rank = 0; rank < size; ++rank) {
            threads.emplace_back([&, rank] {
                // rank r stays for r rounds
                for (int round = 0; round < rank; ++round) {
                    barrier.wait();
                    ++passed;
                }
                barrier.drop();
            });
        }
        for (std::thread& thread : threads) thread.join();
        REQUIRE(passed == size * (size - 1) / 2);
    }
}

TEST_CASE("when a member fails the others' barriers throw Cancelled, now and later", "[sanitize]") {
    const int size = GENERATE(2, 4, 8);
    const int failing_round = GENERATE(0, 1, 50);
    CAPTURE(size, failing_round);
    const Watchdog watchdog;
    std::atomic<int> cancelled{0};
    std::atomic<int> passed_too_far{0};
    TeamBarrier barrier(size);
    std::vector<std::thread> threads;
    for (int rank = 0; rank < size; ++rank) {
        threads.emplace_back([&, rank] {
            for (int round = 0;; ++round) {
                if (rank == 0 && round == failing_round) return barrier.poison();
                try {
                    barrier.wait();
                    passed_too_far += round >= failing_round ? 1 : 0;
                } catch (const Cancelled&) {
                    ++cancelled;
                    return barrier.poison();
                }
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
    CHECK(cancelled == size - 1);
    CHECK(passed_too_far == 0);
}

TEST_CASE("waiting for a word ends when it changes, however late", "[sanitize]") {
    const Watchdog watchdog;
    std::atomic<std::uint32_t> word{7};
    const bool late = GENERATE(false, true);
    std::thread changer([&] {
        if (late) std::this_thread::sleep_for(std::chrono::milliseconds(20));
        word.store(8, std::memory_order_release);
        word.notify_all();
    });
    CHECK(wait_while_equal(word, 7) == 8);
    CHECK(wait_while_equal(word, 7) == 8);
    changer.join();
}
