#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "apps/factor/factor_plan.hpp"
#include "apps/input/gpu_options.hpp"
#include "apps/input/settings.hpp"
#include "apps/solve/mixed_choices.hpp"
#include "basalt/generator.hpp"
#include "basalt/matrix.hpp"
#include "basalt/mixed.hpp"
#include "io/files/json_record.hpp"

namespace basalt {

/// A way to solve A X = B by a factorization of A, for one A and any number of runs.
template <class T>
class SolveMethod {
  public:
    virtual ~SolveMethod() = default;

    /// LAPACK's name without the precision, e.g. "gesv".
    virtual std::string routine() const = 0;
    /// Operations of the factorization and the solution for that number of right-hand sides.
    virtual double flops(Index right_hand_sides) const = 0;
    /// Bytes of host memory that A, emulated GPUs and the method's own vectors take, without the generator or the
    /// file's contents.
    virtual double bytes(Index right_hand_sides) const = 0;
    /// Rows of the matrix that submit() takes for B and X.
    virtual Index rows() const = 0;
    /// Tiles for B and X with that number of columns.
    virtual TileShape tile(Index right_hand_sides) const = 0;
    /// How A is factored.
    virtual const FactorPlan& plan() const = 0;
    /// Who factored the panels of the latest run.
    virtual PanelPlaces panel_places() const = 0;
    /// The fields of the record that all runs have in common.
    virtual FactorRecord record() const = 0;

    /// Makes A again where it begins and waits for it. Not timed.
    virtual void prepare() = 0;
    /// Submits the factorization and the solution, which replaces B from its first row on.
    virtual void submit(Matrix<T>& b) = 0;
    /// LAPACK's INFO of the latest run; waits for it.
    virtual Index info() const = 0;
    /// An estimate of 1 / (||A|| ||A^-1||) in the infinity norm from the factors of the latest run; by QR, of R.
    /// `a_inf` is ||A||_oo. Waits for it. Nothing if there are no such factors.
    virtual std::optional<double> reciprocal_condition(double a_inf) = 0;
    /// The meaning of `info` > 0 for A, to end a sentence, e.g. "U(3, 3) is exactly zero".
    virtual std::string meaning(Index info) const = 0;

    /// What else the line of the latest run says; empty, or with two spaces in front.
    virtual std::string remark() const { return {}; }
    /// Sets fields of the record that are not those of all methods.
    virtual void add_to(JsonRecord&) const {}
};

/// The arguments of all methods.
template <class T>
struct SolveInput {
    Runtime& runtime;
    std::shared_ptr<const Generator<T>> matrix;
    std::string name;  ///< of the matrix, in messages
    const Settings& settings;
    const GpuOptions& gpu;
    MixedChoices mixed = {};
};

/// Throws WrongUse unless the matrix is square. `method` is the name of the method that asks for it.
template <class T>
void require_square(const SolveInput<T>& input, const char* method);

/// LU with partial pivoting, gesv, for square matrices.
template <class T>
std::unique_ptr<SolveMethod<T>> solve_by_lu(const SolveInput<T>& input);
/// Cholesky, posv, for matrices that are symmetric up to rounding.
template <class T>
std::unique_ptr<SolveMethod<T>> solve_by_cholesky(const SolveInput<T>& input);
/// QR, gels: least squares, or the solution of least norm if there are fewer rows than columns.
template <class T>
std::unique_ptr<SolveMethod<T>> solve_by_qr(const SolveInput<T>& input);

/// Factors of low precision, and refinement. Throws WrongUse for a precision that the mode does not have.
std::unique_ptr<SolveMethod<double>> solve_by_mixed(const SolveInput<double>& input, MixedMethod method);
/// Throws WrongUse unless the matrix is symmetric up to rounding.
template <class T>
void require_symmetric(const SolveInput<T>& input, const char* method);

/// The names that --method takes.
const std::vector<std::string>& solve_method_names();

/// The default method for a matrix of this shape.
std::string usual_solve_method(Index rows, Index cols);

/// The method called `name`, one of solve_method_names(). Throws WrongUse for a matrix that it cannot solve with.
template <class T>
std::unique_ptr<SolveMethod<T>> make_solve_method(const std::string& name, const SolveInput<T>& input);

}  // namespace basalt
