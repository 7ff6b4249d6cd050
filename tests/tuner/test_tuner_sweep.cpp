// The tuner from the search space to the tuning file, with a compiler and a GPU that stand for real ones.
#include <atomic>
#include <cmath>
#include <fstream>
#include <functional>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "basalt/error.hpp"
#include "basalt/tuning.hpp"
#include "tests/common/catch.hpp"
#include "tests/common/temporary_folder.hpp"
#include "tuner/compile_queue.hpp"
#include "tuner/sweep.hpp"
#include "tuner/winners.hpp"

using namespace basalt::tuner;
using basalt_tests::TemporaryFolder;

namespace {

constexpr Problem order_120{Routine::cholesky, BatchJob::factor, Precision::single, 120};
constexpr Problem order_100{Routine::cholesky, BatchJob::factor, Precision::single, 100};

/// Refuses panels of 12 columns; those of 24 spill.
class FakeCompiler final : public Compiler {
  public:
    Compiled compile(const std::string& source, const std::vector<std::string>&) override {
        ++programs;
        Compiled compiled;
        if (source.find(", 12, float>") != source.npos) throw std::runtime_error("too large");
        compiled.image = source;
        compiled.registers = 40;
        compiled.spill_bytes = source.find(", 24, float>") != source.npos ? 8 : 0;
        return compiled;
    }
    std::atomic<int> programs = 0;
};

/// Kernels take longer the further their width is from a quarter of the order, and with more threads. Panels of 4
/// columns are wrong, those of 20 in global memory cannot be launched.
class FakeGpu final : public TunedGpu {
  public:
    std::string name() const override { return "NVIDIA H200"; }
    const GpuLimits& limits() const override { return limits_; }
    void prepare(const Problem& problem) override { problem_ = problem; }
    Trial run(const Candidate& candidate, const Compiled& compiled) override {
        if (compiled.image != source_of(problem_, candidate)) throw std::logic_error("another candidate's program");
        if (lost_at > 0 && --lost_at == 0) throw GpuLost("cuCtxSynchronize: CUDA_ERROR_ILLEGAL_ADDRESS");
        tried.push_back(name_of(problem_) + ", " + name_of(candidate));
        Trial trial;
        if (candidate.residence == Residence::global && candidate.width == 20) trial.error = "out of resources";
        trial.ratio = candidate.width == 4 ? std::numeric_limits<double>::infinity() : 0.5;
        trial.seconds = seconds(problem_, candidate);
        return trial;
    }

    static double seconds(const Problem& problem, const Candidate& candidate) {
        return 1e-3 * (1 + 0.01 * std::abs(candidate.width - problem.n / 4.0) + 1e-4 * candidate.threads) *
               (candidate.residence == Residence::global ? 2 : 1) / (candidate.bound > candidate.threads ? 0.5 : 1);
    }

    std::vector<std::string> tried;
    int lost_at = 0;

  private:
    const GpuLimits limits_ = limits_of("sm_90").value();
    Problem problem_;
};

struct Tuning {
    explicit Tuning(const TemporaryFolder& folder, std::vector<Problem> problems = {order_100, order_120})
        : path(folder.path("journal")) {
        options.problems = std::move(problems);
        options.compiler_threads = 3;
    }
    SweepCounts run() {
        Journal journal(path, {gpu.name(), gpu.limits().architecture, 10'000});
        return sweep(gpu, compiler, journal, options);
    }

    const std::string path;
    FakeCompiler compiler;
    FakeGpu gpu;
    SweepOptions options;
};

std::string refusal(const std::function<void()>& action) {
    try {
        action();
    } catch (const basalt::UsageError& error) {
        return error.what();
    }
    return "nothing was refused";
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != text.npos; }

}  // namespace

TEST_CASE("every candidate of a sweep is pruned, compiled, launched, checked or timed", "[sanitize]") {
    const TemporaryFolder folder;
    Tuning tuning(folder);
    const SweepCounts counts = tuning.run();
    CHECK(counts.remaining() == 0);
    CHECK(counts.generated > 150);
    CHECK(counts.pruned > 50);
    CHECK(counts.not_compiled > 0);
    CHECK(counts.spilled > 0);
    CHECK(counts.not_launched > 0);
    CHECK(counts.wrong > 0);
    CHECK(counts.compiled == counts.spilled + counts.not_launched + counts.launched);
    CHECK(counts.launched == counts.wrong + counts.timed);
    CHECK(static_cast<int>(tuning.gpu.tried.size()) == counts.launched + counts.not_launched);
    // the program does not hang on the order, so that both problems share most
    CHECK(tuning.compiler.programs < counts.compiled + counts.not_compiled);

    const JournalContents journal = read_journal(tuning.path);
    CHECK(static_cast<int>(journal.findings.size()) == counts.done());
    REQUIRE(journal.spaces.size() == 2);
    CHECK(journal.spaces[0].second.generated + journal.spaces[1].second.generated == counts.generated);
    const SweepCounts dry = sweep_without_gpu(tuning.gpu.limits(), &tuning.compiler, tuning.options);
    CHECK(dry.generated == counts.generated);
    CHECK(dry.pruned == counts.pruned);
    CHECK(dry.compiled == counts.compiled);
    CHECK(dry.spilled == counts.spilled);
}

TEST_CASE("winners are the fastest kernels, with those that take two hundredths more") {
    const TemporaryFolder folder;
    Tuning tuning(folder);
    tuning.run();
    const JournalContents journal = read_journal(tuning.path);
    const std::vector<Winner> all = winners(journal);
    REQUIRE(all.size() == 2);
    for (const Winner& winner : all) {
        std::set<std::string> close;
        for (const Finding& finding : journal.findings) {
            if (!(finding.problem == winner.best.problem) || finding.outcome != Outcome::timed) continue;
            CHECK(finding.seconds == FakeGpu::seconds(finding.problem, finding.candidate));
            CHECK(winner.best.seconds <= finding.seconds);
            if (finding.seconds <= 1.02 * winner.best.seconds) close.insert(name_of(finding.candidate));
        }
        std::set<std::string> found;
        for (const Finding& finding : winner.close) found.insert(name_of(finding.candidate));
        CHECK(found == close);
        CHECK(close.size() > 1);
        // not those of the library, which take twice as long here; 24 columns, closest to a quarter of 100, spill
        CHECK(winner.best.candidate.width == (winner.best.problem.n == 100 ? 28 : 32));
        REQUIRE(winner.of_library);
        CHECK(winner.of_library->candidate.bound == 256);
        CHECK(winner.of_library->candidate.width == 32);
    }
}

TEST_CASE("a sweep that was stopped or killed goes on where it was") {
    const TemporaryFolder folder;
    Tuning whole(folder);
    const SweepCounts expected = whole.run();
    const TemporaryFolder other;
    std::vector<std::string> tried;
    SweepCounts counts;
    for (int part = 0; part < 3; ++part) {
        Tuning tuning(other);
        int left = part < 2 ? 40 : std::numeric_limits<int>::max();
        tuning.options.goes_on = [&] { return left-- > 0; };
        counts = tuning.run();
        CHECK((counts.remaining() > 0) == (part < 2));
        tried.insert(tried.end(), tuning.gpu.tried.begin(), tuning.gpu.tried.end());
        // what a kill leaves of a line
        if (part < 2) std::ofstream(tuning.path, std::ios::app) << R"({"routine":"cholesky","job":"fac)";
    }
    CHECK(tried == whole.gpu.tried);
    CHECK(counts.timed == expected.timed);
    CHECK(counts.not_compiled == expected.not_compiled);
    CHECK(read_journal(other.path("journal")).findings.size() == read_journal(whole.path).findings.size());
    Tuning again(other);
    CHECK(again.run().timed == expected.timed);
    CHECK(again.gpu.tried.empty());
}

TEST_CASE("a kernel that leaves the GPU unusable is not tried again") {
    const TemporaryFolder folder;
    Tuning tuning(folder);
    tuning.gpu.lost_at = 5;
    CHECK_THROWS_AS(tuning.run(), GpuLost);
    const JournalContents journal = read_journal(tuning.path);
    CHECK(journal.findings.back().outcome == Outcome::not_launched);
    CHECK(has(journal.findings.back().error, "ILLEGAL_ADDRESS"));
    Tuning again(folder);
    CHECK(again.run().remaining() == 0);
    const std::string bad =
        name_of(journal.findings.back().problem) + ", " + name_of(journal.findings.back().candidate);
    CHECK(std::count(again.gpu.tried.begin(), again.gpu.tried.end(), bad) == 0);
}

TEST_CASE("a journal of something else is refused and stays as it is") {
    const TemporaryFolder folder;
    Tuning tuning(folder);
    tuning.run();
    CHECK(has(refusal([&] { Journal(tuning.path, {"NVIDIA A100", "sm_80", 10'000}); }), "NVIDIA A100"));
    CHECK(has(refusal([&] { Journal(tuning.path, {"NVIDIA H200", "sm_90", 1}); }), "10000"));
    folder.write("text", "some text\n");
    CHECK(has(refusal([&] { Journal(folder.path("text"), {"NVIDIA H200", "sm_90", 1}); }), "line 1"));
    CHECK(has(refusal([&] { read_journal(folder.path("text")); }), "line 1"));
    CHECK(has(refusal([&] { read_journal(folder.path("none")); }), "no such file"));
    folder.write("half", "text without an end");
    CHECK(has(refusal([&] { Journal(folder.path("half"), {"NVIDIA H200", "sm_90", 1}); }), "no journal"));
    std::ofstream(tuning.path, std::ios::app) << R"({"routine":"svd","job":"factor","precision":"s","n":1})" << '\n';
    CHECK(has(refusal([&] { read_journal(tuning.path); }), "generated"));
}

TEST_CASE("the library's fastest widths go to a tuning file, with ranges around the orders that were measured") {
    const TemporaryFolder folder;
    std::vector<Problem> problems;
    for (const int n : {24, 40, 64, 88}) problems.push_back({Routine::lu, BatchJob::factor, Precision::single, n});
    problems.push_back({Routine::cholesky, BatchJob::factor, Precision::single, 64});  // has no panels
    problems.push_back({Routine::qr, BatchJob::factor, Precision::twice, 64});
    Tuning tuning(folder, problems);
    tuning.run();
    const basalt::TuningTables& tables = basalt::TuningTables::built_in();
    const basalt::GpuBatchWidths before = tables.for_gpu("sm_90").batch.single_precision;
    basalt::GpuTuning entry = tables.for_gpu("sm_90");
    set_widths(winners(read_journal(tuning.path)), entry);
    entry.launch_seconds = 7;  // is not in the file
    folder.write("tuning.json", width_file(entry));
    const basalt::GpuTuning from_file = basalt::read_tuning_file(folder.path("tuning.json")).for_gpu("sm_90");
    CHECK(from_file.launch_seconds == tables.for_gpu("sm_90").launch_seconds);
    const basalt::GpuTuning::Batch& read = from_file.batch;
    // a quarter of the order: 8 of 10, 16, and 16 of 22; between 40 and 64 the border lies in the middle
    const auto& widths = read.single_precision.lu_factor;
    REQUIRE(widths.size() == 2);
    CHECK((widths[0].up_to == 52 && widths[0].width == 8));
    CHECK((widths[1].up_to == basalt::any_size && widths[1].width == 16));
    REQUIRE(read.double_precision.qr_factor.size() == 1);
    CHECK(read.double_precision.qr_factor[0].width == 16);
    // what was not measured stays
    REQUIRE(read.single_precision.cholesky_factor.size() == before.cholesky_factor.size());
    CHECK(read.single_precision.cholesky_factor[0].width == before.cholesky_factor[0].width);
}

TEST_CASE("programs are compiled once each, in order, and an exception is an error of its program", "[sanitize]") {
    FakeCompiler compiler;
    std::vector<CompileJob> jobs;
    for (int i = 0; i < 2000; ++i) jobs.push_back({i % 7 == 3 ? ", 12, float>" : std::to_string(i % 900), {}});
    CompileQueue queue(compiler, jobs, 4);
    for (std::size_t i = 0; i < jobs.size(); ++i) {
        const Compiled& compiled = queue.result(i);
        if (i % 7 == 3) {
            REQUIRE(compiled.error == "too large");
        } else {
            REQUIRE(compiled.image == jobs[i].source);
        }
    }
    std::set<std::string> different;
    for (const CompileJob& job : jobs) different.insert(job.source);
    CHECK(compiler.programs == static_cast<int>(different.size()));
    // one without a waiting thread ends all the same
    const CompileQueue abandoned(compiler, jobs, 2);
}
