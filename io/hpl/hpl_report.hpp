#pragma once

#include <ctime>
#include <iosfwd>
#include <string>

#include "io/hpl/hpl_dat.hpp"

namespace basalt {

/// HPL's check of a solution x of A x = b, all in double. HPL prints the norms of a failed test only, unless its
/// residual is NaN.
struct HplCheck {
    double scaled_residual = 0;  ///< ||Ax-b||_oo / (eps (||A||_oo ||x||_oo + ||b||_oo) N), eps = 2^-53
    double residual_inf = 0;     ///< ||Ax-b||_oo
    double a_inf = 0;
    double a_one = 0;
    double x_inf = 0;
    double x_one = 0;
    double b_inf = 0;
};

/// The time of the solve of one test: factorization and back substitution.
struct HplTiming {
    double seconds = 0;
    std::time_t start = 0;
    std::time_t end = 0;
};

/// Rate as HPL counts it, (2/3 n^3 + 3/2 n^2) / seconds, in Gflop/s; 0 if seconds is not positive.
double hpl_gflops(Index n, double seconds);

/// HPL's name of a variant, e.g. "WR11C2R4": order, DEPTH, BCAST, RFACT, NDIV, PFACT, NBMIN.
std::string hpl_variant(const HplCase& test);

/// Writes the results of the tests in exactly the format of HPL 2.3.
///
/// The order of calls: header(), then checked_result(), unchecked_result() or skipped_grid() for each test, then
/// summary(). Every call flushes, so that the reader of a pipe sees a test as soon as it ends. Times are local times.
/// Not thread-safe.
class HplReport {
  public:
    /// `out` and `input` must outlive the report.
    HplReport(std::ostream& out, const HplInput& input) : out_(out), input_(input) {}

    /// The banner, the explanation and the table of parameters.
    void header();

    /// A test that ran and was checked: it passes if the scaled residual is below the threshold; NaN fails. Returns
    /// whether it passed.
    bool checked_result(const HplCase& test, const HplTiming& timing, const HplCheck& check);

    /// A test that ran without a check, since the threshold of the file is zero or less.
    void unchecked_result(const HplCase& test, const HplTiming& timing);

    /// A number of tests that could not run because their grid needs more processes than there are.
    void skipped_grid(const HplGrid& grid, Index tests);

    /// The last lines, with the counts of the calls so far.
    void summary();

    Index passed() const { return passed_; }
    Index failed() const { return failed_; }
    Index skipped() const { return skipped_; }
    /// Tests that ran, passed or failed.
    Index ran() const { return passed_ + failed_; }

  private:
    void timing_lines(const HplCase& test, const HplTiming& timing);
    bool checks() const { return input_.threshold > 0; }

    std::ostream& out_;
    const HplInput& input_;
    Index passed_ = 0;
    Index failed_ = 0;
    Index skipped_ = 0;
    bool table_head_due_ = true;
};

}  // namespace basalt
