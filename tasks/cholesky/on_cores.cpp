// Cholesky on CPU cores: the loop nest.
#include "tasks/cholesky/on_cores.hpp"

#include <algorithm>
#include <memory>
#include <vector>

#include "kernels/cpu/cholesky/cholesky.hpp"
#include "kernels/cpu/products/gemm.hpp"
#include "tasks/choices/step_priorities.hpp"

namespace basalt::detail {

namespace {

/// Data that the tasks of a step pass on in addition to the matrix.
template <class T>
struct Workspace {
    Workspace(Runtime& runtime, Triangle triangle, Index steps, Index width, Index deepest)
        : ring(3 * deepest),
          scale(static_cast<std::size_t>(ring)),
          triangles(runtime, ring, width * width, "prepared triangle"),
          packed(runtime, ring * steps, packed_size<T>(width, width), "packed block") {
        for (auto& numbers : scale) numbers.resize(static_cast<std::size_t>(width));
        if (triangle == Triangle::upper) {
            transposed = HostBlocks<T>(runtime, ring * steps, width * width, "transposed block");
        }
    }

    const Index ring;                   ///< steps that may be under way at once: of three blocks
    std::vector<std::vector<T>> scale;  ///< by step: of prepare_solve(); goes with `triangles`
    HostBlocks<T> triangles;            ///< by step: of prepare_solve()
    HostBlocks<T> packed;               ///< by step and block j: L(j, k)^T packed
    HostBlocks<T> transposed;           ///< by step and block i, of an upper triangle: U(k, i)^T
};

/// Blocks begin .. end - 1 of a block column.
struct BlockRange {
    int begin, end;
};

/// The blocks of the matrix and of the workspace. L(i, k) stands for U(k, i)^T where the upper triangle is factored.
template <class T>
class Blocks {
  public:
    Blocks(const CholeskyState<T>& state, Workspace<T>& workspace)
        : s_(&state), w_(&workspace), lower_(state.triangle == Triangle::lower) {}

    bool lower() const { return lower_; }
    int steps() const { return static_cast<int>(s_->panels.size()); }
    const Panel& panel(int k) const { return s_->panels[static_cast<std::size_t>(k)]; }
    /// A(i, j) of the lower triangle, or A(j, i) in its place.
    Region<T> block(int i, int j) const {
        return lower_ ? s_->block(panel(i), panel(j)) : s_->block(panel(j), panel(i));
    }
    Region<T> triangle(int k) const { return w_->triangles.block(slot(k)); }
    T* scale(int k) const { return w_->scale[static_cast<std::size_t>(slot(k))].data(); }
    Region<T> packed(int k, int j) const { return w_->packed.block(slot(k) * steps() + j); }
    Region<T> transposed(int k, int i) const { return w_->transposed.block(slot(k) * steps() + i); }
    /// L(i, k) for products: where the lower triangle lies, or its transposed copy.
    Region<T> left(int k, int i) const { return lower_ ? block(i, k) : transposed(k, i); }

    /// A(row, column) -= L(row, k) L(column, k)^T for the panels k and some rows, in the matrix as it lies. For each k
    /// all rows, so that the packed L(column, k) stays in the cache.
    void subtract(const PanelBlock& panels, const BlockRange& rows, int column) const {
        for (int k = panels.first; k < panels.last; ++k) {
            const T* const by = w_->packed.data(slot(k) * steps() + column);
            for (int row = rows.begin; row < rows.end; ++row) {
                const View<T> c = at(panel(row), panel(column));
                if (row == column) {
                    cpu_kernels::subtract_square<T>(s_->triangle, c, left_view(k, row), by);
                } else {
                    gemm_minus<T>(c, left_view(k, row), by);
                }
            }
        }
    }

  private:
    Index slot(int k) const { return k % w_->ring; }
    View<T> at(const Panel& rows, const Panel& cols) const {
        const Index width = s_->grid().shape().width;
        T* const column = static_cast<T*>(s_->a->column(cols.tile_column));
        return View<T>::row_major(column + rows.first * width + cols.col_begin, rows.width, cols.width, width);
    }
    View<const T> left_view(int k, int row) const {
        if (lower_) return at(panel(row), panel(k));
        const Index depth = panel(k).width;
        return View<const T>::row_major(w_->transposed.data(slot(k) * steps() + row), panel(row).width, depth, depth);
    }

    const CholeskyState<T>* s_;
    Workspace<T>* w_;
    bool lower_;
};

template <class Element>
View<Element> dense(View<Element> memory, Index rows, Index cols) {
    return View<Element>::row_major(memory.data(), rows, cols, cols);
}

/// One factorization's submission.
///
/// Two levels of blocking, as in LU: a step updates the other columns of its block of panels at once. The columns right
/// of the block are updated by all its panels together, so each element there is read and written once for all of them.
template <class T>
class CholeskySubmission {
  public:
    CholeskySubmission(CholeskyState<T>& state, const CholeskyChoices& choices)
        : s_(state),
          rt_(state.runtime),
          lower_(state.triangle == Triangle::lower),
          priority_(state.panels.size(), choices.lookahead),
          steps_(static_cast<int>(state.panels.size())),
          panel_blocks_(
              cut_deep_blocks(state.panels, choices.depth.columns, choices.depth.left_a_column, state.order())),
          workspace_(std::make_shared<Workspace<T>>(rt_, state.triangle, steps_, widest(), deepest())),
          b_(state, *workspace_) {
        state.workspace = workspace_;
    }

    void submit() {
        for (const PanelBlock& block : panel_blocks_) {
            for (int k = block.first; k < block.last; ++k) {
                factor(k);                                                // A(k, k) = L(k, k) L(k, k)^T
                for (int i = k + 1; i < steps_; ++i) solve(block, k, i);  // L(i, k) = A(i, k) L(k, k)^-T
                for (int j = k + 1; j < block.last; ++j) update_column(block, {k, k + 1}, j);
            }
            for (int j = block.last; j < steps_; ++j) update_column(block, block, j);
        }
    }

  private:
    Index widest() const {
        Index width = 0;
        for (const Panel& p : s_.panels) width = std::max(width, p.width);
        return width;
    }
    Index deepest() const {
        int panels = 1;
        for (const PanelBlock& block : panel_blocks_) panels = std::max(panels, block.panels());
        return panels;
    }

    void factor(int k) {
        rt_.submit(
            {.name = "diagonal", .priority = priority_.panel(k), .tile = {k, k}, .step = k, .place = Place::cpu()},
            readwrite(b_.block(k, k)), write(b_.triangle(k)), readwrite(s_.info),
            [triangle = s_.triangle, first = b_.panel(k).first, scale = b_.scale(k)](View<T> a, View<T> rows,
                                                                                     View<Index> info) {
                if (info[0] != 0) return;
                if (const Index found = cpu_kernels::factor_triangle(triangle, a)) {
                    info[0] = first + found;
                    return;
                }
                const bool lower = triangle == Triangle::lower;
                cpu_kernels::prepare_solve<T>(lower ? a : transposed(a), dense(rows, a.rows(), a.rows()), scale);
            });
    }

    void solve(const PanelBlock& block, int k, int i) {
        const TaskOptions options{.name = "solve",
                                  .priority = priority_.update(k, i - (block.last - 1), block.panels()),
                                  .tile = {i, k},
                                  .step = k,
                                  .place = Place::cpu()};
        const T* const scale = b_.scale(k);
        if (lower_) {
            rt_.submit(options, read(b_.triangle(k)), readwrite(b_.block(i, k)), write(b_.packed(k, i)),
                       [scale](View<const T> l, View<T> a, View<T> packed) {
                           solve_and_pack<T>(dense(l, a.cols(), a.cols()), scale, transposed(a), packed.data());
                       });
        } else {
            rt_.submit(options, read(b_.triangle(k)), readwrite(b_.block(i, k)), write(b_.packed(k, i)),
                       write(b_.transposed(k, i)), [scale](View<const T> l, View<T> a, View<T> packed, View<T> to) {
                           solve_and_pack<T>(dense(l, a.rows(), a.rows()), scale, a, packed.data());
                           cpu_kernels::transpose<T>(a, dense(to, a.cols(), a.rows()));
                       });
        }
    }

    /// A(i, j) -= L(i, k) L(j, k)^T for the panels k and all i >= j.
    void update_column(const PanelBlock& block, const PanelBlock& panels, int j) {
        // the block on the diagonal by itself: a panel may wait for it
        for (BlockRange rows{j, j + 1}; rows.begin < steps_; rows = {rows.end, end_of_tile(rows.end)}) {
            update(block, panels, rows, j);
        }
    }

    /// Behind the blocks that lie in the same tile as A(i, j). One by one in an upper triangle, where each of them has
    /// a packed block of its own.
    int end_of_tile(int i) const {
        int end = i + 1;
        const Index height = s_.grid().shape().height;
        while (lower_ && end < steps_ && b_.panel(end).first / height == b_.panel(i).first / height) ++end;
        return end;
    }

    void update(const PanelBlock& block, const PanelBlock& panels, const BlockRange& i, int j) {
        // of the lower triangle: A(i, j) -= L(i, k) L(j, k)^T; of the upper one: A(j, i) -= U(k, j)^T U(k, i)
        const BlockRange rows = lower_ ? i : BlockRange{j, j + 1};
        const int column = lower_ ? j : i.begin;
        AccessList data;
        for (int k = panels.first; k < panels.last; ++k) {
            for (int row = rows.begin; row < rows.end; ++row) data.read(b_.left(k, row));
            data.read(b_.packed(k, column));
        }
        for (int row = i.begin; row < i.end; ++row) data.readwrite(b_.block(row, j));
        rt_.submit({.name = "update",
                    .priority = priority_.update(panels.last - 1, j - (block.last - 1), block.panels()),
                    .tile = {i.begin, j, panels.last - 1},
                    .step = panels.last - 1,
                    .place = Place::cpu()},
                   data, [b = b_, panels, rows, column] { b.subtract(panels, rows, column); });
    }

    CholeskyState<T>& s_;
    Runtime& rt_;
    const bool lower_;
    const StepPriorities priority_;
    const int steps_;
    const std::vector<PanelBlock> panel_blocks_;
    const std::shared_ptr<Workspace<T>> workspace_;
    const Blocks<T> b_;
};

}  // namespace

template <class T>
void submit_cholesky_on_cores(CholeskyState<T>& state, const CholeskyChoices& choices) {
    CholeskySubmission<T>(state, choices).submit();
}

template void submit_cholesky_on_cores(CholeskyState<float>&, const CholeskyChoices&);
template void submit_cholesky_on_cores(CholeskyState<double>&, const CholeskyChoices&);

}  // namespace basalt::detail
