#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "tests/runtime/random_graph/work.hpp"

namespace basalt_tests {

/// Runs a program serially in submission order on plain vectors.
class Oracle {
  public:
    explicit Oracle(const Program& program) : hashes(static_cast<std::size_t>(program.all_tasks)), program_(program) {
        for (const DatumSpec& datum : program.data) {
            data_.emplace_back(static_cast<std::size_t>(datum.rows * datum.cols), Cell{0, 0});
            alive_.emplace_back(0, datum.rows);
        }
    }

    void run(const TaskSpec& task) {
        work(task, 0);
        Hashes& result = hashes[static_cast<std::size_t>(task.id)];
        for (int step = 0; step < task.local_steps; ++step) result.local = local_step(result.local, step);
        for (const TaskSpec& child : task.children) run(child);
        if (task.works_again) work(task, 1);
        if (task.depth > 0) return;
        for (const AccessSpec& access : task.accesses) bury(access);
    }

    void fetch(const AccessSpec& from, const AccessSpec& to) {
        const CellView source = view(from), target = view(to);
        for (basalt::Index i = 0; i < source.rows(); ++i) {
            for (basalt::Index j = 0; j < source.cols(); ++j) target(i, j) = source(i, j);
        }
        bury(to);
    }

    /// The datum was destroyed and created again.
    void renew(std::size_t datum) {
        const DatumSpec& spec = program_.data[datum];
        if (!belongs_to_test(spec)) data_[datum].assign(data_[datum].size(), Cell{0, 0});
        alive_[datum] = {0, spec.rows};
    }

    /// Cells with a guard that is not 0 have no contents that count.
    std::vector<Cell> contents(std::size_t datum) const {
        std::vector<Cell> cells = data_[datum];
        const basalt::Index cols = program_.data[datum].cols;
        for (std::size_t i = 0; i < cells.size(); ++i) {
            const basalt::Index row = static_cast<basalt::Index>(i) / cols;
            cells[i].guard = alive_[datum].first <= row && row < alive_[datum].second ? 0 : 1;
        }
        return cells;
    }

    std::vector<Hashes> hashes;  ///< by task

  private:
    /// Rows of scratch data that are not written lose their contents when others are.
    void bury(const AccessSpec& a) {
        const auto datum = static_cast<std::size_t>(a.datum);
        const bool written = a.mode == basalt::AccessMode::write && a.row_begin < a.row_end && a.col_begin < a.col_end;
        if (written && program_.data[datum].kind == DatumKind::scratch) alive_[datum] = {a.row_begin, a.row_end};
    }

    CellView view(const AccessSpec& a) {
        const auto datum = static_cast<std::size_t>(a.datum);
        const auto all = CellView::row_major(data_[datum].data(), 0, 0, program_.data[datum].cols);
        return all.block(a.row_begin, a.col_begin, a.row_end - a.row_begin, a.col_end - a.col_begin);
    }

    void work(const TaskSpec& task, int round) {
        const Work work(task, round);
        for (std::size_t k = 0; k < task.accesses.size(); ++k) {
            hashes[static_cast<std::size_t>(task.id)].read[round] += work.apply(k, view(task.accesses[k]), 0, 1);
        }
    }

    const Program& program_;
    std::vector<std::vector<Cell>> data_;
    std::vector<std::pair<basalt::Index, basalt::Index>> alive_;  // rows of each datum that have contents
};

}  // namespace basalt_tests
