#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "basalt/array.hpp"
#include "basalt/graph.hpp"
#include "basalt/recording.hpp"
#include "runtime/engine/gpu_data.hpp"
#include "runtime/engine/host_copies.hpp"
#include "runtime/engine/runtime_access.hpp"
#include "tests/runtime/random_graph/guard.hpp"

namespace basalt_tests {

/// What a task of a random graph throws.
struct Thrown : std::runtime_error {
    explicit Thrown(int id) : std::runtime_error("thrown on purpose"), id(id) {}
    int id;
};

/// A datum of a program, registered with a runtime.
struct LiveDatum {
    std::vector<Cell> memory;  ///< of those that the runtime does not own; outlives them, who come home to it
    basalt::Array<Cell> array;
    basalt::detail::DatumHandle plane;

    basalt::detail::Datum* handle() const { return plane.get() != nullptr ? plane.get() : array.rows(0, 0).datum; }
};

/// One run of a program through a runtime: submits its tasks and is their kernel.
class Execution {
  public:
    Execution(basalt::Runtime& runtime, const Program& program)
        : runtime_(runtime),
          program_(program),
          states_(static_cast<std::size_t>(program.all_tasks)),
          data_(program.data.size()),
          used_(program.data.size()) {
        for (std::size_t d = 0; d < data_.size(); ++d) register_datum(program.data[d], data_[d]);
        for (int g = 1; g < program.graphs; ++g) graphs_.push_back(std::make_unique<basalt::Graph>(runtime, g));
    }

    /// Has what the calling thread does outside tasks mean the graph, for as long as the result lives.
    std::unique_ptr<basalt::SubmitTo> use_graph(int graph) const {
        if (graph == 0) return nullptr;
        return std::make_unique<basalt::SubmitTo>(*graphs_[static_cast<std::size_t>(graph) - 1]);
    }
    void submit(const TaskSpec& task);
    /// For recordings: from now on, what tasks submit works on that execution's data, which are of the same program.
    void use_data_of(Execution& other) { live_ = &other.data_; }
    /// Kernels of tasks with a list get its addresses, as on devices.
    void learn_addresses() { learns_addresses_ = true; }
    /// Has the recording use the other execution's data.
    void bind(basalt::Recording& recording, const Execution& other) const {
        for (std::size_t d = 0; d < data_.size(); ++d) {
            if (used_[d]) recording.bind(data_[d].array, other.data_[d].array);
        }
    }
    /// Forgets what its tasks did.
    void reset() {
        for (State& state : states_) {
            state.runs = state.inside = 0;
            state.thrown = false;
            state.gpu = -1;
            state.read[0] = state.read[1] = state.local = 0;
        }
    }
    /// The kernel: one member's share of the task.
    void perform(const TaskSpec& task, const basalt::Team& team, const std::vector<CellView>& views);
    void perform_on_gpu(const TaskSpec& task, basalt::Stream stream, const std::vector<CellView>& views);

    void submit_errand(const Errand& errand) {
        const auto datum = static_cast<std::size_t>(errand.datum);
        const DatumSpec& spec = program_.data[datum];
        basalt::detail::Datum* const handle = data_[datum].handle();
        const basalt::Region<Cell> all{
            handle, generation_of(*handle), 0, spec.rows, 0, spec.cols, 0, spec.rows, spec.cols, spec.cols, 1};
        if (errand.kind == Errand::prefetch) runtime_.prefetch(all, errand.place);
        if (errand.kind == Errand::broadcast) runtime_.broadcast(all);
        if (errand.kind == Errand::leave)
            basalt::detail::gpu_data(runtime_).leave(*all.datum, errand.place.gpu_number(), {});
        if (errand.kind == Errand::fetch) {
            basalt::detail::host_copies(runtime_).submit_fetch({.name = "fetch"}, access(errand.from).record,
                                                               access(errand.to).record, errand.place.gpu_number());
        }
    }

    /// Destroys the datum and creates it again. Returns the contents of the test's memory in between, which become
    /// `contents` where those are given.
    std::vector<Cell> renew(std::size_t datum, const std::vector<Cell>* contents) {
        LiveDatum& live = data_[datum];
        live.array.release();
        live.plane.reset();
        std::vector<Cell> left = live.memory;
        if (!belongs_to_test(program_.data[datum])) {
            live.memory.clear();
        } else if (contents != nullptr) {
            for (std::size_t i = 0; i < left.size(); ++i) live.memory[i] = {(*contents)[i].value, 0};
        }
        register_datum(program_.data[datum], live);
        return left;
    }

    /// Waits for the datum and returns its contents.
    std::vector<Cell> look_at(std::size_t datum) {
        LiveDatum& live = data_[datum];
        const void* base =
            live.plane.get() != nullptr ? basalt::detail::wait_datum(live.plane) : live.array.host_view().data();
        const auto* cells = static_cast<const Cell*>(base);
        const DatumSpec& spec = program_.data[datum];
        std::vector<Cell> copy(static_cast<std::size_t>(spec.rows * spec.cols));
        std::copy_n(cells, copy.size(), copy.begin());
        return copy;
    }

    int runs(int task) const { return state(task).runs.load(); }
    bool thrown(int task) const { return state(task).thrown.load(); }
    /// Whether a task went on after an error of its children: then contents are not those of the serial run.
    bool caught() const { return caught_.load(); }
    Hashes hashes(int task) const {
        const State& s = state(task);
        return {{s.read[0].load(), s.read[1].load()}, s.local};
    }

    /// The first thing that a kernel found wrong, or nothing.
    std::string complaint() const {
        const std::lock_guard guard(complaint_lock_);
        return complaint_;
    }

  private:
    struct State {
        std::atomic<int> runs{0};
        std::atomic<int> inside{0};
        std::atomic<bool> thrown{false};
        std::atomic<int> gpu{-1};  // the one that it ran on
        std::atomic<std::uint64_t> read[2] = {0, 0};
        std::uint64_t local = 0;
    };

    /// What is moved into the runtime.
    struct Kernel {
        Execution* execution;
        const TaskSpec* task;

        template <class... Element>
        void operator()(const basalt::Team& team, basalt::View<Element>... views) const {
            execution->perform(*task, team, {views...});
        }
    };
    struct ListKernel {
        Execution* execution;
        const TaskSpec* task;
        std::vector<CellView> views;
        void operator()(const basalt::Team& team) const { execution->perform(*task, team, views); }
    };
    struct AddressKernel {
        Execution* execution;
        const TaskSpec* task;
        std::vector<basalt::Access<Cell>> accesses;

        std::vector<CellView> views(const basalt::detail::DatumAddresses& addresses) const {
            std::vector<CellView> views;
            for (std::size_t i = 0; i < accesses.size(); ++i) views.push_back(accesses[i].view(addresses[i]));
            return views;
        }
        void operator()(const basalt::Team& team, const basalt::detail::DatumAddresses& addresses) const {
            execution->perform(*task, team, views(addresses));
        }
        void operator()(basalt::Stream stream, const basalt::detail::DatumAddresses& addresses) const {
            execution->perform_on_gpu(*task, stream, views(addresses));
        }
    };
    static constexpr auto streams = basalt::detail::KernelStreams::any;
    struct GpuKernel {
        Execution* execution;
        const TaskSpec* task;

        template <class... Element>
        void operator()(basalt::Stream stream, basalt::View<Element>... views) const {
            execution->perform_on_gpu(*task, stream, {views...});
        }
    };

    const State& state(int task) const { return states_[static_cast<std::size_t>(task)]; }
    State& state(int task) { return states_[static_cast<std::size_t>(task)]; }

    void register_datum(const DatumSpec& spec, LiveDatum& live) {
        const auto elements = static_cast<std::size_t>(spec.rows * spec.cols);
        if (!may_be_renamed(spec)) live.memory.resize(elements, Cell{0, 0});
        switch (spec.kind) {
            case DatumKind::owned: live.array = basalt::Array<Cell>(runtime_, spec.rows, "owned"); break;
            case DatumKind::wrapped:
                live.array = basalt::Array<Cell>::wrap(runtime_, live.memory.data(), spec.rows, "wrapped");
                break;
            case DatumKind::owned_plane: live.plane = plane(spec, nullptr, basalt::detail::Storage::owned); break;
            case DatumKind::plane: live.plane = plane(spec, &live, basalt::detail::Storage::borrowed); break;
            case DatumKind::column: live.plane = plane(spec, &live, basalt::detail::Storage::pinned); break;
            case DatumKind::scratch: live.plane = plane(spec, &live, basalt::detail::Storage::scratch); break;
        }
    }

    basalt::detail::DatumHandle plane(const DatumSpec& spec, LiveDatum* memory, basalt::detail::Storage storage) {
        void* base = memory != nullptr ? memory->memory.data() : nullptr;
        return basalt::detail::create_datum(runtime_, base, sizeof(Cell), spec.rows, spec.cols, storage, "plane");
    }

    static std::uint32_t generation_of(const basalt::detail::Datum& datum) {
        return datum.generation.load(std::memory_order_relaxed);
    }
    basalt::Access<Cell> access(const AccessSpec& spec) {
        const auto number = static_cast<std::size_t>(spec.datum);
        const basalt::Index cols = program_.data[number].cols;
        const std::vector<LiveDatum>& data = live_ != nullptr ? *live_ : data_;
        basalt::detail::Datum* const datum = data[number].handle();
        if (datum != nullptr && live_ == nullptr) used_[number] = true;
        return {{datum, spec.row_begin, spec.row_end, spec.col_begin, spec.col_end, generation_of(*datum), spec.mode},
                spec.row_begin * cols + spec.col_begin,
                spec.row_end - spec.row_begin,
                spec.col_end - spec.col_begin,
                cols,
                1,
                nullptr,
                0};
    }

    struct Add {
        Cell operator()(const Cell& a, const Cell& b) const { return {a.value + b.value, a.guard}; }
    };
    struct ExclusiveOr {
        void operator()(CellView into, basalt::View<const Cell> from) const {
            for (basalt::Index i = 0; i < into.rows(); ++i) {
                for (basalt::Index j = 0; j < into.cols(); ++j) into(i, j).value ^= from(i, j).value;
            }
        }
    };
    basalt::ReduceAccess<Cell> reduce_access(const AccessSpec& spec) {
        const basalt::Access<Cell> a = access(spec);
        const basalt::Region<Cell> region{a.record.datum,
                                          a.record.generation,
                                          a.record.row_begin,
                                          a.record.row_end,
                                          a.record.col_begin,
                                          a.record.col_end,
                                          a.offset,
                                          a.rows,
                                          a.cols,
                                          a.row_stride,
                                          a.col_stride};
        const Cell zero{0, 0};
        switch (spec.combine) {
            case Combine::add: break;
            case Combine::exclusive_or: return basalt::reduce(region, zero, ExclusiveOr{});
            case Combine::add_in_order: return basalt::reduce(region, zero, Add{}, basalt::Order::deterministic);
        }
        return basalt::reduce(region, zero, Add{});
    }

    /// The first accesses are reduce, of which there are sizeof...(R); the others follow.
    template <std::size_t... R, std::size_t... I>
    void submit_reducing(const basalt::TaskOptions& options, const TaskSpec& task, std::index_sequence<R...> reductions,
                         std::index_sequence<I...>) {
        if (task.accesses.size() == sizeof...(R) + sizeof...(I)) {
            runtime_.submit(options, reduce_access(task.accesses[R])..., access(task.accesses[sizeof...(R) + I])...,
                            Kernel{this, &task});
            return;
        }
        if constexpr (sizeof...(I) < 8) {
            return submit_reducing(options, task, reductions, std::make_index_sequence<sizeof...(I) + 1>{});
        }
        throw std::logic_error("the generator made a task with too many accesses");
    }

    template <std::size_t... I>
    void submit_with_views(const basalt::TaskOptions& options, const TaskSpec& task, std::index_sequence<I...>) {
        if (task.accesses.size() != sizeof...(I)) {
            if constexpr (sizeof...(I) < 8) {
                return submit_with_views(options, task, std::make_index_sequence<sizeof...(I) + 1>{});
            }
            throw std::logic_error("the generator made a task with too many accesses");
        }
        // a GPU kernel that knows what to do on an emulated device, or none: then the CPU kernel runs there
        const auto gpu = basalt::detail::on_any_device<streams>(GpuKernel{this, &task});
        const bool twin = task.id % 2 == 0;
        if (!task.on_gpu) {
            runtime_.submit(options, access(task.accesses[I])..., Kernel{this, &task});
        } else if (!task.on_cpu) {
            runtime_.submit(options, access(task.accesses[I])..., gpu);
        } else if (twin) {
            runtime_.submit(options, access(task.accesses[I])..., Kernel{this, &task}, basalt::cuda(NeverCalled{}));
        } else {
            runtime_.submit(options, access(task.accesses[I])..., Kernel{this, &task}, gpu);
        }
    }

    /// Stands for a kernel that only a real GPU could run.
    struct NeverCalled {
        void operator()(basalt::Stream) const { throw std::logic_error("an emulated device called a cuda kernel"); }
    };

    void submit_with_addresses(const basalt::TaskOptions& options, const TaskSpec& task) {
        basalt::AccessList list;
        AddressKernel kernel{this, &task, {}};
        for (const AccessSpec& spec : task.accesses) {
            kernel.accesses.push_back(access(spec));
            list.add(kernel.accesses.back());
        }
        const auto gpu = basalt::detail::on_any_device<streams>(kernel);
        if (!task.on_gpu) {
            runtime_.submit(options, list, kernel);
        } else if (!task.on_cpu) {
            runtime_.submit(options, list, gpu);
        } else {
            runtime_.submit(options, list, kernel, gpu);
        }
    }

    void submit_with_list(const basalt::TaskOptions& options, const TaskSpec& task) {
        basalt::AccessList list;
        ListKernel kernel{this, &task, {}};
        for (const AccessSpec& spec : task.accesses) {
            const basalt::Access<Cell> a = access(spec);
            list.add(a);
            kernel.views.push_back(
                a.view(const_cast<Cell*>(data_[static_cast<std::size_t>(spec.datum)].memory.data())));
        }
        runtime_.submit(options, list, std::move(kernel));
    }

    void complain(const TaskSpec& task, const std::string& what) {
        const std::lock_guard guard(complaint_lock_);
        if (complaint_.empty()) complaint_ = "task " + std::to_string(task.id) + ": " + what;
    }

    void enter(const TaskSpec& task, const basalt::Team& team);
    void work(const TaskSpec& task, const basalt::Team& team, const std::vector<CellView>& views, int round);
    void run_local_steps(const TaskSpec& task);
    void run_children(const TaskSpec& task);
    void wait_for_children(const TaskSpec& task);

    basalt::Runtime& runtime_;
    const Program& program_;
    std::vector<State> states_;
    std::vector<std::unique_ptr<basalt::Graph>> graphs_;
    std::atomic<bool> caught_{false};
    mutable std::mutex complaint_lock_;
    std::string complaint_;
    bool learns_addresses_ = false;
    std::vector<LiveDatum>* live_ = nullptr;  // empty: its own
    std::vector<LiveDatum> data_;             // destroyed first, which waits for the tasks
    std::vector<std::atomic<bool>> used_;     // by tasks that were submitted, from several threads
};

}  // namespace basalt_tests
