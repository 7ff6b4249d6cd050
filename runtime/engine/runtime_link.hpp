#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "basalt/task_handle.hpp"
#include "base/process.hpp"
#include "base/spin_lock.hpp"

namespace basalt::detail {

/// Leads from handles to a runtime. Links stay mapped until the process ends, so that a handle which outlives its
/// runtime can tell by the link's tenant.
struct RuntimeLink {
    /// Odd while a runtime has the link. Changed by the threads that make and destroy runtimes.
    std::atomic<std::uint32_t> tenant{0};
    Runtime* runtime = nullptr;
    const TaskGraph* graph = nullptr;
};

/// The links of all runtimes of the process: as many as runtimes ever existed at once. Thread-safe.
class RuntimeLinks {
  public:
    static RuntimeLinks& of_process();

    RuntimeLink& take(Runtime& runtime);
    void give_back(RuntimeLink& link) noexcept;

  private:
    RuntimeLinks() { hold_during_fork<lock_>(); }

    static inline constinit SpinLock lock_;  // guards the lists, of the only object
    std::vector<std::unique_ptr<RuntimeLink>> links_;
    std::vector<RuntimeLink*> free_;
};

}  // namespace basalt::detail
