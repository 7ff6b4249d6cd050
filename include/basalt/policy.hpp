#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "basalt/device.hpp"

namespace basalt {

/// A place where a task may run, as a policy sees it when the task is submitted. Times are estimates in seconds, those
/// ending in _in from now on.
struct PlaceOffer {
    Place place = Place::cpu();           ///< all cores together, or one GPU
    std::size_t bytes_there = 0;          ///< bytes of the task's data that are valid there
    std::size_t written_bytes_there = 0;  ///< of those, bytes of data that the task writes
    // The rest is known to policies that observe tasks; see Policy::observed().
    int at_once = 1;          ///< tasks that run there at the same time: workers, or streams of the GPU
    std::size_t queued = 0;   ///< tasks placed there that have not completed
    double free_in = 0;       ///< until one of those workers or streams is through with what is placed there
    double data_in = 0;       ///< until what writes the task's data has run, and the data have been copied there
    double copy_seconds = 0;  ///< of copying what is not there, at the rate of the links
    std::optional<double> seconds{};  ///< learnt time of the kernel there; empty: unknown
    std::size_t tried = 0;            ///< tasks of this name and size placed on this kind of processor so far
};

/// A task whose place is chosen.
struct TaskToPlace {
    const char* name = "";               ///< TaskOptions::name
    int priority = 0;                    ///< TaskOptions::priority
    std::uint64_t size = 0;              ///< TaskOptions::size, otherwise the bytes of its data
    std::span<const PlaceOffer> offers;  ///< at least one: the cores if it may run there, then GPUs by number
};

/// Which tasks a policy sees, whose times are learnt, and which count in PlaceOffer::queued.
enum class Observed : std::uint8_t {
    none,     ///< the policy chooses by where data are; nothing is measured
    choices,  ///< tasks with a choice of places
    all,      ///< all tasks submitted outside of tasks: choose() is also called where there is one offer only
};

/// Chooses the place of each task that has kernels for several places and Place::any().
///
/// A runtime has an object of its own. choose() is called when a task is submitted, in program order and by one thread
/// at a time, under the lock of the program order: it must not use the runtime (submit() and wait() throw UsageError
/// there), and should take no longer than a microsecond. Tasks submitted inside tasks, and gangs, run on the cores, and
/// no policy is asked. Where a GPU is lost, or smaller than the task's data, it is not offered. An exception from
/// choose() leaves submit(), and the task is not submitted.
class Policy {
  public:
    virtual ~Policy() = default;
    virtual Observed observed() const { return Observed::none; }
    /// An index into task.offers. submit() throws UsageError for any other number.
    virtual std::size_t choose(const TaskToPlace& task) = 0;
};

using PolicyFactory = std::function<std::unique_ptr<Policy>()>;

/// Makes a policy of the program's own available to Config::policy, for the rest of the program. Each runtime that
/// names it calls the factory once. Throws UsageError for an empty name, a name that is taken, and an empty factory.
/// Thread-safe.
void register_policy(const std::string& name, PolicyFactory factory);

/// The policies that Config::policy may name: the library's and those that were registered. Thread-safe.
std::vector<std::string> policy_names();

}  // namespace basalt
