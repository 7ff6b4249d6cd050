#include "tuner/sweep.hpp"

#include <optional>
#include <utility>

#include "tuner/check.hpp"
#include "tuner/compile_queue.hpp"

namespace basalt::tuner {

namespace {

/// A candidate that is to be compiled and tried.
struct Pending {
    Problem problem;
    Candidate candidate;
};

void count(SweepCounts& counts, Outcome outcome) {
    counts.not_compiled += outcome == Outcome::not_compiled ? 1 : 0;
    counts.compiled += outcome != Outcome::not_compiled ? 1 : 0;
    counts.spilled += outcome == Outcome::spilled ? 1 : 0;
    counts.not_launched += outcome == Outcome::not_launched ? 1 : 0;
    counts.launched += outcome >= Outcome::wrong ? 1 : 0;
    counts.wrong += outcome == Outcome::wrong ? 1 : 0;
    counts.timed += outcome == Outcome::timed ? 1 : 0;
}

/// The problem's space: its counts, and what no limit forbids.
std::pair<SpaceCounts, std::vector<Pending>> space_of(const Problem& problem, const GpuLimits& limits,
                                                      ArithmeticSpace arithmetic) {
    SpaceCounts counts;
    std::vector<Pending> pending;
    for (const Candidate& candidate : candidates(problem, limits, arithmetic)) {
        ++counts.generated;
        if (const std::optional<Pruned> reason = why_pruned(problem, candidate, limits)) {
            ++counts.pruned[static_cast<std::size_t>(*reason)];
        } else {
            pending.push_back({problem, candidate});
        }
    }
    return {counts, std::move(pending)};
}

CompileJob job_of(const Pending& pending, const std::string& architecture) {
    return {source_of(pending.problem, pending.candidate), compiler_options(pending.candidate, architecture)};
}

/// Kernels that spill are not timed. Those by tiles may keep a few numbers in local memory, which are needed once a
/// panel.
bool spills(const Candidate& candidate, const Compiled& compiled) {
    return compiled.spill_bytes > 0 && candidate.residence != Residence::tiles;
}

Finding describe(const Pending& pending, const Compiled& compiled) {
    Finding finding{.problem = pending.problem, .candidate = pending.candidate};
    finding.error = compiled.error;
    finding.registers = compiled.registers;
    finding.spill_bytes = compiled.spill_bytes;
    finding.shared_bytes = compiled.shared_bytes + launched_shared_bytes(pending.problem, pending.candidate);
    finding.outcome = !compiled.error.empty()               ? Outcome::not_compiled
                      : spills(pending.candidate, compiled) ? Outcome::spilled
                                                            : Outcome::not_launched;
    return finding;
}

void try_on(TunedGpu& gpu, const Compiled& compiled, Finding& finding, bool first_of_problem) {
    if (first_of_problem) gpu.prepare(finding.problem);
    const Trial trial = gpu.run(finding.candidate, compiled);
    finding.error = trial.error;
    if (!trial.error.empty()) return;
    finding.ratio = trial.ratio;
    finding.seconds = trial.seconds;
    finding.outcome = trial.ratio <= passing_batch_ratio ? Outcome::timed : Outcome::wrong;
}

}  // namespace

SweepCounts sweep(TunedGpu& gpu, Compiler& compiler, Journal& journal, const SweepOptions& options) {
    SweepCounts counts;
    std::vector<Pending> pending;
    for (const Problem& problem : options.problems) {
        auto [space, all] = space_of(problem, gpu.limits(), options.arithmetic);
        counts.generated += space.generated;
        counts.pruned += space.generated - space.remaining();
        journal.add(problem, space);
        for (const Pending& own : all) {
            if (const Finding* const known = journal.before().find(own.problem, own.candidate)) {
                count(counts, known->outcome);
            } else {
                pending.push_back(own);
            }
        }
    }
    std::vector<CompileJob> jobs;
    for (const Pending& own : pending) jobs.push_back(job_of(own, gpu.limits().architecture));
    CompileQueue queue(compiler, std::move(jobs), options.compiler_threads);
    std::optional<Problem> prepared;
    for (std::size_t i = 0; i < pending.size() && options.goes_on(); ++i) {
        const Compiled& compiled = queue.result(i);
        Finding finding = describe(pending[i], compiled);
        if (finding.outcome == Outcome::not_launched) {
            try {
                try_on(gpu, compiled, finding, prepared != finding.problem);
            } catch (const GpuLost& lost) {  // so that it is not tried again
                finding.error = lost.what();
                journal.add(finding);
                throw;
            }
            prepared = finding.problem;
        }
        journal.add(finding);
        count(counts, finding.outcome);
        options.progress(finding.problem, counts);
    }
    return counts;
}

SweepCounts sweep_without_gpu(const GpuLimits& limits, Compiler* compiler, const SweepOptions& options) {
    SweepCounts counts;
    for (const Problem& problem : options.problems) {
        auto [space, pending] = space_of(problem, limits, options.arithmetic);
        counts.generated += space.generated;
        counts.pruned += space.generated - space.remaining();
        options.progress(problem, counts);
        if (compiler == nullptr) continue;
        std::vector<CompileJob> jobs;
        for (const Pending& own : pending) jobs.push_back(job_of(own, limits.architecture));
        CompileQueue queue(*compiler, std::move(jobs), options.compiler_threads);
        for (std::size_t i = 0; i < pending.size() && options.goes_on(); ++i) {
            const Compiled& compiled = queue.result(i);
            counts.not_compiled += compiled.error.empty() ? 0 : 1;
            counts.compiled += compiled.error.empty() ? 1 : 0;
            counts.spilled += spills(pending[i].candidate, compiled) ? 1 : 0;
            options.progress(problem, counts);
        }
    }
    return counts;
}

}  // namespace basalt::tuner
