#pragma once

#include <memory>
#include <string>
#include <vector>

#include "apps/gpu_options.hpp"
#include "apps/settings.hpp"
#include "basalt/generator.hpp"
#include "basalt/matrix.hpp"
#include "io/json_record.hpp"

namespace basalt {

/// A way to solve A X = B by a factorization of A, for one A and any number of runs.
template <class T>
class SolveMethod {
  public:
    virtual ~SolveMethod() = default;

    /// LAPACK's name without the precision, e.g. "gesv".
    virtual std::string routine() const = 0;
    /// Operations of the factorization and the solution for so many right-hand sides.
    virtual double flops(Index right_hand_sides) const = 0;
    /// Bytes of host memory that A takes beside what it is generated from or was read into.
    virtual double bytes() const = 0;
    /// Rows of the matrix that submit() takes for B and X.
    virtual Index rows() const = 0;
    /// Tiles for that matrix with so many columns.
    virtual TileShape tile(Index right_hand_sides) const = 0;
    /// Whether GPUs take part.
    virtual bool on_gpus() const = 0;
    /// What all runs have in common.
    virtual FactorRecord record() const = 0;

    /// Makes A afresh where it begins and waits for it: what is not timed.
    virtual void prepare() = 0;
    /// Submits the factorization and the solution, which replaces B from its first row on.
    virtual void submit(Matrix<T>& b) = 0;
    /// LAPACK's INFO of the latest run; waits for it.
    virtual Index info() const = 0;
    /// What `info` > 0 says about A, as a sentence's end, e.g. "U(3, 3) is exactly zero".
    virtual std::string meaning(Index info) const = 0;
};

/// What every method is made from.
template <class T>
struct SolveInput {
    Runtime& runtime;
    std::shared_ptr<const Generator<T>> matrix;
    std::string name;  ///< of the matrix, in messages
    const Settings& settings;
    const GpuOptions& gpu;
};

/// Throws WrongUse unless the matrix is square; `method` is the name that needs it to be.
template <class T>
void require_square(const SolveInput<T>& input, const char* method);

/// LU with partial pivoting, gesv, for square matrices.
template <class T>
std::unique_ptr<SolveMethod<T>> solve_by_lu(const SolveInput<T>& input);
/// Cholesky, posv, for matrices that are symmetric but for rounding.
template <class T>
std::unique_ptr<SolveMethod<T>> solve_by_cholesky(const SolveInput<T>& input);
/// QR, gels: least squares, or the solution of least norm where there are fewer rows than columns.
template <class T>
std::unique_ptr<SolveMethod<T>> solve_by_qr(const SolveInput<T>& input);

/// The names that --method takes.
const std::vector<std::string>& solve_method_names();

/// The method for a matrix of this shape where none is named.
std::string usual_solve_method(Index rows, Index cols);

/// The method called `name`, one of solve_method_names(). Throws WrongUse where the matrix is not for it.
template <class T>
std::unique_ptr<SolveMethod<T>> make_solve_method(const std::string& name, const SolveInput<T>& input);

}  // namespace basalt
