#pragma once

#include <algorithm>
#include <cstddef>
#include <set>
#include <tuple>
#include <vector>

#include "tests/runtime/random_graph/program.hpp"

namespace basalt_tests {

/// Which tasks may be the cause when a task of depth 0 finds that what it reads has no contents: those that the
/// contents depend on, directly or not. Tasks that commute or reduce together depend on each other, as their order is
/// open. Of several reasons the runtime keeps the first: a task that should have overwritten a region and failed leaves
/// the reasons of those before it.
class Causes {
  public:
    explicit Causes(const Program& program)
        : program_(program), before_(program.tasks.size()), overwritten_(program.tasks.size()) {
        for (const DatumSpec& datum : program.data) {
            cells_.emplace_back(static_cast<std::size_t>(datum.rows * datum.cols));
        }
    }

    /// The next task of depth 0. Its children access what it accesses.
    void add(std::size_t task) {
        for (const AccessSpec& a : program_.tasks[task].accesses) {
            if (a.mode != basalt::AccessMode::write) {
                for_each_cell(a, [&](CellUsers& cell) {
                    before_[task].insert(cell.computed_by.begin(), cell.computed_by.end());
                });
            }
        }
        for (const AccessSpec& a : program_.tasks[task].accesses) {
            for_each_cell(a, [&](CellUsers& cell) { use(cell, a, task); });
        }
    }

    /// Whether `cause` is `task`, or among what it depends on. failed(task): whether it did not do its work.
    template <class Failed>
    bool reach(std::size_t task, std::size_t cause, const Failed& failed) const {
        std::set<std::size_t> seen{task};
        std::vector<std::size_t> open{task};
        while (!open.empty()) {
            const std::size_t next = open.back();
            open.pop_back();
            const auto go_on = [&](std::size_t before) {
                if (seen.insert(before).second) open.push_back(before);
            };
            std::for_each(before_[next].begin(), before_[next].end(), go_on);
            if (failed(next)) std::for_each(overwritten_[next].begin(), overwritten_[next].end(), go_on);
        }
        return seen.contains(cause);
    }

  private:
    /// What makes tasks fellows: for reductions combine and region.
    using Key = std::tuple<basalt::AccessMode, Combine, basalt::Index, basalt::Index, std::int32_t, std::int32_t>;
    struct CellUsers {
        std::vector<std::size_t> computed_by{};  ///< since the contents were overwritten
        std::vector<std::size_t> fellows{};      ///< the last ones, if their order is open
        Key key{};
    };

    static Key key_of(const AccessSpec& a) {
        if (a.mode == basalt::AccessMode::commute) return {a.mode, Combine::add, 0, 0, 0, 0};
        return {a.mode, a.combine, a.row_begin, a.row_end, a.col_begin, a.col_end};
    }

    void use(CellUsers& cell, const AccessSpec& a, std::size_t task) {
        // a task that commutes on what it reads counts as commuting there
        if (a.mode == basalt::AccessMode::read && !cell.fellows.empty() && cell.fellows.back() == task) return;
        const bool open_order = a.mode == basalt::AccessMode::commute || a.mode == basalt::AccessMode::reduce;
        if (!open_order || cell.key != key_of(a)) cell.fellows.clear();
        for (const std::size_t fellow : cell.fellows) before_[fellow].insert(task);
        cell.key = key_of(a);
        if (a.mode == basalt::AccessMode::write) {
            overwritten_[task].insert(cell.computed_by.begin(), cell.computed_by.end());
            cell.computed_by.clear();
        }
        if (a.mode != basalt::AccessMode::read) cell.computed_by.push_back(task);
        if (open_order) cell.fellows.push_back(task);
    }

    template <class Visit>
    void for_each_cell(const AccessSpec& a, const Visit& visit) {
        const auto datum = static_cast<std::size_t>(a.datum);
        for (basalt::Index row = a.row_begin; row < a.row_end; ++row) {
            for (std::int32_t col = a.col_begin; col < a.col_end; ++col) {
                visit(cells_[datum][static_cast<std::size_t>(row * program_.data[datum].cols + col)]);
            }
        }
    }

    const Program& program_;
    std::vector<std::vector<CellUsers>> cells_;
    std::vector<std::set<std::size_t>> before_;
    std::vector<std::set<std::size_t>> overwritten_;  ///< those whose results the task overwrites
};

}  // namespace basalt_tests
