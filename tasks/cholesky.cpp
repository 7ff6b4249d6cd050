// Cholesky on CPU cores: the serial loop nest that submits it; and the handle.
#include "basalt/cholesky.hpp"

#include <algorithm>
#include <string>

#include "kernels/cpu/cholesky.hpp"
#include "kernels/cpu/gemm.hpp"
#include "runtime/engine.hpp"
#include "tasks/cholesky_on_gpus.hpp"
#include "tasks/cholesky_options.hpp"
#include "tasks/cholesky_state.hpp"
#include "tasks/mode_choice.hpp"

namespace basalt {

namespace {

using detail::CholeskyState;
using detail::Panel;

/// Priorities: diagonal blocks first, then the columns that the next ones need, then the rest, older steps first.
class CholeskyPriorities {
  public:
    CholeskyPriorities(std::size_t steps, int lookahead) : steps_(static_cast<int>(steps)), lookahead_(lookahead) {}
    int diagonal(int k) const { return 4 * steps_ - k; }
    int step(int k, int column) const { return (column - k <= lookahead_ ? 2 * steps_ : steps_) - k; }

  private:
    int steps_;
    int lookahead_;
};

/// What tasks of a step hand on, beside the matrix.
template <class T>
struct Workspace {
    Workspace(Runtime& runtime, Triangle triangle, Index steps, Index width)
        : scale(ring),
          triangles(runtime, ring, width * width, "prepared triangle"),
          packed(runtime, ring * steps, packed_size<T>(width, width), "packed block") {
        for (auto& numbers : scale) numbers.resize(static_cast<std::size_t>(width));
        if (triangle == Triangle::upper) {
            transposed = detail::HostBlocks<T>(runtime, ring * steps, width * width, "transposed block");
        }
    }

    static constexpr Index ring = 3;    ///< steps that may be under way at once
    std::vector<std::vector<T>> scale;  ///< by step: of prepare_solve(); goes with `triangles`
    detail::HostBlocks<T> triangles;    ///< by step: of prepare_solve()
    detail::HostBlocks<T> packed;       ///< by step and block j: L(j, k)^T packed
    detail::HostBlocks<T> transposed;   ///< by step and block i, of an upper triangle: U(k, i)^T
};

/// One factorization's submission. L(i, k) stands for U(k, i)^T where the upper triangle is factored.
template <class T>
class CholeskySubmission {
  public:
    CholeskySubmission(CholeskyState<T>& state, int lookahead)
        : s_(state),
          rt_(state.runtime),
          lower_(state.triangle == Triangle::lower),
          priority_(state.panels.size(), lookahead),
          workspace_(std::make_shared<Workspace<T>>(rt_, state.triangle, std::ssize(state.panels), widest())) {
        state.workspace = workspace_;
    }

    void submit() {
        for (int k = 0; k < steps(); ++k) {
            factor(k);                                          // A(k, k) = L(k, k) L(k, k)^T
            for (int i = k + 1; i < steps(); ++i) solve(k, i);  // L(i, k) = A(i, k) L(k, k)^-T
            for (int j = k + 1; j < steps(); ++j) {
                update_diagonal(k, j);                                  // A(j, j) -= L(j, k) L(j, k)^T
                for (int i = j + 1; i < steps(); ++i) update(k, i, j);  // A(i, j) -= L(i, k) L(j, k)^T
            }
        }
    }

  private:
    int steps() const { return static_cast<int>(s_.panels.size()); }
    const Panel& panel(int k) const { return s_.panels[static_cast<std::size_t>(k)]; }
    Index widest() const {
        Index width = 0;
        for (const Panel& p : s_.panels) width = std::max(width, p.width);
        return width;
    }

    /// A(i, j) of the lower triangle, or A(j, i) in its place.
    Region<T> block(int i, int j) const { return lower_ ? s_.block(panel(i), panel(j)) : s_.block(panel(j), panel(i)); }
    Region<T> triangle(int k) const { return workspace_->triangles.block(k % Workspace<T>::ring); }
    Region<T> packed(int k, int j) const { return workspace_->packed.block(k % Workspace<T>::ring * steps() + j); }
    Region<T> transposed_block(int k, int i) const {
        return workspace_->transposed.block(k % Workspace<T>::ring * steps() + i);
    }
    static View<T> square(View<T> memory, Index rows, Index cols) {
        return View<T>::row_major(memory.data(), rows, cols, cols);
    }
    static View<const T> square(View<const T> memory, Index rows, Index cols) {
        return View<const T>::row_major(memory.data(), rows, cols, cols);
    }

    void factor(int k) {
        rt_.submit(
            {.name = "diagonal",
             .priority = priority_.diagonal(k),
             .tile = {k, k, -1},
             .step = k,
             .place = Place::cpu()},
            readwrite(block(k, k)), write(triangle(k)), readwrite(s_.info),
            [lower = lower_, first = panel(k).first, scale = scale_of(k)](View<T> a, View<T> rows, View<Index> info) {
                if (info[0] != 0) return;
                const Triangle triangle = lower ? Triangle::lower : Triangle::upper;
                if (const Index found = cpu_kernels::factor_triangle(triangle, a)) {
                    info[0] = first + found;
                    return;
                }
                cpu_kernels::prepare_solve<T>(lower ? a : transposed(a), square(rows, a.rows(), a.rows()), scale);
            });
    }

    T* scale_of(int k) const { return workspace_->scale[static_cast<std::size_t>(k % Workspace<T>::ring)].data(); }

    void solve(int k, int i) {
        const TaskOptions options{
            .name = "solve", .priority = priority_.step(k, i), .tile = {i, k, -1}, .step = k, .place = Place::cpu()};
        const T* const scale = scale_of(k);
        if (lower_) {
            rt_.submit(options, read(triangle(k)), readwrite(block(i, k)), write(packed(k, i)),
                       [scale](View<const T> l, View<T> a, View<T> packed) {
                           solve_and_pack<T>(square(l, a.cols(), a.cols()), scale, transposed(a), packed.data());
                       });
        } else {
            rt_.submit(options, read(triangle(k)), readwrite(block(i, k)), write(packed(k, i)),
                       write(transposed_block(k, i)), [scale](View<const T> l, View<T> a, View<T> packed, View<T> to) {
                           solve_and_pack<T>(square(l, a.rows(), a.rows()), scale, a, packed.data());
                           cpu_kernels::transpose<T>(a, square(to, a.cols(), a.rows()));
                       });
        }
    }

    /// read(L(i, k)) as a rows x cols matrix: where the lower triangle lies, or its transposed copy.
    auto left(int k, int i) const { return read(lower_ ? block(i, k) : transposed_block(k, i)); }

    void update_diagonal(int k, int j) {
        const bool lower = lower_;
        const Index rows = panel(j).width, depth = panel(k).width;
        rt_.submit(
            {.name = "update", .priority = priority_.step(k, j), .tile = {j, j, k}, .step = k, .place = Place::cpu()},
            left(k, j), read(packed(k, j)), readwrite(block(j, j)),
            [lower, rows, depth](View<const T> l, View<const T> packed, View<T> c) {
                cpu_kernels::subtract_square<T>(lower ? Triangle::lower : Triangle::upper, c,
                                                lower ? l : square(l, rows, depth), packed.data());
            });
    }

    void update(int k, int i, int j) {
        // of the lower triangle: A(i, j) -= L(i, k) L(j, k)^T; of the upper one: A(j, i) -= U(k, j)^T U(k, i)
        const bool lower = lower_;
        const int row = lower ? i : j, column = lower ? j : i;
        const Index rows = panel(row).width, depth = panel(k).width;
        rt_.submit(
            {.name = "update", .priority = priority_.step(k, j), .tile = {i, j, k}, .step = k, .place = Place::cpu()},
            left(k, row), read(packed(k, column)), readwrite(block(i, j)),
            [lower, rows, depth](View<const T> l, View<const T> packed, View<T> c) {
                gemm_minus<T>(c, lower ? l : square(l, rows, depth), packed.data());
            });
    }

    CholeskyState<T>& s_;
    Runtime& rt_;
    const bool lower_;
    const CholeskyPriorities priority_;
    const std::shared_ptr<Workspace<T>> workspace_;
};

}  // namespace

template <class T>
CholeskyFactors<T> cholesky_factor(Runtime& runtime, Matrix<T>& a, Triangle triangle, const CholeskyOptions& options) {
    if (&a.runtime() != &runtime) throw UsageError("cholesky_factor: the matrix belongs to another runtime");
    if (a.rows() != a.cols()) {
        throw UsageError("cholesky_factor: the matrix is " + std::to_string(a.rows()) + " x " +
                         std::to_string(a.cols()) + "; allowed are square ones");
    }
    CholeskyOptions decided = options;
    decided.mode = choose_cholesky_mode(runtime, options, detail::problem_of(runtime, a, options.mode)).mode;
    const detail::CholeskyChoices choices(runtime.tuning(), decided, a.rows(), a.tile_shape().width, runtime.gpus());
    auto state = std::make_shared<CholeskyState<T>>(runtime, a.share_storage(), triangle, choices.widths);
    if (choices.mode == FactorMode::cpu) {
        CholeskySubmission<T>(*state, choices.lookahead).submit();
    } else {
        submit_cholesky_on_gpus(*state, choices);
    }
    return CholeskyFactors<T>(std::move(state));
}

template <class T>
CholeskyState<T>& CholeskyFactors<T>::state() const {
    if (!state_) throw UsageError("CholeskyFactors: no factorization stands behind this handle");
    return *state_;
}

template <class T>
Index CholeskyFactors<T>::rows() const {
    return state().order();
}

template <class T>
Triangle CholeskyFactors<T>::triangle() const {
    return state().triangle;
}

template <class T>
Index CholeskyFactors<T>::info() const {
    return state().info.host_view()[0];
}

template class CholeskyFactors<float>;
template class CholeskyFactors<double>;
template CholeskyFactors<float> cholesky_factor(Runtime&, Matrix<float>&, Triangle, const CholeskyOptions&);
template CholeskyFactors<double> cholesky_factor(Runtime&, Matrix<double>&, Triangle, const CholeskyOptions&);

}  // namespace basalt
