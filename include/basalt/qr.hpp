#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "basalt/factor_mode.hpp"
#include "basalt/matrix.hpp"
#include "basalt/run_models.hpp"
#include "basalt/runtime.hpp"

namespace basalt {

using QrMode = FactorMode;

/// The method of a factorization, which also determines the form of its factors.
enum class QrMethod : std::uint8_t {
    blocked,  ///< Householder's method by panels from top to bottom: LAPACK's form
    /// Reduces blocks of rows, each one tile high, one after the other; mode cpu only. R is LAPACK's up to the signs of
    /// its rows. The elements below R have a meaning only for qr_apply(), qr_form() and the solvers.
    tile,
    automatic,  ///< the faster method for the shape
};

/// Whether a tree reduces tall panels. A tree needs more operations than elimination column by column, but fewer
/// barriers.
enum class QrTree : std::uint8_t { automatic, never, always };

/// Options of the QR factorization. The library chooses those that have no value.
struct QrOptions {
    QrMode mode = QrMode::automatic;
    QrMethod method = QrMethod::blocked;
    /// Columns of a panel. A panel never spans two tile columns. On GPUs it has at most widest_qr_gpu_panel columns.
    std::optional<Index> panel_width{};
    /// Method tile: columns of a panel with a triangle T of their own, at most all of its columns.
    std::optional<Index> inner_width{};
    /// Method blocked: threads that factor a panel together.
    std::optional<int> panel_threads{};
    /// Panels ahead of the trailing update that get priority. It never changes results. Modes hybrid and gpu: 0 or 1.
    /// With 0, the GPU that factors a panel updates afterwards. With 1, it does both at once, unless the tuning table
    /// says otherwise for several GPUs.
    std::optional<int> lookahead{};
    /// Mode cpu. Method blocked: a reduction tree (TSQR) for panels in which each thread has 32 times as many rows as
    /// there are columns. The threads meet four times instead of once per column, at twice the operations. Method tile:
    /// groups of tile rows are reduced in parallel, and a binary tree reduces the triangles of the groups. `automatic`:
    /// by the tuning table, for panels of many bytes per thread (blocked) or tall matrices (tile).
    QrTree tree = QrTree::automatic;
    /// Mode hybrid: GPUs factor a panel if at most this many rows are left, because the cores would not keep ahead.
    /// GPUs also factor the first panel, when they have nothing else to do. 0: cores factor all panels. If no panel is
    /// left for the cores, the mode is gpu, which ignores this option.
    std::optional<Index> gpu_panels_below{};
    /// Mode gpu: panels get narrower when few columns are left, because the updates that hide them get shorter.
    bool narrow_at_end = true;
    /// Mode gpu, single precision: large products of the updates run on tensor cores, by bf16 slices: each number is
    /// the sum of three slices of 8 bits. They are as accurate as plain products and faster. If an operand is infinite,
    /// they may give NaN. false: plain products.
    bool split_products = true;
};

/// The side of C on which the orthogonal matrix stands: Q C or C Q.
enum class QrSide : std::uint8_t { left, right };
/// Q itself or its transpose.
enum class QrOp : std::uint8_t { plain, transposed };

namespace detail {
template <class T>
struct QrState;
}

/// A QR factorization in progress or done: A = Q R. R replaces A on and above the diagonal. Below it are the vectors
/// v_j of Q = H_1 H_2 ... H_k, H_j = I - tau_j v_j v_j^T, k = min(m, n): LAPACK's form. With QrMethod::tile
/// these are vectors of shorter reflectors, several for each column.
///
/// A cheap handle that may be copied; it keeps the factors' storage alive. The factors must not be overwritten as long
/// as the handle is used. Thread-safe. A handle that was default-made or moved from has no factorization: its members
/// throw UsageError.
template <class T>
class QrFactors {
  public:
    QrFactors() = default;
    explicit QrFactors(std::shared_ptr<detail::QrState<T>> state) : state_(std::move(state)) {}

    Index rows() const;
    Index cols() const;

    /// blocked or tile, never automatic.
    QrMethod method() const;

    /// Waits for the factorization (not inside a task that did not submit it: UsageError). LAPACK's TAU, min(m, n)
    /// numbers. Throws UsageError for factors of QrMethod::tile, which have none.
    std::vector<T> tau() const;

    /// Waits for the factorization. 0, or k > 0 when R(k, k), counted from 1, is exactly zero: LAPACK's INFO of gels.
    Index info() const;

    /// Who factors the panels.
    PanelPlaces panel_places() const;

    const std::shared_ptr<detail::QrState<T>>& share_state() const { return state_; }

  private:
    detail::QrState<T>& state() const;

    std::shared_ptr<detail::QrState<T>> state_;
};

/// Factors A = Q R in place, LAPACK's geqrf: any m x n, float and double. Submits tasks and returns at once. Columns of
/// any scale and rank are safe; a NaN or an infinity turns R into NaN from its column on. A column that is zero below
/// the diagonal when its turn comes may get tau = 0, as in LAPACK, or a reflector that changes its sign. Equal input,
/// options, deal and numbers of workers and GPUs give equal bits; with QrMethod::tile the number of workers does not
/// matter.
///
/// Throws UsageError for options out of range, and for options that the mode does not have. Sources: blocks of
/// reflectors in compact WY form, Schreiber, Van Loan (SIAM J. Sci. Stat. Comput. 10, 1989); tiles, Buttari, Langou,
/// Kurzak, Dongarra (Parallel Computing 35, 2009), and trees of them, Hadri, Ltaief, Agullo, Dongarra (IPDPS 2010); as
/// tasks docs/decisions/0012-qr.md.
template <class T>
QrFactors<T> qr_factor(Runtime& runtime, Matrix<T>& a, const QrOptions& options = {});

/// C = Q C, Q^T C, C Q or C Q^T with the m x m matrix Q, LAPACK's ormqr. Submits tasks and returns at once.
/// Throws UsageError when the shapes do not fit.
template <class T>
void qr_apply(Runtime& runtime, const QrFactors<T>& qr, QrSide side, QrOp op, Matrix<T>& c);

/// The first `cols` columns of Q, LAPACK's orgqr: m x cols, 0 <= cols <= m; min(m, n) of them if no number is given.
/// Submits tasks and returns at once. Throws UsageError for other numbers.
template <class T>
Matrix<T> qr_form(Runtime& runtime, const QrFactors<T>& qr, std::optional<Index> cols = {});

/// Factors that any library has computed: the vectors v_j below the diagonal of A (m x k) and their `tau`, min(m, k)
/// numbers, which are read until the tasks submitted here have run. GPUs multiply by Q if A's columns lie there when
/// this is called, as after load(..., Place::any()) with GPUs; otherwise cores do. Submits tasks and returns at once.
template <class T>
QrFactors<T> qr_adopt(Runtime& runtime, Matrix<T>& a, const T* tau);

/// The X that minimises ||B - A X|| column by column, for factors of an A with rows() >= cols(). The first cols() rows
/// of B (rows() x nrhs) become X; the sum of squares of the others is that of the residual, as in LAPACK's gels.
/// Submits tasks and returns at once. With info() > 0 the result holds Inf and NaN. Throws UsageError when the shapes
/// do not fit.
template <class T>
void qr_solve(Runtime& runtime, const QrFactors<T>& qr, Matrix<T>& b);

/// The X of least norm with A^T X = B, for factors of an A with rows() >= cols(): the first cols() rows of B (rows() x
/// nrhs) hold the right-hand sides, and all rows become X. Otherwise as qr_solve().
template <class T>
void qr_solve_transposed(Runtime& runtime, const QrFactors<T>& qr, Matrix<T>& b);

/// LAPACK's trcon of R for NORM = 'I': an estimate of 1 / (||R||_oo ||R^-1||_oo) for factors of an A with rows() >=
/// cols(), which is seldom more than three times too large. R has the condition number of A in the 2-norm. Below the
/// unit roundoff, A is rank-deficient within the accuracy of T. 1 without columns; 0 if R is singular or not finite.
/// Takes about ten products of R and a vector, and brings the factors to the host's memory, as info() does; waits for
/// everything submitted to the runtime. Throws UsageError for factors of a wide A.
template <class T>
double qr_reciprocal_condition(Runtime& runtime, const QrFactors<T>& qr);

/// Factors and solves, LAPACK's gels for an A (m x n) of full rank: B (max(m, n) x nrhs) holds the right-hand sides in
/// its first m rows. If m >= n, A becomes its factors, which are returned, and qr_solve() is applied to B. If m < n,
/// the first n rows of B become the X of least norm with A X = B; A is unchanged, and the factors returned are those of
/// A^T, which is copied through the host's memory. Submits tasks and returns at once. If info() of the factors is above
/// 0, as for an A of zeros, the result holds Inf and NaN. Throws UsageError when the shapes do not fit.
template <class T>
QrFactors<T> least_squares(Runtime& runtime, Matrix<T>& a, Matrix<T>& b,
                           const QrOptions& options = {.method = QrMethod::automatic});

// --- on the user's column-major arrays; all wait for everything submitted to the runtime ---
// They throw UsageError for sizes below 0, leading dimensions that are too small and missing arrays.

/// LAPACK's geqrf: A (m x n, lda) becomes its factors, tau gets min(m, n) numbers. Throws UsageError for methods other
/// than QrMethod::blocked.
template <class T>
void qr_factor(Runtime& runtime, Index m, Index n, T* a, Index lda, T* tau, const QrOptions& options = {});

/// LAPACK's ormqr: C (m x n, ldc) becomes Q C, Q^T C, C Q or C Q^T, where Q is the product of the k reflectors in the
/// columns of `a` (lda) and in tau, computed by any library; k is at most the order of Q, m or n.
template <class T>
void qr_apply(Runtime& runtime, QrSide side, QrOp op, Index m, Index n, Index k, const T* a, Index lda, const T* tau,
              T* c, Index ldc);

/// LAPACK's orgqr: the k reflectors in the columns of A (m x n, lda; m >= n >= k) and tau become the first n columns of
/// Q.
template <class T>
void qr_form(Runtime& runtime, Index m, Index n, Index k, T* a, Index lda, const T* tau);

/// LAPACK's gels: A (m x n, lda) of full rank, B (ldb >= max(m, n)) with nrhs right-hand sides in its first m rows. If
/// m >= n, the first n rows of B become the X that minimises ||B - A X||, and the sum of squares of the others is that
/// of the residual. If m < n, they become the X of least norm with A X = B. A is overwritten: by LAPACK's factors if m
/// >= n and the method is blocked, otherwise by the factors that QrFactors describes, for m < n those of A^T. Returns
/// INFO: 0, or k > 0 when the k-th diagonal element of the triangular factor is exactly zero; B then is untouched. For
/// an A without elements or of zeros all max(m, n) rows of B become zero and INFO is 0, as in LAPACK.
template <class T>
Index least_squares(Runtime& runtime, Index m, Index n, Index nrhs, T* a, Index lda, T* b, Index ldb,
                    const QrOptions& options = {.method = QrMethod::automatic});

/// Most columns of a panel in the modes hybrid and gpu.
inline constexpr Index widest_qr_gpu_panel = 1024;

/// The mode that qr_factor() uses for an m x n matrix on a runtime with `gpus` GPUs: options.mode, or the tuning
/// tables' choice if that is automatic. Throws UsageError for hybrid and gpu without GPUs, and for a lookahead that the
/// mode does not have.
QrMode chosen_qr_mode(const Tuning& tuning, const QrOptions& options, Index m, Index n, int gpus);
/// options.mode; if that is automatic, the fastest mode by the runtime's models, or without models the tuning tables'
/// choice. Throws as chosen_qr_mode() does.
ModeChoice choose_qr_mode(const Runtime& runtime, const QrOptions& options, const FactorProblem& problem);
/// The key under which a run in a mode is learnt (Runtime::learn_run()). The routine is "geqrf" unless the problem
/// names another. The key lists options and tile that differ from the library's choice in that mode.
RunCase qr_run_case(const Runtime& runtime, const QrOptions& options, FactorMode mode, const FactorProblem& problem);
/// The method that qr_factor() uses in `mode`, which must not be automatic: options.method, or the library's choice if
/// that is automatic. Throws UsageError for tile in modes other than cpu.
QrMethod chosen_qr_method(const Tuning& tuning, const QrOptions& options, QrMode mode, Index m, Index n);
/// `options` with that mode and with the method that chosen_qr_method() returns. If the library chose the method,
/// options of the other method lose their values. Throws as chosen_qr_method() does.
QrOptions with_chosen_qr_method(const Tuning& tuning, const QrOptions& options, QrMode mode, Index m, Index n);
/// Tiles for QR of an m x n matrix on `gpus` GPUs, or on cores by a method that is not automatic.
TileShape default_qr_tile(const Tuning& tuning, Index m, Index n, int gpus = 0, QrMethod method = QrMethod::blocked);
/// Panel width that QrMethod::blocked uses with `gpus` GPUs when none is given, at most a tile's width. `options.mode`
/// must not be automatic. That of QrMethod::tile is the tile's.
Index default_qr_panel(const Tuning& tuning, const QrOptions& options, Index m, Index n, int gpus);

}  // namespace basalt
