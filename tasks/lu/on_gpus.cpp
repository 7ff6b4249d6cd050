// LU in the modes hybrid and gpu: the loop nest.
#include "tasks/lu/on_gpus.hpp"

#include <algorithm>
#include <optional>

#include "tasks/lu/gpu_tasks.hpp"
#include "tasks/lu/interchanges.hpp"
#include "tasks/on_gpus/column_groups.hpp"

namespace basalt::detail {

namespace {

template <class T>
class GpuLuSubmission {
  public:
    GpuLuSubmission(LuState<T>& state, GpuLuState<T>& on_gpus, const LuChoices& choices)
        : s_(state), g_(on_gpus), choices_(choices), tasks_(state, on_gpus, choices), groups_(*state.a, g_.fitting) {}

    void submit() {
        groups_.for_each(g_.geometry, {.enter = [this](const ColumnGroup& group) { tasks_.enter_group(group); },
                                       .apply =
                                           [this](int k) {
                                               tasks_.reload(k);
                                               tasks_.broadcast(k);
                                               tasks_.update_rest(k, tasks_.begin_of_group(), tasks_.end_of_group());
                                           },
                                       .factor = [this](const ColumnGroup& group) { factor_group(group); }});
        if (choices_.left_interchanges && g_.out_of_core()) {
            // the columns are on the host, and one pass over them is cheaper than two transfers
            for (int k = 0; k + 1 < tasks_.steps(); ++k) submit_interchange_left(s_, k, k + 1);
        }
    }

  private:
    void factor(int k) {
        if (tasks_.on_gpu(k)) {
            tasks_.factor_on_gpu(k);
        } else {
            tasks_.factor(k);   // A(k:, k) = P L U on cores
            tasks_.prepare(k);  // L(k, k)^-1 and what the interchanges move
        }
    }

    void factor_group(const ColumnGroup& group) {
        const int begin = tasks_.first_panel(group.first);
        const int end = tasks_.first_panel(group.last);
        const int ahead = std::max(choices_.lookahead, 1);
        const bool separate = choices_.lookahead > 0 && !choices_.single_update_task;
        for (int j = begin; j < std::min(begin + ahead, end); ++j) {
            tasks_.take_out(j, tasks_.panel(begin).first, urgent);
            tasks_.send_to_cores(j);
        }
        if (separate && begin + ahead < end) tasks_.take_out(begin + ahead, tasks_.panel(begin).first, 0);
        bool factored = false;
        for (int k = begin; k < end; ++k) {
            if (!factored) factor(k);
            factored = false;
            tasks_.broadcast(k);
            for (int j = k + 1; j < std::min(k + ahead, end); ++j) tasks_.update_on_cores(k, j);
            const int next = k + ahead;  // the column panel to be factored then
            if (next >= end) {
                tasks_.update_rest(k, tasks_.behind(end - 1), tasks_.end_of_group());
            } else if (separate) {
                tasks_.update_leading(k, next);
                tasks_.send_to_cores(next);
                factored = tasks_.goes_alone(next);  // never with more than one panel ahead, which cores factor
                if (factored) factor(next);
                tasks_.update_rest(k, tasks_.behind(next), tasks_.reach(k), next);
                if (g_.block_width > 0) tasks_.gather(k);
                if (tasks_.ends_block(k)) tasks_.update_beyond(k, next);
                // the panel behind it, as soon as its columns are up to date: no task waits for that copy
                if (next + 1 < end) tasks_.take_out(next + 1, tasks_.panel(k + 1).first, tasks_.patience_of_copy(k));
            } else {
                tasks_.update_rest(k, tasks_.behind(next - 1), tasks_.end_of_group());
                tasks_.take_out(next, tasks_.panel(k).end(), urgent);
                tasks_.send_to_cores(next);
            }
            tasks_.put_back(k);
            tasks_.scale_back_before(tasks_.behind(k).tile_column);
            if (s_.factored && !g_.out_of_core()) s_.factored(tasks_.panel(k));
            groups_.final_before(tasks_.behind(k).tile_column);
            if (choices_.left_interchanges && !g_.out_of_core()) {
                tasks_.interchange_left(k, separate && next < end ? std::optional(next) : std::nullopt);
            }
        }
        tasks_.scale_back_before(group.last);
    }

    LuState<T>& s_;
    GpuLuState<T>& g_;
    const LuChoices choices_;
    GpuLuTasks<T> tasks_;
    ColumnGroups groups_;
};

}  // namespace

template <class T>
void submit_lu_on_gpus(LuState<T>& state, const LuChoices& choices) {
    const GpuLuPlan<T> plan(state.runtime, *state.a, choices);
    state.on_gpus = std::make_shared<GpuLuState<T>>(state, plan);
    state.a->set_rows_move(plan.choices.left_interchanges);
    state.panels_on_gpus = std::count_if(state.panels.begin(), state.panels.end(),
                                         [&](const Panel& p) { return plan.choices.on_gpu(p, state.grid().rows()); });
    GpuLuSubmission<T>(state, *state.on_gpus, plan.choices).submit();
}

template void submit_lu_on_gpus(LuState<float>&, const LuChoices&);
template void submit_lu_on_gpus(LuState<double>&, const LuChoices&);

}  // namespace basalt::detail
