// How the members of a gang wait for each other and exchange rows while they factor a panel.
#include <array>
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "kernels/cpu/panel/patience.hpp"
#include "kernels/cpu/panel/pivot_exchange.hpp"
#include "kernels/reference/thread_gang.hpp"
#include "tests/common/catch.hpp"

using namespace basalt;

TEST_CASE("a patient wait ends soon after its condition holds, however long that takes", "[panel]") {
    for (const Cores cores : {Cores::enough, Cores::crowded}) {
        for (const auto delay : {std::chrono::milliseconds(0), std::chrono::milliseconds(40)}) {
            std::atomic<bool> ready{false};
            std::thread other([&] {
                std::this_thread::sleep_for(delay);
                ready = true;
            });
            wait_patiently([&] { return ready.load(); }, cores);
            CHECK(ready);
            other.join();
        }
    }
}

TEST_CASE("the pivot exchange delivers every member's announcement of every step", "[panel][sanitize]") {
    constexpr int members = 4;
    PivotExchange<double> exchange(members);
    const Cores cores = members > std::thread::hardware_concurrency() ? Cores::crowded : Cores::enough;
    std::array<int, members> wrong{};
    std::array<std::uint32_t, members> written{};
    constexpr std::uint32_t steps = 2000;
    reference::run_gang(members, [&](Team& team) {
        const int me = team.rank();
        exchange.reset(me);
        team.barrier();
        for (std::uint32_t step = 1; step <= steps; ++step) {
            exchange.announce(me, step, {step + 0.5, me, step + 0.25});
            exchange.candidate(me, step).fill(step * 10.0 + me);
            exchange.publish_candidate(me, step);
            const int owner = static_cast<int>(step / 7) % members;  // the others' words stay behind
            if (me == owner) {
                exchange.diagonal(me, step).fill(-1.0 * step);
                exchange.publish_diagonal(me, step);
            }
            for (int rank = 0; rank < members; ++rank) {
                const PivotHeader<double>& header = exchange.await(rank, step, cores);
                const bool same =
                    header.magnitude == step + 0.5 && header.row == rank && header.diagonal == step + 0.25;
                if (!same || exchange.await_candidate(rank, step, cores).back() != step * 10.0 + rank) {
                    ++wrong[static_cast<std::size_t>(me)];
                }
            }
            const double first = exchange.await_diagonal(owner, step, cores).front();
            wrong[static_cast<std::size_t>(me)] += first != -1.0 * step;
        }
        // a barrier: what was written before is there after it
        for (std::uint32_t round = 0; round < 500; ++round) {
            written[static_cast<std::size_t>(me)] = round;
            exchange.barrier(me, members, steps + 2 * round + 1, cores);
            for (const std::uint32_t value : written) wrong[static_cast<std::size_t>(me)] += value != round;
            exchange.barrier(me, members, steps + 2 * round + 2, cores);
        }
    });
    CHECK(wrong == std::array<int, members>{});
}
