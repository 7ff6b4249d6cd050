// QR on CPU cores: the loop nest.
#include "tasks/qr/on_cores.hpp"

#include <algorithm>

#include "kernels/cpu/qr/block_reflector.hpp"
#include "kernels/cpu/qr/columns.hpp"
#include "kernels/cpu/qr/tree.hpp"
#include "runtime/engine/runtime_access.hpp"
#include "runtime/memory/host_pool.hpp"

namespace basalt::detail {

/// What QR on cores needs next to QrState while it runs.
template <class T>
struct CpuQrState {
    CpuQrState(QrState<T>& qr, const QrChoices& choices)
        : workspace(choices.panel_threads, qr.nb),
          r(static_cast<std::size_t>(qr.nb * qr.nb)),
          memory(workspaces(qr.runtime),
                 static_cast<std::size_t>(slots(qr, choices) * qr.nb * line_padded<T>(qr.grid().rows())) * sizeof(T)) {
        const Index ld = line_padded<T>(qr.grid().rows());
        T* next = static_cast<T*>(memory.data());
        for (Index s = 0; s < slots(qr, choices); ++s, next += qr.nb * ld)
            vt.emplace_back(qr.runtime, next, qr.nb, ld, "V");
    }
    /// Panels on their way at once.
    static Index slots(const QrState<T>& qr, const QrChoices& choices) {
        return std::min<Index>(std::max<Index>(choices.lookahead, 1) + 1, std::ssize(qr.panels));
    }

    QrPanelWorkspace<T> workspace;
    std::vector<T> r;  ///< of the panel that is factored at present
    PooledBuffer memory;
    std::vector<ScratchMatrix<T>> vt;  ///< by slot: V^T, width x rows, with its zeros and ones
};

namespace {

template <class T>
class CpuQrSubmission {
  public:
    CpuQrSubmission(QrState<T>& state, const QrChoices& choices)
        : s_(state),
          c_(*state.on_cores),
          rt_(state.runtime),
          choices_(choices),
          priority_(state.panels.size(), choices.lookahead) {}

    void submit() {
        for (int k = 0; k < steps(); ++k) {
            factor(k);  // A(k:, k) = (I - V T V^T) (R, 0)^T
            s_.for_each_trailing(k, [&](Index tile_column, Index begin, Index end, int panels_ahead) {
                update(k, tile_column, begin, end, panels_ahead);  // A(k:, j) = (I - V T^T V^T) A(k:, j)
            });
        }
    }

  private:
    int steps() const { return static_cast<int>(s_.panels.size()); }
    const Panel& panel(int k) const { return s_.panels[static_cast<std::size_t>(k)]; }
    Index rows() const { return s_.grid().rows(); }
    Region<T> vt(int k) const {
        const Panel& p = panel(k);
        return c_.vt[static_cast<std::size_t>(k) % c_.vt.size()].rows(0, p.width, rows() - p.first);
    }

    void factor(int k) {
        const Panel& p = panel(k);
        const int threads = choices_.panel_threads_for(rows() - p.first);
        const double bytes = static_cast<double>((rows() - p.first) * p.width) * sizeof(T);
        rt_.submit(
            {.name = "panel", .priority = priority_.panel(k), .threads = {threads, threads}, .tile = {k, k}, .step = k},
            readwrite(s_.region(p, p.first, rows())), write(vt(k)), write(s_.t_of(k)),
            [c = &c_, tree = choices_.tree_for(threads, bytes)](const Team& team, View<T> a, View<T> vt, View<T> t) {
                const View<T> v(vt.data(), vt.cols(), vt.rows(), vt.col_stride(), vt.row_stride());
                const auto r = View<T>::column_major(c->r.data(), a.cols(), a.cols(), a.cols());
                qr_panel_load<T>(team, a, v);
                const bool by_tree = tree && is_tall_panel(team, v.rows(), v.cols());
                if (!by_tree || !qr_tree_factor<T>(team, v, r, t, c->workspace))
                    qr_panel_factor<T>(team, v, r, t, c->workspace);
                qr_panel_store<T>(team, v, r, a);
            });
    }

    void update(int k, Index tile_column, Index begin, Index end, int panels_ahead) {
        const Panel& p = panel(k);
        rt_.submit({.name = "update",
                    .priority = priority_.update(k, panels_ahead),
                    .tile = {k, static_cast<int>(tile_column), static_cast<int>(begin)},
                    .step = k},
                   read(s_.region(p, p.end(), rows())), read(vt(k)), read(s_.t_of(k)),
                   readwrite(s_.a->template region<T>(tile_column, p.first, rows(), begin, end)),
                   [](View<const T> below, View<const T> vt, View<const T> t, View<T> a) {
                       apply_block_reflector<T>(Reflection::transposed, vt, below, t, a);
                   });
    }

    QrState<T>& s_;
    CpuQrState<T>& c_;
    Runtime& rt_;
    const QrChoices choices_;
    const StepPriorities priority_;
};

}  // namespace

template <class T>
void submit_qr_on_cores(QrState<T>& state, const QrChoices& choices) {
    if (state.panels.empty()) return;
    state.on_cores = std::make_shared<CpuQrState<T>>(state, choices);
    CpuQrSubmission<T>(state, choices).submit();
}

template void submit_qr_on_cores(QrState<float>&, const QrChoices&);
template void submit_qr_on_cores(QrState<double>&, const QrChoices&);

}  // namespace basalt::detail
