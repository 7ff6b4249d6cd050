// Ours, through the public API: two outputs a column, one for even steps and one for odd ones. A task reads its inputs
// among those of the other parity and writes its own; the runtime finds the dependencies. An output that is only
// written gets fresh memory while the old contents are still read (renaming); one that is read and written waits for
// its readers, as in OpenMP.
#include <array>
#include <utility>
#include <vector>

#include <basalt/array.hpp>
#include <basalt/runtime.hpp>

#include "bench/common/clock.hpp"
#include "bench/task_bench/task_systems.hpp"

namespace bench {

namespace {

using Outputs = std::vector<basalt::Array<TaskOutput>>;

template <std::size_t>
using InputView = basalt::View<const TaskOutput>;

class BasaltGrid final : public GridSystem {
  public:
    BasaltGrid(int workers, OutputAccess access) : runtime_({.workers = workers}), access_(access) {}

    double run(const Work& work) override {
        std::array<Outputs, 2> outputs;
        for (Outputs& columns : outputs) {
            for (int c = 0; c < work.grid().width(); ++c) columns.emplace_back(runtime_, 1);
        }
        const Stopwatch watch;
        for (const GridTask& task : work.grid().tasks()) {
            const auto parity = static_cast<std::size_t>(task.step % 2);
            submit(work, task, outputs[1 - parity], outputs[parity][static_cast<std::size_t>(task.column)]);
        }
        runtime_.wait();
        return watch.elapsed().wall;
    }

  private:
    using Output = basalt::Array<TaskOutput>;

    void submit(const Work& work, const GridTask& task, const Outputs& before, const Output& output) {
        switch (task.inputs) {
            case 0: return submit(work, task, before, output, std::make_index_sequence<0>{});
            case 1: return submit(work, task, before, output, std::make_index_sequence<1>{});
            case 2: return submit(work, task, before, output, std::make_index_sequence<2>{});
            case 3: return submit(work, task, before, output, std::make_index_sequence<3>{});
            case 4: return submit(work, task, before, output, std::make_index_sequence<4>{});
            case 5: return submit(work, task, before, output, std::make_index_sequence<5>{});
            default: return submit_list(work, task, before, output);
        }
    }

    /// A known number of accesses: the kernel takes a view for each.
    template <std::size_t... I>
    void submit(const Work& work, const GridTask& task, [[maybe_unused]] const Outputs& before, const Output& output,
                std::index_sequence<I...>) {
        [[maybe_unused]] const auto columns = work.grid().inputs(task);
        runtime_.submit({}, read(before[static_cast<std::size_t>(columns[I])])..., own(output),
                        [&work, &task](InputView<I>... inputs, basalt::View<TaskOutput> output) {
                            const std::array<const TaskOutput*, sizeof...(I)> addresses{inputs.data()...};
                            work.run(
                                task, [&](std::size_t k) { return addresses[k]; }, output[0]);
                        });
    }

    /// Any number: the kernel takes the addresses.
    void submit_list(const Work& work, const GridTask& task, const Outputs& before, const Output& output) {
        list_.clear();
        for (const std::int32_t column : work.grid().inputs(task)) list_.read(before[static_cast<std::size_t>(column)]);
        list_.add(own(output));
        runtime_.submit({}, list_, [&work, &task](const basalt::Addresses& addresses) {
            work.run(
                task, [&](std::size_t k) { return static_cast<const TaskOutput*>(addresses[k]); },
                *static_cast<TaskOutput*>(addresses.back()));
        });
    }

    basalt::Access<TaskOutput> own(const Output& output) const {
        return access_ == OutputAccess::write ? write(output) : readwrite(output);
    }

    basalt::Runtime runtime_;
    OutputAccess access_;
    basalt::AccessList list_;
};

}  // namespace

std::unique_ptr<GridSystem> make_basalt_grid(int workers, OutputAccess access) {
    return std::make_unique<BasaltGrid>(workers, access);
}

}  // namespace bench
