#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "basalt/factor_mode.hpp"
#include "basalt/matrix.hpp"
#include "basalt/product_precision.hpp"
#include "basalt/run_models.hpp"
#include "basalt/runtime.hpp"

namespace basalt {

using LuMode = FactorMode;

/// Options of the LU factorization. The library chooses those that have no value.
struct LuOptions {
    LuMode mode = LuMode::automatic;
    /// Columns of a panel. A panel never spans two tile columns. On GPUs it has at most widest_gpu_panel columns.
    std::optional<Index> panel_width{};
    /// Threads that factor a panel together.
    std::optional<int> panel_threads{};
    /// Panels ahead of the trailing update that get priority. It never changes results. Mode gpu: 0 or 1.
    std::optional<int> lookahead{};
    /// Applies each panel's interchanges also to the columns on its left, as LAPACK does. Without them L stays as each
    /// panel (on cores: each block of panels) left it, which is enough for lu_solve_augmented().
    bool left_interchanges = true;
    /// Mode hybrid: GPUs factor a panel if at most this many rows are left, because the cores would not keep ahead.
    /// GPUs also factor the first panel, when they have nothing else to do. 0: cores factor all panels. A value above 0
    /// needs a lookahead of 0 or 1. Mode gpu ignores this option.
    std::optional<Index> gpu_panels_below{};
    /// GPUs: panels get narrower when few columns are left. In mode gpu they narrow down to 128 columns, because the
    /// updates that hide them get shorter. In mode hybrid, if the cores factor the last panels (gpu_panels_below),
    /// panels of 128 columns and more become half as wide there, because the GPUs wait for them.
    bool narrow_at_end = true;
    /// Mode gpu: two levels of blocking, after Volkov and Demmel (SC 2008, section 5). Panels form blocks of this
    /// many columns. A panel updates the columns up to the end of the next block at once. Columns beyond get the
    /// updates of all panels of a block in one product of that depth. Needs a lookahead of 1; a block never spans two
    /// tile columns. 0: one level. The library chooses blocks for large matrices of doubles on one GPU, in tiles wider
    /// than panels, if they take at most half of its memory.
    std::optional<Index> coarse_width{};
    /// GPUs, for comparison: one update task per step and GPU, as in the paper. Otherwise the leading column is updated
    /// first.
    bool single_update_task = false;
    /// Mode hybrid: compute the block row of U by inverses of the diagonal blocks of the panel's triangle, unless a
    /// norm of these is too large. false: always solve by substitution, as in mode gpu.
    bool solve_by_inverse = true;
    /// GPUs, single precision: how the trailing updates multiply; nothing: split_bf16, unless a tuning file asks for
    /// split_fp16 (GpuTuning::Lu::least_fp16_order). With tf32, bf16 and fp16 the factors are only as
    /// accurate as that; panels and triangular solves stay in single precision. With slices, large products inside
    /// panels are made by them, too. Mode cpu multiplies in single precision: UsageError there for products that are
    /// less accurate (is_single_in_lu()), and for matrices of double.
    std::optional<ProductPrecision> products = std::nullopt;
    /// GPUs, for comparison: the host or the GPU that factored a panel sends it to each GPU, as in the paper. Otherwise
    /// it goes from GPU to GPU.
    bool broadcast_from_host = false;
    /// GPUs, double precision: panels that GPUs factor record the states of their thread blocks as rows of the trace,
    /// if one is recorded. This slows them a little. UsageError for matrices of float.
    bool panel_log = false;
};

namespace detail {
template <class T>
struct LuState;
}

/// An LU factorization in progress or done: A = P L U. L and U replace A.
///
/// A cheap handle that may be copied; it keeps the factors' storage alive. Thread-safe. A handle that was default-made
/// or moved from has no factorization: its members throw UsageError.
template <class T>
class LuFactors {
  public:
    LuFactors() = default;
    explicit LuFactors(std::shared_ptr<detail::LuState<T>> state) : state_(std::move(state)) {}

    Index rows() const;
    Index cols() const;

    /// Waits for the factorization (not inside a task that did not submit it: UsageError). LAPACK's INFO: 0, or
    /// k > 0 when U(k, k), counted from 1, is exactly zero: the factors are complete but a solve would divide by zero.
    Index info() const;

    /// Waits for the factorization. LAPACK's IPIV, min(m, n) numbers counted from 1: row k was exchanged with
    /// row pivots[k - 1], in the order k = 1, 2, ...
    std::vector<Index> pivots() const;

    /// Who factors the panels.
    PanelPlaces panel_places() const;

    const std::shared_ptr<detail::LuState<T>>& share_state() const { return state_; }

  private:
    detail::LuState<T>& state() const;

    std::shared_ptr<detail::LuState<T>> state_;
};

/// Factors A = P L U by partial pivoting in place, LAPACK's getrf: any m x n, float and double. Submits tasks and
/// returns at once; A's regions hold the factors afterwards, in LAPACK's arrangement. The pivot is the element of
/// largest magnitude in its column, the first one among equals. A NaN becomes the pivot only if it is on the diagonal.
/// Equal input, options, deal and numbers of workers and GPUs give equal bits.
///
/// Throws UsageError for options out of range. Numerical outcomes are INFO, not exceptions.
/// Source: Kurzak, Luszczek, Faverge, Dongarra, "LU Factorization with Partial Pivoting for a Multicore System
/// with Accelerators" (IEEE TPDS 24, 2013), sections 2.1 and 3.3 to 3.6, as a right-looking loop nest.
template <class T>
LuFactors<T> lu_factor(Runtime& runtime, Matrix<T>& a, const LuOptions& options = {});

/// Solves A X = B with the factors of a square A, or of an n x (n + k) matrix that begins with A, LAPACK's getrs: B (n
/// x nrhs) becomes X. Submits tasks and returns at once. With info() > 0 the result holds Inf and NaN, as LAPACK's
/// would. Throws UsageError when the shapes do not fit and for factors made without left_interchanges.
template <class T>
void lu_solve(Runtime& runtime, const LuFactors<T>& lu, Matrix<T>& b);

/// Makes later calls of lu_solve() with these factors faster, for few right-hand sides and factors that are on GPUs:
/// the inverses of small blocks on the diagonals of L and U are computed once, and the permutation is composed. Submits
/// tasks and returns at once; does nothing where cores would solve. Not while another thread solves with the factors.
template <class T>
void lu_prepare_solves(Runtime& runtime, const LuFactors<T>& lu);

/// The same for A^T X = B: LAPACK's getrs with TRANS = 'T'.
template <class T>
void lu_solve_transposed(Runtime& runtime, const LuFactors<T>& lu, Matrix<T>& b);

/// A^-1 from the factors of a square A, LAPACK's getri: n x n. The factors stay. Submits tasks and returns at once.
/// With info() > 0 the result holds Inf and NaN. On cores it takes 4/3 n^3 operations, on GPUs 2 n^3. Throws UsageError
/// as lu_solve() does.
template <class T>
Matrix<T> lu_inverse(Runtime& runtime, const LuFactors<T>& lu);

/// Factors that any library has computed: L and U are in the square matrix A (n x n), `pivots` is LAPACK's IPIV, n
/// numbers counted from 1, or nullptr if no rows were exchanged. The numbers are copied. info() of the factors looks
/// for zeros on U's diagonal when it is called. Throws UsageError if A is not square and for pivots out of range.
template <class T>
LuFactors<T> lu_adopt(Runtime& runtime, Matrix<T>& a, const Index* pivots);

/// The norm of a condition number: the largest sum of magnitudes of a row, or of a column.
enum class ConditionNorm : std::uint8_t { infinity, one };

/// LAPACK's gecon: an estimate of 1 / (||A|| ||A^-1||) from the factors of a square A, which is seldom more than three
/// times too large. `norm` is ||A|| of A before the factorization. Below the unit roundoff the solution of a system
/// with A may have no correct digit. 1 for order 0; 0 for a singular A and for a norm that is not finite. Takes about
/// ten products of A and a vector; waits for everything submitted to the runtime. Throws UsageError as lu_solve() does.
template <class T>
double lu_reciprocal_condition(Runtime& runtime, const LuFactors<T>& lu, double norm,
                               ConditionNorm kind = ConditionNorm::infinity);

/// For factors of the n x (n + k) matrix [A B]: the solution X of A X = B, n x k. Back substitution suffices, because
/// the factorization has already updated B (as in HPL). Submits tasks and returns at once. Throws UsageError unless the
/// factored matrix has more columns than rows.
template <class T>
Matrix<T> lu_solve_augmented(Runtime& runtime, const LuFactors<T>& lu);

/// LAPACK's gesv on the user's column-major arrays: A (n x n, lda) becomes its factors, B (n x nrhs, ldb) the solution.
/// `ipiv` gets n numbers counted from 1, or is nullptr. Returns INFO: 0, or k > 0 when U(k, k) is exactly zero; B then
/// is untouched, as in LAPACK. Waits for everything submitted to the runtime. Throws UsageError for n, nrhs < 0, lda <
/// max(1, n), ldb < max(1, n) or missing arrays.
template <class T>
Index solve(Runtime& runtime, Index n, Index nrhs, T* a, Index lda, Index* ipiv, T* b, Index ldb);

/// The same without the pivots.
template <class T>
Index solve(Runtime& runtime, Index n, Index nrhs, T* a, Index lda, T* b, Index ldb) {
    return solve<T>(runtime, n, nrhs, a, lda, nullptr, b, ldb);
}

/// Most columns of a panel in the modes hybrid and gpu.
inline constexpr Index widest_gpu_panel = 1024;

/// The mode that lu_factor() uses for an m x n matrix on a runtime with `gpus` GPUs: options.mode, or the tuning
/// tables' choice if that is automatic. Throws UsageError for hybrid and gpu without GPUs, and for options that the
/// mode does not have.
LuMode chosen_lu_mode(const Tuning& tuning, const LuOptions& options, Index m, Index n, int gpus);
/// Bytes of a GPU's memory that lu_factor() needs, the matrix included, if the tile columns of an m x n matrix are
/// dealt to all GPUs and stay there; 0 in mode cpu. `element_size`: bytes of an element. If the GPUs have less memory
/// (DeviceInfo::memory), the matrix moves between them and the host. Blocks of panels count only if coarse_width is
/// given. Throws UsageError as chosen_lu_mode() and TileGrid do.
std::size_t lu_gpu_bytes(const Runtime& runtime, const LuOptions& options, Index m, Index n, TileShape tile,
                         std::size_t element_size);

using LuProblem = FactorProblem;
/// options.mode; if that is automatic, the fastest mode by the runtime's models, or without models the tuning tables'
/// choice. Throws as chosen_lu_mode() does.
ModeChoice choose_lu_mode(const Runtime& runtime, const LuOptions& options, const LuProblem& problem);
/// The key under which a run in a mode is learnt (Runtime::learn_run()). It lists options and tile that differ from the
/// library's choice in that mode.
RunCase lu_run_case(const Runtime& runtime, const LuOptions& options, FactorMode mode, const LuProblem& problem);

/// Tiles that LU of an m x n matrix uses with `gpus` GPUs when none are given. On cores alone their width is also the
/// panel's. `resident`: for mode gpu and a matrix that begins and ends in a GPU's memory. Its tile columns need not
/// arrive one after the other, and fewer ones make larger products.
TileShape default_lu_tile(const Tuning& tuning, Index m, Index n, int gpus = 0, bool resident = false);
/// Panel width that LU uses in a mode with `gpus` GPUs when none is given, at most a tile's width.
Index default_lu_panel(const Tuning& tuning, LuMode mode, Index m, Index n, int gpus);

}  // namespace basalt
