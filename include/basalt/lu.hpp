#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "basalt/factor_mode.hpp"
#include "basalt/matrix.hpp"
#include "basalt/run_models.hpp"
#include "basalt/runtime.hpp"

namespace basalt {

using LuMode = FactorMode;

/// Choices of the LU factorization; 0 lets the library choose.
struct LuOptions {
    LuMode mode = LuMode::automatic;
    /// Columns of a panel; a panel never spans two tile columns, and on GPUs has widest_gpu_panel columns at most.
    Index panel_width = 0;
    /// Threads that factor a panel together.
    int panel_threads = 0;
    /// Panels ahead of the trailing update that get priority, -1: the library chooses. It never changes results.
    /// Mode gpu: 0 or 1.
    int lookahead = -1;
    /// Interchanges that later panels ask for left of themselves, as LAPACK applies them. Without them L stays
    /// as each panel left it, which is all that lu_solve_augmented() needs.
    bool left_interchanges = true;
    /// Hybrid: where so many rows or fewer are left, GPUs factor the panels too, since the cores would not keep
    /// ahead, and the first one, when GPUs have nothing else to do; 0: never, -1: the library chooses. More than 0
    /// needs a lookahead of 0 or 1. Mode gpu ignores it.
    Index gpu_panels_below = -1;
    /// GPUs: narrower panels where few columns are left. In mode gpu they get narrower, down to 128 columns, as the
    /// updates that hide them get shorter. In mode hybrid, where cores factor to the end (gpu_panels_below), those of
    /// 128 columns and more are half as wide there, since the GPUs wait for them.
    bool narrow_at_end = true;
    /// Mode gpu: two levels of blocking, after Volkov and Demmel (SC 2008, section 5). A panel updates at once the
    /// columns up to the end of the next block of so many; those beyond get the updates of a block's panels in one
    /// product of that depth. Needs lookahead; a block never spans two tile columns. 0: one level; -1: the library
    /// chooses: blocks for large matrices of doubles on one GPU, in tiles wider than panels, that take half of its
    /// memory at most.
    Index coarse_width = -1;
    /// GPUs, for comparison: one update task a step for each GPU, as in the paper, instead of the leading column
    /// first.
    bool single_update_task = false;
    /// Hybrid: rows of blocks of U by multiplication with the inverse of the panel's triangle, unless that is too
    /// large in norm; false: always by a triangular solve, as mode gpu does.
    bool solve_by_inverse = true;
    /// GPUs, single precision: large products by tensor cores, each number being the sum of three of 8 bits. As
    /// accurate as single precision's own products and up to 2.8 times as fast; where an operand is infinite they may
    /// give NaN. false: single precision's own.
    bool split_products = true;
    /// GPUs, for comparison: the panel is sent to each GPU by who factored it, in mode hybrid the host as in the paper,
    /// instead of from GPU to GPU.
    bool broadcast_from_host = false;
    /// GPUs, single precision: the trailing updates multiply in TF32, whose operands have 11 significant bits, and add
    /// in single precision: several times as fast, and as accurate as that (unit roundoff 2^-11). Without it all
    /// products are as accurate as single precision's. Panels and triangular solves always are. Of double matrices and
    /// in mode cpu: UsageError.
    bool tf32 = false;
    /// GPUs, double precision: panels that GPUs factor record what their thread blocks are busy with, as rows of the
    /// trace (where one is recorded). Costs them some time. Of float matrices: UsageError.
    bool panel_log = false;
};

namespace detail {
template <class T>
struct LuState;
}

/// An LU factorization in progress or done: A = P L U with L and U in the place of A.
///
/// A cheap handle that may be copied; it keeps the factors' storage alive. Thread-safe. One that was default-made
/// or moved from stands for no factorization: its members throw UsageError.
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

    const std::shared_ptr<detail::LuState<T>>& share_state() const { return state_; }

  private:
    detail::LuState<T>& state() const;

    std::shared_ptr<detail::LuState<T>> state_;
};

/// Factors A = P L U by partial pivoting in place, LAPACK's getrf: any m x n, float and double. Submits tasks
/// and returns at once; A's regions hold the factors afterwards, in LAPACK's arrangement. The largest
/// magnitude of a column, the first one of equals, becomes the pivot; a NaN never does unless it is on the
/// diagonal. Equal input, options, deal and numbers of workers and GPUs give equal bits.
///
/// Throws UsageError for options out of range. Numerical outcomes are INFO, not exceptions.
/// Source: Kurzak, Luszczek, Faverge, Dongarra, "LU Factorization with Partial Pivoting for a Multicore System
/// with Accelerators" (IEEE TPDS 24, 2013), sections 2.1 and 3.3 to 3.6, as a right-looking loop nest.
template <class T>
LuFactors<T> lu_factor(Runtime& runtime, Matrix<T>& a, const LuOptions& options = {});

/// Solves A X = B with the factors of a square A, LAPACK's getrs: B (n x nrhs) becomes X. Submits tasks and
/// returns at once. With info() > 0 the result holds Inf and NaN, as LAPACK's would.
/// Throws UsageError when the shapes do not fit and for factors made without left_interchanges.
template <class T>
void lu_solve(Runtime& runtime, const LuFactors<T>& lu, Matrix<T>& b);

/// For factors of the n x (n + k) matrix [A B]: the solution X of A X = B, n x k, by back substitution alone,
/// since the factorization has carried B along (as HPL does). Submits tasks and returns at once.
/// Throws UsageError unless the factored matrix has more columns than rows.
template <class T>
Matrix<T> lu_solve_augmented(Runtime& runtime, const LuFactors<T>& lu);

/// LAPACK's gesv on column-major arrays of the user's own: A (n x n, lda) becomes its factors, B (n x nrhs,
/// ldb) the solution. `ipiv` gets n numbers counted from 1, or is nullptr. Returns INFO: 0, or k > 0 when
/// U(k, k) is exactly zero; B then is untouched, as in LAPACK. Waits for everything submitted to the runtime.
/// Throws UsageError for n, nrhs < 0, lda < max(1, n), ldb < max(1, n) or missing arrays.
template <class T>
Index solve(Runtime& runtime, Index n, Index nrhs, T* a, Index lda, Index* ipiv, T* b, Index ldb);

/// The same without the pivots.
template <class T>
Index solve(Runtime& runtime, Index n, Index nrhs, T* a, Index lda, T* b, Index ldb) {
    return solve<T>(runtime, n, nrhs, a, lda, nullptr, b, ldb);
}

/// Most columns of a panel in the modes hybrid and gpu.
inline constexpr Index widest_gpu_panel = 1024;

/// The mode that lu_factor() takes for an m x n matrix on a runtime with so many GPUs: options.mode, or the tuning
/// tables' choice where that is automatic. Throws UsageError for hybrid and gpu without GPUs, and for options that the
/// mode has not.
LuMode chosen_lu_mode(const Tuning& tuning, const LuOptions& options, Index m, Index n, int gpus);
/// Bytes of a GPU's memory that lu_factor() takes where the tile columns of an m x n matrix of elements of
/// `element_size` bytes are dealt to all GPUs and stay there, the matrix's own included; 0 in mode cpu. A matrix for
/// which DeviceInfo::memory of the GPUs is less is moved between them and the host. Without blocks of panels where
/// coarse_width is left to the library. Throws UsageError as chosen_lu_mode() and TileGrid do.
std::size_t lu_gpu_bytes(const Runtime& runtime, const LuOptions& options, Index m, Index n, TileShape tile,
                         std::size_t element_size);

using LuProblem = FactorProblem;
/// options.mode, or where that is automatic the fastest one by what the runtime's models have learnt; without them the
/// tuning tables' choice. Throws as chosen_lu_mode() does.
ModeChoice choose_lu_mode(const Runtime& runtime, const LuOptions& options, const LuProblem& problem);
/// What its runs in a mode are learnt as (Runtime::learn_run()): with whatever the options and the tile change of what
/// the library would choose in that mode.
RunCase lu_run_case(const Runtime& runtime, const LuOptions& options, FactorMode mode, const LuProblem& problem);

/// Tiles that LU of an m x n matrix uses with so many GPUs when none are given; on cores alone their width is the
/// panel's too.
TileShape default_lu_tile(const Tuning& tuning, Index m, Index n, int gpus = 0);
/// Panel width that LU uses in a mode with so many GPUs when none is given, at most a tile's width.
Index default_lu_panel(const Tuning& tuning, LuMode mode, Index m, Index n, int gpus);

}  // namespace basalt
