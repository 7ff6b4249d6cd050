#include <cmath>

#include <fmt/format.h>

#include "apps/runs/output_files.hpp"
#include "apps/tune/tune_options.hpp"
#include "io/files/json_record.hpp"
#include "tuner/winners.hpp"

namespace basalt {

namespace {

/// Operations of a batch, by LAPACK's counts.
double batch_flops(const tuner::Problem& problem, Index matrices) {
    const double n = problem.n, cube = n * n * n;
    const double factor = problem.routine == tuner::Routine::cholesky ? cube / 3
                          : problem.routine == tuner::Routine::lu     ? cube * 2 / 3
                                                                      : cube * 4 / 3;
    const double solve = problem.routine == tuner::Routine::qr ? 3 * n * n : 2 * n * n;
    const bool factors = problem.job != tuner::BatchJob::solve, solves = problem.job != tuner::BatchJob::factor;
    return static_cast<double>(matrices) * ((factors ? factor : 0) + (solves ? solve : 0));
}

JsonRecord to_json(const tuner::Winner& winner, const tuner::JournalHead& head) {
    const tuner::Problem& problem = winner.best.problem;
    JsonRecord json;
    json["tune"] = name_of(problem.routine);
    json["job"] = tuner::name_of(problem.job);
    json["precision"] = std::string(1, letter_of(problem.precision));
    json["n"] = problem.n;
    json["count"] = head.matrices;
    json["machine"] = head.device;
    json["kernel"] = name_of(winner.best.candidate);
    json["seconds"] = winner.best.seconds;
    json["gflops"] = batch_flops(problem, head.matrices) / winner.best.seconds * 1e-9;
    json["registers"] = winner.best.registers;
    json["residual_ratio"] = winner.best.ratio;
    json["close"] = winner.close.size();
    json["library_seconds"] = winner.of_library ? JsonRecord(winner.of_library->seconds) : JsonRecord();
    return json;
}

}  // namespace

void report_winners(const tuner::JournalContents& journal, OutputFiles& files) {
    for (const tuner::Winner& winner : tuner::winners(journal)) {
        const double seconds = winner.best.seconds;
        const std::string of_library = !winner.of_library
                                           ? "no kernel of the library"
                                           : fmt::format("library {} {:.2f} x", name_of(winner.of_library->candidate),
                                                         winner.of_library->seconds / seconds);
        files.human() << fmt::format("{:<24} {:<26} {:.4f} ms  {:9.1f} Gflop/s  {} within 2 %  {}\n",
                                     name_of(winner.best.problem), name_of(winner.best.candidate), seconds * 1e3,
                                     batch_flops(winner.best.problem, journal.head.matrices) / seconds * 1e-9,
                                     winner.close.size(), of_library);
        files.record(to_json(winner, journal.head));
    }
}

std::string counts_line(const tuner::SweepCounts& counts) {
    return fmt::format(
        "generated {}, pruned {}, compiled {}, not compiled {}, spilled {}, launched {}, not launched {}, wrong {}, "
        "timed {}\n",
        counts.generated, counts.pruned, counts.compiled, counts.not_compiled, counts.spilled, counts.launched,
        counts.not_launched, counts.wrong, counts.timed);
}

}  // namespace basalt
