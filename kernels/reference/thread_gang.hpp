#pragma once

#include <thread>
#include <vector>

#include <basalt/team.hpp>

namespace basalt::reference {

/// Runs kernel(team) on `members` plain threads, the calling one included, without a runtime: for tests and
/// benches of gang kernels. The kernel must not throw where members > 1.
template <class Kernel>
void run_gang(int members, Kernel&& kernel) {
    TeamBarrier barrier(members);
    std::vector<std::thread> others;
    for (int rank = 1; rank < members; ++rank) {
        others.emplace_back([&barrier, &kernel, rank] {
            Team team(rank, barrier);
            kernel(team);
        });
    }
    Team team(0, barrier);
    kernel(team);
    for (std::thread& thread : others) thread.join();
}

}  // namespace basalt::reference
