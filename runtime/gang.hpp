#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>

#include "basalt/team.hpp"
#include "runtime/task.hpp"
#include "runtime/worker.hpp"

namespace basalt::detail {

/// The threads that run one gang task together, from assembly to the last member's leaving.
/// Lives on the leader's stack: the leader leaves last. It is a member itself, unless the gang is of another socket.
struct Gang {
    static constexpr int any_package = -1;

    Gang(Task& task, bool strict, int package, const Worker& leader)
        : task(task),
          wanted(task.max_threads),
          strict(strict),
          package(package),
          with_leader(package == any_package || package == leader.package),
          joined(with_leader ? 1 : 0) {}

    Task& task;
    const int wanted;
    const bool strict;                  ///< waits for its minimum; otherwise it starts with whom it gets
    const int package;                  ///< the socket whose workers may join, or any_package
    const bool with_leader;             ///< who has rank 0 then
    bool dropped = false;               ///< its graph was cancelled: members leave at once
    std::atomic<std::uint32_t> joined;  ///< members so far
    /// 0 while the gang assembles; 1 once it is complete, `barrier` is there and members may enter.
    std::atomic<std::uint32_t> entered{0};
    std::atomic<std::uint32_t> inside{0};  ///< members that have not left
    TeamBarrier* barrier = nullptr;
};

/// Brings gangs together, one at a time.
///
/// Why no two gangs ever wait for each other's members: only one gang assembles at any moment, and whoever
/// wants to lead another one joins it first. Every worker can join sooner or later: it finishes its task, or it
/// waits for children and joins from there. The exception are members of a running gang that wait inside it:
/// the fellows they would need may stand at that gang's barrier, so they neither lead nor join a gang that
/// waits for a minimum, and gangs nested in a gang do not wait: they start with the threads that happen to be
/// free. So a running gang always ends without the hall's help, and sends its members back. A gang that takes the
/// workers of one socket only is no exception: it does so only where these alone are enough for it.
class GangHall {
  public:
    /// Opens the gang for joiners, unless another one is assembling: then false.
    bool open(Gang& gang);

    /// Joins the gang that assembles, if there is one with room that takes workers of `package`; `any` or only one
    /// that does not wait. Returns the rank in it, or -1.
    int join(Gang*& gang, bool any, int package);

    /// Closes the hall: the gang has all it wanted. Returns its size.
    int close(Gang& gang);

    bool assembling() const { return assembling_flag_.load(std::memory_order_acquire); }

  private:
    std::mutex lock_;  // guards assembling_ and a gang's joining and closing
    Gang* assembling_ = nullptr;
    std::atomic<bool> assembling_flag_{false};
};

}  // namespace basalt::detail
