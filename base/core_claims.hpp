#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace basalt::detail {

/// The cores that the threads of one runtime are bound to: as many as it has places, and those that fewest others have.
///
/// Runtimes of one process know of each other. Those of other processes are known by a socket that each claimed core
/// has in Linux's abstract namespace, as far as they share the network namespace; such a name vanishes with its
/// process. A runtime on all cores claims none in this way. Where all cores are taken, they are shared evenly.
class CoreClaims {
  public:
    /// Claims cores for places 0 .. places - 1. With places 0 nothing is claimed or bound. Never throws because of
    /// other processes. Processes with the same `scope` heed each other.
    explicit CoreClaims(int places, const std::string& scope = "basalt");
    ~CoreClaims();
    CoreClaims(const CoreClaims&) = delete;
    CoreClaims& operator=(const CoreClaims&) = delete;

    /// Binds the calling thread to the place's core. Without effect where nothing was claimed, or where the system does
    /// not allow it. A process that the thread forks may use all of this process's cores again.
    void bind_this_thread(int place) const;
    /// For a thread that is going to work at place 0, and that is not bound: moves it to that place's core if it is on
    /// another place's, whose thread it would share the core with for a long time. It may run wherever it might before.
    void leave_other_cores() const;
    /// The processor package of that core, from 0; 0 where nothing was claimed, or where the system does not tell.
    int package_of(int place) const;
    /// By place, the number of the core among those that the process may use, from 0. Empty where nothing was claimed.
    const std::vector<std::size_t>& cores() const { return cores_; }

  private:
    static void prefer_unclaimed(std::vector<std::size_t>& order, std::size_t wanted, const std::string& scope);

    std::vector<std::size_t> cores_;
    std::vector<int> processors_;  ///< by place, as the system numbers them; empty where it does not tell
};

}  // namespace basalt::detail
