// QR in the modes hybrid and gpu: the loop nest.
#include "tasks/qr/on_gpus.hpp"

#include <algorithm>

#include "tasks/on_gpus/column_groups.hpp"
#include "tasks/qr/gpu_tasks.hpp"

namespace basalt::detail {

namespace {

template <class T>
class GpuQrSubmission {
  public:
    GpuQrSubmission(QrState<T>& state, GpuQrState<T>& on_gpus, const QrChoices& choices)
        : tasks_(state, on_gpus, choices), groups_(*state.a, on_gpus.fitting) {}

    void submit() {
        groups_.for_each(tasks_.geometry(), {.enter = [this](const ColumnGroup& group) { tasks_.enter_group(group); },
                                             .apply =
                                                 [this](int k) {
                                                     tasks_.reload(k);
                                                     tasks_.broadcast(k);
                                                     tasks_.update_rest(k, tasks_.begin_of_group());
                                                 },
                                             .factor = [this](const ColumnGroup& group) { factor_group(group); }});
    }

  private:
    void factor_group(const ColumnGroup& group) {
        const PanelGeometry& geometry = tasks_.geometry();
        const int begin = geometry.first_panel(group.first), end = geometry.first_panel(group.last);
        if (begin == end) return;
        tasks_.take_out(begin);
        tasks_.factor(begin);  // A(k:, k) = (I - V T V^T) (R, 0)^T
        for (int k = begin; k < end; ++k) {
            tasks_.broadcast(k);
            const int next = k + 1;
            if (next < end) {
                tasks_.update_leading(k, next);  // A(k:, j) = (I - V T^T V^T) A(k:, j)
                tasks_.take_out(next);
                tasks_.factor(next);
                tasks_.update_rest(k, geometry.behind(next), next);
            } else {
                tasks_.update_rest(k, geometry.behind(k));
            }
            tasks_.put_back(k);
            groups_.final_before(geometry.behind(k).tile_column);
        }
    }

    GpuQrTasks<T> tasks_;
    ColumnGroups groups_;
};

}  // namespace

template <class T>
void submit_qr_on_gpus(QrState<T>& state, const QrChoices& choices) {
    if (state.panels.empty()) return;
    state.on_gpus = std::make_shared<GpuQrState<T>>(state, choices);
    state.a->set_rows_move(false);
    state.panels_on_gpus = std::count_if(state.panels.begin(), state.panels.end(),
                                         [&](const Panel& p) { return choices.on_gpu(p, state.grid().rows()); });
    GpuQrSubmission<T>(state, *state.on_gpus, choices).submit();
}

template void submit_qr_on_gpus(QrState<float>&, const QrChoices&);
template void submit_qr_on_gpus(QrState<double>&, const QrChoices&);

}  // namespace basalt::detail
