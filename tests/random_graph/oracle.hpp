#pragma once

#include <cstdint>
#include <vector>

#include "tests/random_graph/work.hpp"

namespace basalt_tests {

/// Runs a program serially in submission order on plain vectors.
class Oracle {
  public:
    explicit Oracle(const Program& program)
        : program_(program), hashes(static_cast<std::size_t>(program.all_tasks)) {
        for (const DatumSpec& datum : program.data) {
            data.emplace_back(static_cast<std::size_t>(datum.rows * datum.cols), Cell{0, 0});
        }
    }

    void run(const TaskSpec& task) {
        work(task, 0);
        Hashes& result = hashes[static_cast<std::size_t>(task.id)];
        for (int step = 0; step < task.local_steps; ++step) result.local = local_step(result.local, step);
        for (const TaskSpec& child : task.children) run(child);
        if (task.works_again) work(task, 1);
    }

  private:
    const Program& program_;

  public:
    std::vector<std::vector<Cell>> data;
    std::vector<Hashes> hashes;  ///< by task

  private:
    void work(const TaskSpec& task, int round) {
        const Work work(task, round);
        for (std::size_t k = 0; k < task.accesses.size(); ++k) {
            const AccessSpec& a = task.accesses[k];
            const basalt::Index cols = program_.data[static_cast<std::size_t>(a.datum)].cols;
            const auto all = CellView::row_major(data[static_cast<std::size_t>(a.datum)].data(), 0, 0, cols);
            const CellView view =
                all.block(a.row_begin, a.col_begin, a.row_end - a.row_begin, a.col_end - a.col_begin);
            hashes[static_cast<std::size_t>(task.id)].read[round] += work.apply(k, view, 0, 1);
        }
    }
};

}  // namespace basalt_tests
