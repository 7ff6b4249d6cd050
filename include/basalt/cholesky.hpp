#pragma once

#include <memory>

#include "basalt/factor_mode.hpp"
#include "basalt/matrix.hpp"
#include "basalt/run_models.hpp"
#include "basalt/runtime.hpp"
#include "basalt/triangle.hpp"

namespace basalt {

/// Choices of the Cholesky factorization; 0 lets the library choose.
struct CholeskyOptions {
    FactorMode mode = FactorMode::automatic;
    /// Columns of a panel; a panel never spans two tile columns. In mode gpu on one GPU, one kernel factors the last
    /// columns of a lower triangle in several tile columns, whatever this says.
    Index panel_width = 0;
    /// Panels ahead of the trailing update that get priority: 0 or 1; mode cpu: any. -1: the library chooses. It never
    /// changes results.
    int lookahead = -1;
    /// Hybrid, where the cores factor the squares on top of panels: where so many rows or fewer are left, GPUs factor
    /// these too, since the cores would not keep ahead, and the first one, when GPUs have nothing else to do; 0: never,
    /// -1: the library chooses. Where no panel is left for the cores it is mode gpu, which ignores this.
    Index gpu_panels_below = -1;
    /// Hybrid, for comparison: the cores solve for the rows below those squares as well, instead of a GPU, which the
    /// choice of gpu_panels_below does not reckon with.
    bool rows_on_cores = false;
    /// GPUs: narrower panels where few columns are left, as the updates that hide them get shorter.
    bool narrow_at_end = true;
    /// GPUs: elements on the other side of the diagonal keep their values, for which the GPU sets a band of them aside
    /// and brings it back. false: they may be overwritten, which saves both and the memory.
    bool keep_other_side = true;
    /// GPUs, single precision: large products of the update by three pieces of 8 bits a number on tensor cores, as
    /// accurate as plain ones and faster; where an operand is infinite they may give NaN. false: plain ones.
    bool split_products = true;
    /// Mode gpu: a panel gets all former ones at once, in products as deep as there are columns on its left, instead of
    /// each panel updating all that is right of it. The last one apart (with lookahead 1), whose factoring the others
    /// are beside. A lower triangle on one GPU, an upper one on any number; single precision multiplies plainly. Where
    /// the matrix does not fit the GPUs' memory, column groups are what is left-looking. 1: so, 0: not, -1: the library
    /// chooses.
    int left_looking = -1;
};

namespace detail {
template <class T>
struct CholeskyState;
}

/// A Cholesky factorization in progress or done: A = L L^T with L in the place of A's lower triangle, or A = U^T U with
/// U in the place of its upper one.
///
/// A cheap handle that may be copied; it keeps the factor's storage alive. Thread-safe. One that was default-made or
/// moved from stands for no factorization: its members throw UsageError.
template <class T>
class CholeskyFactors {
  public:
    CholeskyFactors() = default;
    explicit CholeskyFactors(std::shared_ptr<detail::CholeskyState<T>> state) : state_(std::move(state)) {}

    /// Order of the matrix.
    Index rows() const;
    Triangle triangle() const;

    /// Waits for the factorization (not inside a task that did not submit it: UsageError). LAPACK's INFO: 0, or k > 0
    /// when the leading minor of order k, and none before it, is not positive definite or holds a NaN. What the
    /// triangle holds is then unspecified, and not the same each time.
    Index info() const;

    const std::shared_ptr<detail::CholeskyState<T>>& share_state() const { return state_; }

  private:
    detail::CholeskyState<T>& state() const;

    std::shared_ptr<detail::CholeskyState<T>> state_;
};

/// Factors a symmetric positive definite A (n x n) in place, LAPACK's potrf: one triangle is read and becomes the
/// factor, elements on the other side of the diagonal keep their values. float and double. Submits tasks and returns at
/// once. Equal input, options, deal and numbers of workers and GPUs give equal bits. On three GPUs or more, a matrix
/// that was dealt Deal::cyclic (Matrix::set_deal()) when it was new is factored fastest. On GPUs a pivot below the
/// smallest normal number may be taken for zero, and so reported in INFO, where LAPACK goes on.
///
/// Throws UsageError for options out of range and for a matrix that is not square. Numerical outcomes are INFO, not
/// exceptions. Sources: Buttari, Langou, Kurzak, Dongarra, "A class of parallel tiled linear algebra algorithms for
/// multicore architectures" (Parallel Computing 35, 2009) for tiles; Abdelfattah, Haidar, Tomov, Dongarra, "Analysis
/// and Design Techniques towards High-Performance and Energy-Efficient Dense Linear Solvers on GPUs" (IEEE TPDS 29,
/// 2018), section 6.3, for GPUs.
template <class T>
CholeskyFactors<T> cholesky_factor(Runtime& runtime, Matrix<T>& a, Triangle triangle = Triangle::lower,
                                   const CholeskyOptions& options = {});

/// Solves A X = B with the factor of A, LAPACK's potrs: B (n x nrhs) becomes X. Submits tasks and returns at once. With
/// info() > 0 the result is unspecified. Throws UsageError when the shapes do not fit.
template <class T>
void cholesky_solve(Runtime& runtime, const CholeskyFactors<T>& cholesky, Matrix<T>& b);

/// LAPACK's potrf on a column-major array of the user's own, n x n with leading dimension lda: the triangle becomes the
/// factor, the elements on the other side of the diagonal are neither read nor written. Returns INFO as
/// CholeskyFactors::info(). Waits for everything submitted to the runtime.
/// Throws UsageError for n < 0, lda < max(1, n) or a missing array.
template <class T>
Index cholesky_factor(Runtime& runtime, Triangle triangle, Index n, T* a, Index lda);

/// LAPACK's posv on column-major arrays of the user's own: the triangle of A (n x n, lda) becomes the factor, B (n x
/// nrhs, ldb) the solution. Returns INFO; where it is above 0, B is untouched, as in LAPACK. Waits for everything
/// submitted to the runtime. Throws UsageError for n, nrhs < 0, lda or ldb < max(1, n) or missing arrays.
template <class T>
Index cholesky_solve(Runtime& runtime, Triangle triangle, Index n, Index nrhs, T* a, Index lda, T* b, Index ldb);

/// The mode that cholesky_factor() takes for a matrix of order n on a runtime with so many GPUs: options.mode, or its
/// choice where that is automatic. Throws UsageError for hybrid and gpu without GPUs, and for options that the mode has
/// not.
FactorMode chosen_cholesky_mode(const Tuning& tuning, const CholeskyOptions& options, Index n, int gpus);
/// options.mode, or where that is automatic the fastest one by what the runtime's models have learnt; without them the
/// tuning tables' choice. Throws as chosen_cholesky_mode() does.
ModeChoice choose_cholesky_mode(const Runtime& runtime, const CholeskyOptions& options, const FactorProblem& problem);
/// What its runs in a mode are learnt as (Runtime::learn_run()), "potrf" where the problem names nothing else: with
/// whatever the options and the tile change of what the library would choose in that mode.
RunCase cholesky_run_case(const Runtime& runtime, const CholeskyOptions& options, FactorMode mode,
                          const FactorProblem& problem);
/// Tiles that Cholesky of order n uses on so many GPUs when none are given; on cores alone their width is the panel's
/// too.
TileShape default_cholesky_tile(const Tuning& tuning, Index n, int gpus = 0);
/// Panel width that Cholesky uses with so many GPUs when none is given, in tiles of a width; tiles narrower than that
/// bound it. `options.mode` must not be automatic. On a GPU a small matrix that is one tile column is one panel.
Index default_cholesky_panel(const Tuning& tuning, const CholeskyOptions& options, Index n, Index tile_width, int gpus);

}  // namespace basalt
