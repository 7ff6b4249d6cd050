#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>

#include "basalt/cholesky.hpp"
#include "basalt/factor_mode.hpp"
#include "basalt/generator.hpp"
#include "basalt/lu.hpp"
#include "basalt/matrix.hpp"
#include "basalt/product_precision.hpp"
#include "basalt/runtime.hpp"
#include "basalt/triangle.hpp"

/// Linear systems in double precision, solved with factors of lower precision: A is scaled, rounded and factored in
/// single precision or below, and the solution is refined with residuals in double. The refined answer is certified by
/// its residual; where that does not become small enough, A is factored in double, without a certificate.
namespace basalt {

/// The factorization behind mixed_solve().
enum class MixedMethod : std::uint8_t {
    lu,        ///< for any square A
    cholesky,  ///< for symmetric positive definite A
};

/// How a solution is refined.
enum class Refinement : std::uint8_t {
    automatic,  ///< classic, and GMRES as soon as that converges too slowly
    classic,    ///< x += A'^-1 (b - A x), with the factors A' of low precision
    gmres,      ///< corrections solve A'^-1 A d = A'^-1 (b - A x) by GMRES: converges for worse conditioned matrices
};

/// Where the factors of low precision solve, if GPUs have them. Results are equally accurate everywhere.
enum class Substitution : std::uint8_t {
    automatic,  ///< gpu if GPUs have the factors, otherwise cores
    gpu,        ///< both triangles on GPUs; where one GPU has all of a triangle, in one launch
    /// L on the GPU, U by blocks of rows from the last one on: a core solves a block, and the GPU updates the rows
    /// above it and subtracts the block's part of A x from the residual, in double. So the residual of the next
    /// correction comes with the substitution.
    blocked_backward,
    blocked,  ///< blocked_backward, and L by blocks too
    cores,    ///< both triangles on cores, to which GPUs send the factors once
};

constexpr const char* name_of(Substitution substitution) {
    constexpr const char* names[] = {"auto", "gpu", "blocked-backward", "blocked", "cores"};
    return names[static_cast<int>(substitution)];
}

/// What happens where refinement fails.
enum class Fallback : std::uint8_t {
    copy,      ///< a copy of A is factored in double
    in_place,  ///< A is factored in double and overwritten by its factors, as by LAPACK's dsgesv and dsposv
    none,      ///< nothing: x has no certificate then
};

struct MixedOptions {
    MixedMethod method = MixedMethod::lu;
    FactorMode mode = FactorMode::automatic;
    /// How the factorization multiplies. The library chooses: in single precision in mode cpu, which has nothing else,
    /// and by two fp16 slices on GPUs.
    std::optional<ProductPrecision> products{};
    Refinement refinement = Refinement::automatic;
    /// Most corrections, or steps of GMRES. The library chooses 30, as LAPACK does, and n / 512 where that is more.
    std::optional<int> iteration_limit{};
    /// A solution is accepted if ||b - A x||_oo <= tolerance sqrt(n) eps ||A||_oo ||x||_oo for each right-hand side,
    /// with eps = 2^-53: LAPACK's bound, which is below n eps (||A||_oo ||x||_oo + ||b||_oo). If rows and columns were
    /// scaled by R and C, also ||R (b - A x)||_oo <= tolerance sqrt(n) eps ||R A C||_oo ||C^-1 x||_oo: otherwise large
    /// rows and columns would hide wrong components.
    double tolerance = 1;
    Fallback fallback = Fallback::copy;
    /// The blocked ones are for comparison: for LU on one GPU in the modes hybrid and gpu, up to 8 right-hand sides,
    /// and not with Refinement::gmres. If Refinement::automatic turns to GMRES, its steps substitute as `gpu` does.
    Substitution substitution = Substitution::automatic;
    /// Blocked substitutions: the blocks that the GPU updates before the other rows, so that a core solves them in the
    /// meantime. 1 or 2.
    int substitution_lookahead = 1;
    /// Of dsgesv and dsposv: the GPU in whose memory A, B and X lie, if they do.
    std::optional<int> arrays_on_gpu{};
    /// Panels and lookahead of the factorizations. Mode and products are those above.
    LuOptions lu{};
    CholeskyOptions cholesky{};
};

/// Why a solution was not refined to the end.
enum class MixedOutcome : std::uint8_t {
    refined,     ///< it was, and its residual certifies it
    not_finite,  ///< A or B holds infinity or NaN, or ||A||_oo overflows
    breakdown,   ///< the factors of low precision are singular, not positive definite or not finite; or LU's pivots
                 ///< are rounding errors, which ends the factorization
    stagnation,  ///< corrections do not become smaller, or not fast enough to end within the limit
    iteration_limit,  ///< the limit was reached
};

struct MixedResult {
    /// LAPACK's INFO of the factorization in double, if there was one; otherwise 0. Above 0, x has no meaning.
    Index info = 0;
    /// LAPACK's ITER: the corrections, or steps of GMRES, if the solution was refined. Negative if A was factored in
    /// double, or should have been: -2 not_finite, -3 breakdown, -4 stagnation, -max(limit, 30) - 1 iteration_limit.
    int iterations = 0;
    MixedOutcome outcome = MixedOutcome::refined;
    bool fell_back() const { return outcome != MixedOutcome::refined; }
    Refinement refinement = Refinement::classic;  ///< what the corrections were made by
    ProductPrecision products = ProductPrecision::plain;
    FactorMode mode = FactorMode::cpu;  ///< of the factorization in low precision
    /// What solved with the factors of low precision: cores also where these do not stay in the memory of GPUs.
    Substitution substitution = Substitution::cores;
    PanelPlaces panels;  ///< who factored the panels in low precision
    /// The largest ||b - A x|| / (||A|| ||x|| + ||b||) of all right-hand sides, in the infinity norm and in double. NaN
    /// where it was not measured: after a fallback in place, and without a solution or a finite norm of A. After a
    /// fallback it is what factors in double give: large where elements grow in the factorization.
    double backward_error = std::numeric_limits<double>::quiet_NaN();
    double factor_seconds = 0;    ///< scaling, rounding and factoring
    double refine_seconds = 0;    ///< solving with the factors and refining
    double fallback_seconds = 0;  ///< factoring and solving in double
};

/// Solves A X = B for a square A: X gets the solution. A and B are n x n and n x nrhs; X is like B and not the same.
/// With MixedMethod::cholesky A is symmetric, and both of its triangles are stored. Waits for everything submitted to
/// the runtime.
///
/// Rows and columns are scaled by powers of two, so that no element overflows whatever its magnitude. Where B fits
/// behind A's columns without another tile column, the factorization is of [A B] (LU).
///
/// Takes memory for A in single precision next to A, and in mode gpu a workspace of the factorization; refinement by
/// GMRES keeps two vectors of n doubles in the host's memory for each step and right-hand side. The same input, options
/// and numbers of workers and GPUs give the same bits, but for several GPUs: there a product takes the tile columns
/// that lie evenly spaced in memory, which may differ from one call to the next. Throws UsageError for shapes that do
/// not fit, for products below single precision in mode cpu, and for a substitution that method, mode, refinement, the
/// number of GPUs or that of right-hand sides do not allow. Throws Cancelled where the runtime's graph was cancelled
/// meanwhile; X has no meaning then.
///
/// Sources: Kurzak, Dongarra, "Implementation of mixed precision in solving systems of linear equations on the Cell
/// processor" (CCPE 19, 2007); Carson, Higham, "Accelerating the solution of linear systems by iterative refinement in
/// three precisions" (SIAM J. Sci. Comput. 40, 2018) for GMRES; Higham, Pranesh, Zounon, "Squeezing a matrix into half
/// precision" (SIAM J. Sci. Comput. 41, 2019) for scaling.
MixedResult mixed_solve(Runtime& runtime, Matrix<double>& a, const Matrix<double>& b, Matrix<double>& x,
                        const MixedOptions& options = {});

/// The same for the leading n x n part of a generator's matrix, n = B's rows, which is generated again for each
/// residual instead of kept: only its factors of low precision take memory. `tile`: of the factors; 0 x 0: chosen.
/// There is no fallback.
MixedResult mixed_solve(Runtime& runtime, const std::shared_ptr<const Generator<double>>& a, const Matrix<double>& b,
                        Matrix<double>& x, TileShape tile = {}, const MixedOptions& options = {});

/// LAPACK's dsgesv on the user's column-major arrays: A (n x n, lda), B (n x nrhs, ldb), and X (n x nrhs, ldx), which
/// gets the solution. If A was factored in double (MixedResult::fell_back()), it becomes its factors and `ipiv` gets n
/// numbers counted from 1; otherwise A is as it was, and `ipiv` has no meaning. `ipiv` may be nullptr. Waits for
/// everything submitted to the runtime. Throws UsageError for n, nrhs < 0, leading dimensions below max(1, n), missing
/// arrays, or a GPU that the runtime does not have. `options.method` and `options.fallback` are ignored. Arrays in the
/// host's memory are written after all that can fail.
MixedResult dsgesv(Runtime& runtime, Index n, Index nrhs, double* a, Index lda, Index* ipiv, const double* b, Index ldb,
                   double* x, Index ldx, const MixedOptions& options = {});

/// LAPACK's dsposv: the same for the named triangle of a symmetric positive definite A. Its other triangle is neither
/// read nor written.
MixedResult dsposv(Runtime& runtime, Triangle triangle, Index n, Index nrhs, double* a, Index lda, const double* b,
                   Index ldb, double* x, Index ldx, const MixedOptions& options = {});

}  // namespace basalt
