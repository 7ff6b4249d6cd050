// Cholesky in the modes hybrid and gpu: the loop nest.
#include "tasks/cholesky/on_gpus.hpp"

#include <algorithm>
#include <string>

#include "tasks/cholesky/gpu_tasks.hpp"
#include "tasks/matrix/transposed_triangle.hpp"
#include "tasks/on_gpus/column_groups.hpp"

namespace basalt::detail {

namespace {

/// Measured on one GPU: left-looking is faster there. But it has no products by slices, from which large matrices in
/// single precision gain more.
template <class T>
bool looks_left(const GpuCholeskyState<T>& on_gpus, const CholeskyChoices& choices) {
    if (on_gpus.out_of_core() || !(on_gpus.upper || on_gpus.in_place)) return false;
    return choices.left_looking.value_or(on_gpus.in_place && !on_gpus.memory.by_slices() &&
                                         is_single(choices.products));
}

template <class T>
class GpuCholeskySubmission {
  public:
    GpuCholeskySubmission(CholeskyState<T>& state, GpuCholeskyState<T>& on_gpus, const CholeskyChoices& choices)
        : g_(on_gpus),
          tasks_(state, on_gpus, choices),
          groups_(*on_gpus.a, on_gpus.fitting),
          lookahead_(choices.lookahead > 0),
          left_looking_(looks_left(on_gpus, choices)),
          keeps_other_side_(on_gpus.memory.keeps_other_side()) {}

    void submit() {
        groups_.for_each(tasks_.geometry(), {.enter =
                                                 [this](const ColumnGroup& group) {
                                                     panels_ = tasks_.panels_of(group);
                                                     if (keeps_other_side_) tasks_.save_other_side(group);
                                                 },
                                             .apply =
                                                 [this](int k) {
                                                     tasks_.reload(k, panels_.first);
                                                     tasks_.update(k, panels_, Urgency::rest);
                                                 },
                                             .factor =
                                                 [this](const ColumnGroup& group) {
                                                     left_looking_ ? factor_left_looking(panels_) : factor(panels_);
                                                     final_before(group.last);
                                                 }});
        tasks_.collect_info();
    }

  private:
    using Urgency = typename GpuCholeskyTasks<T>::Urgency;

    /// Columns of the present group left of that one are final.
    void final_before(Index column) {
        if (keeps_other_side_) tasks_.restore_other_side({final_, column});
        final_ = column;
        groups_.final_before(column);
    }

    void factor(PanelRange panels) {
        tasks_.take_out(panels.first);
        PanelRange next;
        for (PanelRange step = tasks_.step(panels.first, panels.last); !step.empty(); step = next) {
            const int k = step.first;
            next = tasks_.step(step.last, panels.last);
            tasks_.factor(step);  // A(k:, k) = L(k:, k)
            tasks_.broadcast(k);
            if (!next.empty() && lookahead_) {
                tasks_.update(k, next, Urgency::leading);  // A(j, j') -= L(j, k) L(j', k)^T, for the next panel first
                tasks_.take_out(next.first);
                tasks_.update(k, {next.last, panels.last}, Urgency::rest);
            } else if (!next.empty()) {
                tasks_.update(k, {next.first, panels.last}, Urgency::rest);
                tasks_.take_out(next.first);
            }
            tasks_.put_back(k);
            // where all columns are on the GPUs, no copy waits for this
            if (g_.out_of_core() && !next.empty()) final_before(tasks_.tile_column(next.first));
        }
    }

    void factor_left_looking(PanelRange panels) {
        // those of the last tile column would wait for it if it is still on its way
        if (!g_.upper && g_.a->begins_on_gpus()) last_step_ = {g_.fused_from, panels.last};
        tasks_.take_out(panels.first);
        PanelRange next;
        for (PanelRange step = tasks_.step(panels.first, panels.last); !step.empty(); step = next) {
            const int k = step.first;
            next = tasks_.step(step.last, panels.last);
            tasks_.factor(step);
            tasks_.broadcast(k);
            if (!next.empty() && lookahead_) {
                update_during(next, k);
                tasks_.update(k, next, Urgency::leading);
                tasks_.take_out(next.first);
            }
            tasks_.put_back(k);
            if (!next.empty() && !lookahead_) {
                tasks_.update_from_left(next, {0, next.first});
                tasks_.take_out(next.first);
            }
        }
    }

    /// A(j, next) -= L(j, :k) L(next, :k)^T, while k is factored; and the same for the last step, panel by panel, where
    /// that is not enough to do.
    void update_during(PanelRange next, int k) {
        if (last_step_.empty()) return tasks_.update_from_left(next, {0, k});
        if (next.first == last_step_.first) return tasks_.update_from_left(next, {ahead_, k});
        tasks_.update_from_left(next, {0, k});
        const double enough = g_.runtime.tuning().gpu.cholesky.multiplications_during_panel;
        for (double done = tasks_.multiplications(next, {0, k}); done < enough && ahead_ < k; ++ahead_) {
            const PanelRange by{ahead_, ahead_ + 1};
            tasks_.update_from_left(last_step_, by);
            done += tasks_.multiplications(last_step_, by);
        }
    }

    GpuCholeskyState<T>& g_;
    GpuCholeskyTasks<T> tasks_;
    ColumnGroups groups_;
    PanelRange panels_{};     ///< of the present group
    PanelRange last_step_{};  ///< left-looking, of a lower triangle: the panels that one kernel factors at the end
    int ahead_ = 0;           ///< panels that have updated these
    Index final_ = 0;
    const bool lookahead_;
    const bool left_looking_;
    const bool keeps_other_side_;
};

template <class T>
void submit_where_it_lies(CholeskyState<T>& state, const std::shared_ptr<GpuCholeskyState<T>>& on_gpus,
                          const CholeskyChoices& choices) {
    state.workspace = on_gpus;
    GpuCholeskySubmission<T>(state, *on_gpus, choices).submit();
}

}  // namespace

template <class T>
void submit_cholesky_on_gpus(CholeskyState<T>& state, const CholeskyChoices& choices) {
    state.a->set_rows_move(false);
    if (choices.left_looking.value_or(false) && state.triangle == Triangle::lower && state.runtime.gpus() > 1) {
        throw UsageError("CholeskyOptions::left_looking of a lower triangle on " +
                         std::to_string(state.runtime.gpus()) + " GPUs; allowed are one GPU, or the upper triangle");
    }
    if (state.panels.empty()) return;
    state.panels_on_gpus = std::count_if(state.panels.begin(), state.panels.end(),
                                         [&](const Panel& p) { return choices.on_gpu(p, state.grid().rows()); });
    // column groups go from left to right; the panels of an upper triangle, rows, lie in all of them
    const bool copied = state.triangle == Triangle::upper && GpuCholeskyState<T>::needs_groups(state, choices);
    if (!copied) {
        return submit_where_it_lies(
            state, std::make_shared<GpuCholeskyState<T>>(state, state.a, state.triangle, choices), choices);
    }
    const auto copy =
        std::make_shared<MatrixStorage>(state.runtime, transposed_grid(state.grid()), sizeof(T), "transposed copy");
    copy->set_deal(Deal::cyclic);
    const auto on_gpus = std::make_shared<GpuCholeskyState<T>>(state, copy, Triangle::lower, choices);
    submit_transposition<T>(state.runtime, *state.a, *copy, Triangle::lower);
    submit_where_it_lies(state, on_gpus, choices);
    submit_transposition<T>(state.runtime, *copy, *state.a, Triangle::upper);
}

template void submit_cholesky_on_gpus(CholeskyState<float>&, const CholeskyChoices&);
template void submit_cholesky_on_gpus(CholeskyState<double>&, const CholeskyChoices&);

}  // namespace basalt::detail
