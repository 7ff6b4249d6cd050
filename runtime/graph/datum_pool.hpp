#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/process.hpp"
#include "base/spin_lock.hpp"
#include "runtime/graph/datum.hpp"

namespace basalt::detail {

/// Places for the data of all runtimes of the process. They stay mapped until the process ends, so that a region, a
/// list or a handle that outlives its datum can tell by the place's generation. There are as many as data were ever
/// registered at once. Thread-safe.
///
/// A generation is odd while the program has the datum, and even from when it gives the datum up until the place's next
/// tenant. The place itself returns to the pool later, behind the last task that uses the datum.
class DatumPool {
  public:
    static DatumPool& of_process();

    /// A datum of the graph, with `name` and otherwise as new. Throws std::bad_alloc.
    Datum& take(const TaskGraph& graph, std::string_view name);
    /// No task uses the datum any more, nor its blocks, which are given back as well.
    void give_back(Datum& datum) noexcept;
    /// A retired version has lost its last user.
    void take_back(Version& version);
    /// The current version has lost its last user and the program has forgotten the datum: it is given back, now or
    /// when the last retired version is back.
    void give_up(Datum& datum);
    /// The graph's data, those too that the program has given up.
    std::vector<Datum*> of(const TaskGraph& graph);
    /// The program has no data any more, see ProcessMark: their places stay as they are.
    void leave_all();
    /// Whether the program lost the datum in this way.
    bool was_left(const Datum& datum) const;
    /// The datum's name, for messages; "a released array" where the place has another tenant.
    std::string name_of(const Datum& datum, std::uint32_t generation);
    /// How errors call a datum that was given up: its name, as long as the place has no other tenant.
    std::string name_of_former(const Datum& datum, std::uint32_t generation);

  private:
    DatumPool() { hold_during_fork<lock_>(); }

    static constexpr std::size_t chunk_data = 32;

    void grow();

    /// Guards what follows, and of each datum its graph and its name while they change. Of the only pool.
    static inline constinit SpinLock lock_;
    std::vector<std::unique_ptr<Datum[]>> chunks_;
    std::vector<Datum*> free_;
};

/// Gives the datum's place back.
struct DatumReturn {
    void operator()(Datum* datum) const noexcept { DatumPool::of_process().give_back(*datum); }
};
using DatumOwner = std::unique_ptr<Datum, DatumReturn>;

}  // namespace basalt::detail
