#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "tests/runtime/random_graph/program.hpp"
#include "tests/runtime/random_graph/random.hpp"

namespace basalt_tests {

using CellView = basalt::View<Cell>;

/// What a task does to the elements of one access, as one of `size` members that share them out. Reads are
/// summed into the result in a way that does not depend on the order of the elements.
///
/// Writes do not commute with each other, x <- hash(task) and x <- 31 x + task mod 2^64; commuting accesses
/// add, which does. What a task reduces is added, or combined with exclusive or.
class Work {
  public:
    Work(const TaskSpec& task, int round) : task_(task), salt_(mix(static_cast<std::uint64_t>(2 * task.id + round))) {}

    std::uint64_t apply(std::size_t number, const CellView& view, int rank, int size) const {
        const AccessSpec& access = task_.accesses[number];
        std::uint64_t sum = 0;
        for (basalt::Index i = 0; i < view.rows(); ++i) {
            for (basalt::Index j = 0; j < view.cols(); ++j) {
                const basalt::Index element = i * view.cols() + j;
                if (element % size != rank) continue;
                const auto key = static_cast<std::uint64_t>(element) + 1000 * number;
                std::uint64_t& x = view(i, j).value;
                switch (access.mode) {
                    case basalt::AccessMode::read:
                        if (!commutes(access, i, j)) sum += mix(x ^ mix(key));
                        break;
                    case basalt::AccessMode::write: x = mix(salt_ + key); break;
                    case basalt::AccessMode::readwrite: x = x * 31 + salt_ + key; break;
                    case basalt::AccessMode::commute: x += mix(salt_ ^ key); break;
                    case basalt::AccessMode::reduce:
                        x = access.combine == Combine::exclusive_or ? x ^ mix(salt_ ^ key) : x + mix(salt_ ^ key);
                        break;
                }
            }
        }
        return sum;
    }

  private:
    /// Whether the task also commutes on the element, so that what it reads there depends on the order.
    bool commutes(const AccessSpec& access, basalt::Index i, basalt::Index j) const {
        const basalt::Index row = access.row_begin + i;
        const auto col = access.col_begin + static_cast<std::int32_t>(j);
        const AccessSpec element{access.datum, row, row + 1, col, col + 1, access.mode};
        for (const AccessSpec& other : task_.accesses) {
            if (other.mode == basalt::AccessMode::commute && overlap(other, element)) return true;
        }
        return false;
    }

    const TaskSpec& task_;
    const std::uint64_t salt_;
};

/// The hashes that a task leaves: what it read in each of its two rounds, and its local array at the end.
struct Hashes {
    std::uint64_t read[2] = {0, 0};
    std::uint64_t local = 0;
    friend bool operator==(const Hashes&, const Hashes&) = default;
};

inline std::uint64_t local_step(std::uint64_t x, int step) { return x * 31 + static_cast<std::uint64_t>(step); }

}  // namespace basalt_tests
