#pragma once

#include <cstdint>
#include <memory>
#include <vector>

namespace basalt::detail {

/// For each place the other ones in groups, the nearest first: those that share its core's smallest cache, then larger
/// ones, the rest of the socket or of its part with a NUMA node of its own, and of the machine.
///
/// A task lies with the core that released it, which wrote what it reads last. So what is taken from near is likely in
/// a shared cache, and otherwise in the memory of the same NUMA node. Copies share one table.
class Neighbours {
  public:
    using Group = std::vector<std::uint32_t>;

    /// All are equally near.
    // NOLINTNEXTLINE(google-explicit-constructor): a number of places is what most callers know
    Neighbours(int places) : Neighbours(Paths(static_cast<std::size_t>(places))) {}
    /// By the parts of the machine around each place, see path_to().
    using Paths = std::vector<std::vector<std::uint64_t>>;
    explicit Neighbours(const Paths& paths);

    int places() const { return static_cast<int>(table_->size()); }
    const std::vector<Group>& groups_of(int place) const { return (*table_)[static_cast<std::size_t>(place)]; }

  private:
    std::shared_ptr<const std::vector<std::vector<Group>>> table_;
};

}  // namespace basalt::detail
