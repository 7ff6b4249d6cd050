#pragma once

#include <memory>
#include <optional>

#include "basalt/factor_mode.hpp"
#include "basalt/matrix.hpp"
#include "basalt/product_precision.hpp"
#include "basalt/run_models.hpp"
#include "basalt/runtime.hpp"
#include "basalt/triangle.hpp"

namespace basalt {

/// Options of the Cholesky factorization. The library chooses those that have no value.
struct CholeskyOptions {
    FactorMode mode = FactorMode::automatic;
    /// Columns of a panel. A panel never spans two tile columns. In mode gpu on one GPU, one kernel factors the last
    /// columns of a lower triangle in several tile columns, whatever this option says.
    std::optional<Index> panel_width{};
    /// Panels ahead of the trailing update that get priority: 0 or 1; mode cpu: any number. Left-looking on GPUs
    /// it changes roundings; otherwise it changes no bit.
    std::optional<int> lookahead{};
    /// Mode hybrid: cores factor the square on top of each panel. GPUs factor it if at most this many rows are left,
    /// because the cores would not keep ahead. GPUs also factor the first square, when they have nothing else to do. 0:
    /// cores factor all squares. If no panel is left for the cores, the mode is gpu, which ignores this option.
    std::optional<Index> gpu_panels_below{};
    /// Mode hybrid, for comparison: the cores also solve for the rows below those squares. Otherwise a GPU does, and
    /// the library's choice of gpu_panels_below assumes that.
    bool rows_on_cores = false;
    /// GPUs: panels get narrower when few columns are left, because the updates that hide them get shorter.
    bool narrow_at_end = true;
    /// GPUs: elements on the other side of the diagonal keep their values. The GPU saves a band of them and restores
    /// it. false: they may be overwritten, which saves that time and memory.
    bool keep_other_side = true;
    /// GPUs, single precision: how the trailing updates multiply, as LuOptions::products; tf32 is not available.
    /// Without left_looking, products that are less accurate than single precision make mode gpu right-looking.
    ProductPrecision products = ProductPrecision::split_bf16;
    /// Mode gpu. true: left-looking. A panel gets the updates of all former panels at once, in products as deep as
    /// there are columns on its left; the last columns may get some of them before, while there is little else to do
    /// (GpuTuning::Cholesky::multiplications_during_panel). With a lookahead of 1, the update by the last of these
    /// panels is separate, and the other products run while that panel is factored. For a lower triangle on one GPU, or
    /// an upper one on any number; products are plain. false: each panel updates all columns right of it. A matrix that
    /// does not fit the GPUs' memory is factored in column groups, which are left-looking in any case.
    std::optional<bool> left_looking{};
};

namespace detail {
template <class T>
struct CholeskyState;
}

/// A Cholesky factorization in progress or done: A = L L^T, where L replaces A's lower triangle, or A = U^T U, where U
/// replaces the upper one.
///
/// A cheap handle that may be copied; it keeps the factor's storage alive. Thread-safe. A handle that was default-made
/// or moved from has no factorization: its members throw UsageError.
template <class T>
class CholeskyFactors {
  public:
    CholeskyFactors() = default;
    explicit CholeskyFactors(std::shared_ptr<detail::CholeskyState<T>> state) : state_(std::move(state)) {}

    /// Order of the matrix.
    Index rows() const;
    Triangle triangle() const;

    /// Waits for the factorization (not inside a task that did not submit it: UsageError). LAPACK's INFO: 0, or k > 0
    /// when the leading minor of order k, and none before it, is not positive definite or holds a NaN. The contents of
    /// the triangle are then unspecified and may differ from run to run.
    Index info() const;

    /// Who factors the panels.
    PanelPlaces panel_places() const;

    const std::shared_ptr<detail::CholeskyState<T>>& share_state() const { return state_; }

  private:
    detail::CholeskyState<T>& state() const;

    std::shared_ptr<detail::CholeskyState<T>> state_;
};

/// Factors a symmetric positive definite A (n x n) in place, LAPACK's potrf. One triangle is read and becomes the
/// factor. Elements on the other side of the diagonal keep their values. float and double. Submits tasks and returns at
/// once. Equal input, options, deal and numbers of workers and GPUs give equal bits. On three GPUs or more,
/// Deal::cyclic is the fastest deal; choose it by Matrix::set_deal() while the matrix is new.
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

/// Makes later calls of cholesky_solve() with this factor faster, for few right-hand sides and a factor that is on
/// GPUs: the inverses of small blocks on its diagonal are computed once. Submits tasks and returns at once; does
/// nothing where cores would solve. Not while another thread solves with the factor.
template <class T>
void cholesky_prepare_solves(Runtime& runtime, const CholeskyFactors<T>& cholesky);

/// A^-1 from the factor of A, LAPACK's potri: the triangle of the result that CholeskyFactors::triangle() names. The
/// other side is unspecified. The factor stays. Submits tasks and returns at once; 2/3 n^3 operations. With info() > 0
/// the result is unspecified, and it holds Inf and NaN if the factor's diagonal holds a zero.
template <class T>
Matrix<T> cholesky_inverse(Runtime& runtime, const CholeskyFactors<T>& cholesky);

/// A factor that any library has computed: the triangle of A (n x n) holds it. info() is 0. Throws UsageError if A is
/// not square.
template <class T>
CholeskyFactors<T> cholesky_adopt(Runtime& runtime, Matrix<T>& a, Triangle triangle);

/// LAPACK's pocon: an estimate of 1 / (||A|| ||A^-1||) in the one norm, which equals the infinity norm here. It is
/// seldom more than three times too large. `norm` is that of A before the factorization. Below the unit roundoff the
/// solution of a system with A may have no correct digit. 1 for order 0; 0 for a norm that is 0 or not finite. Takes
/// about ten products of A and a vector; waits for everything submitted to the runtime.
template <class T>
double cholesky_reciprocal_condition(Runtime& runtime, const CholeskyFactors<T>& cholesky, double norm);

/// LAPACK's potrf on the user's column-major array, n x n with leading dimension lda. The triangle becomes the factor.
/// Elements on the other side of the diagonal are neither read nor written. Returns INFO as CholeskyFactors::info().
/// Waits for everything submitted to the runtime. Throws UsageError for n < 0, lda < max(1, n) or a missing array.
template <class T>
Index cholesky_factor(Runtime& runtime, Triangle triangle, Index n, T* a, Index lda);

/// LAPACK's posv on the user's column-major arrays: the triangle of A (n x n, lda) becomes the factor, B (n x nrhs,
/// ldb) the solution. Returns INFO. If it is above 0, B is untouched, as in LAPACK. Waits for everything submitted to
/// the runtime. Throws UsageError for n, nrhs < 0, lda or ldb < max(1, n) or missing arrays.
template <class T>
Index cholesky_solve(Runtime& runtime, Triangle triangle, Index n, Index nrhs, T* a, Index lda, T* b, Index ldb);

/// The mode that cholesky_factor() uses for a matrix of order n on a runtime with `gpus` GPUs: options.mode, or the
/// tuning tables' choice if that is automatic. Throws UsageError for hybrid and gpu without GPUs, and for options that
/// the mode does not have.
FactorMode chosen_cholesky_mode(const Tuning& tuning, const CholeskyOptions& options, Index n, int gpus);
/// options.mode; if that is automatic, the fastest mode by the runtime's models, or without models the tuning tables'
/// choice. Throws as chosen_cholesky_mode() does.
ModeChoice choose_cholesky_mode(const Runtime& runtime, const CholeskyOptions& options, const FactorProblem& problem);
/// The key under which a run in a mode is learnt (Runtime::learn_run()). The routine is "potrf" unless the problem
/// names another. The key lists options and tile that differ from the library's choice in that mode.
RunCase cholesky_run_case(const Runtime& runtime, const CholeskyOptions& options, FactorMode mode,
                          const FactorProblem& problem);
/// Tiles that Cholesky of order n uses on `gpus` GPUs when none are given. On cores alone their width is also the
/// panel's.
TileShape default_cholesky_tile(const Tuning& tuning, Index n, int gpus = 0);
/// Panel width that Cholesky uses with `gpus` GPUs when none is given; a panel is at most as wide as a tile.
/// `options.mode` must not be automatic. On a GPU a small matrix of one tile column is one panel.
Index default_cholesky_panel(const Tuning& tuning, const CholeskyOptions& options, Index n, Index tile_width, int gpus);

}  // namespace basalt
