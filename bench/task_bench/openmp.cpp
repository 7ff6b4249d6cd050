// OpenMP: tasks with depend clauses on two outputs a column, inserted by one thread of a team.
#include <array>
#include <vector>

#include <omp.h>

#include "bench/common/clock.hpp"
#include "bench/task_bench/task_systems.hpp"

namespace bench {

namespace {

class OpenMpGrid final : public GridSystem {
  public:
    explicit OpenMpGrid(int workers) : workers_(workers) {}

    double run(const Work& work) override {
        for (auto& columns : outputs_) columns.assign(static_cast<std::size_t>(work.grid().width()), TaskSlot{});
        double seconds = 0;
#pragma omp parallel num_threads(workers_)
#pragma omp single
        {
            const Stopwatch watch;
            for (const GridTask& task : work.grid().tasks()) submit(work, task);
#pragma omp taskwait
            seconds = watch.elapsed().wall;
        }
        return seconds;
    }

  private:
    void submit(const Work& work, const GridTask& task) {
        const auto parity = static_cast<std::size_t>(task.step % 2);
        const TaskSlot* before = outputs_[1 - parity].data();
        TaskSlot* output = &outputs_[parity][static_cast<std::size_t>(task.column)];
        const std::int32_t* columns = work.grid().inputs(task).data();
        const Work* const all = &work;
        const GridTask* const own = &task;
        switch (task.inputs) {
            case 0:
#pragma omp task depend(out : *output) firstprivate(all, own, columns, before, output)
                run(*all, *own, columns, before, *output);
                break;
            case 1:
#pragma omp task depend(in : before[columns[0]]) depend(out : *output) firstprivate(all, own, columns, before, output)
                run(*all, *own, columns, before, *output);
                break;
            case 2:
#pragma omp task depend(in                                                          \
                        : before[columns[0]], before[columns[1]]) depend(out        \
                                                                         : *output) \
    firstprivate(all, own, columns, before, output)
                run(*all, *own, columns, before, *output);
                break;
            case 3:
#pragma omp task depend(in                                                                              \
                        : before[columns[0]], before[columns[1]], before[columns[2]]) depend(out        \
                                                                                             : *output) \
    firstprivate(all, own, columns, before, output)
                run(*all, *own, columns, before, *output);
                break;
            default: {
                const int count = static_cast<int>(task.inputs);
#pragma omp task depend(iterator(i = 0                   \
                                 : count),               \
                        in                               \
                        : before[columns[i]]) depend(out \
                                                     : *output) firstprivate(all, own, columns, before, output)
                run(*all, *own, columns, before, *output);
            }
        }
    }

    static void run(const Work& work, const GridTask& task, const std::int32_t* columns, const TaskSlot* before,
                    TaskSlot& output) {
        work.run(
            task, [&](std::size_t k) { return &before[columns[k]].output; }, output.output);
    }

    int workers_;
    std::array<std::vector<TaskSlot>, 2> outputs_;
};

}  // namespace

std::unique_ptr<GridSystem> make_openmp_grid(int workers) { return std::make_unique<OpenMpGrid>(workers); }

}  // namespace bench
