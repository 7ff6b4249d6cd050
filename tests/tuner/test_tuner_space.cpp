// The search space of batched kernels, and what the compiler at run time makes of it.
#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "tests/common/catch.hpp"
#include "tuner/candidate.hpp"
#include "tuner/nvrtc/compiler.hpp"
#include "tuner/space.hpp"

using namespace basalt::tuner;

namespace {

const GpuLimits sm_90 = limits_of("sm_90").value();

std::vector<Problem> problems_of_order(int n) {
    std::vector<Problem> all;
    for (const Routine routine : {Routine::cholesky, Routine::lu, Routine::qr}) {
        for (const BatchJob job : {BatchJob::factor, BatchJob::solve, BatchJob::factor_solve}) {
            for (const Precision precision : {Precision::single, Precision::twice}) {
                if (has_kernels({routine, job, precision, n})) all.push_back({routine, job, precision, n});
            }
        }
    }
    return all;
}

std::set<int> widths_in_blocks(const Problem& problem) {
    std::set<int> widths;
    for (const Candidate& own : candidates(problem, sm_90, ArithmeticSpace::ieee)) {
        if (own.residence == Residence::shared || own.residence == Residence::global) widths.insert(own.width);
    }
    return widths;
}

}  // namespace

TEST_CASE("panels have the widths of the paper, in the units of the kernels") {
    // the example of section 6.1, and the widths that the library has
    CHECK(widths_in_blocks({Routine::lu, BatchJob::factor, Precision::single, 33}) ==
          std::set<int>{1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 16, 17, 32, 33});
    CHECK(widths_in_blocks({Routine::cholesky, BatchJob::factor, Precision::twice, 33}) ==
          std::set<int>{4, 8, 12, 16, 20, 32, 36});
}

TEST_CASE("every candidate is there once, and the library's own are among them") {
    for (const int n : {1, 5, 8, 31, 32, 33, 64, 72, 96, 100, 160, 256}) {
        for (const Problem& problem : problems_of_order(n)) {
            CAPTURE(name_of(problem));
            const std::vector<Candidate> all = candidates(problem, sm_90, ArithmeticSpace::ieee);
            std::set<std::string> names;
            for (const Candidate& own : all) names.insert(name_of(own));
            CHECK(names.size() == all.size());
            const std::vector<Candidate> own = library_candidates(problem, sm_90);
            // factor and solve in one kernel takes the factor in shared memory
            CHECK(own.empty() == (name_of(problem) == "cholesky both d 256"));
            for (const Candidate& of_library : own) {
                CHECK(std::count(all.begin(), all.end(), of_library) == 1);
                CHECK_FALSE(why_pruned(problem, of_library, sm_90).has_value());
            }
        }
    }
}

TEST_CASE("what remains of the space stays within the limits of the GPU") {
    int remaining = 0;
    for (const int n : {7, 32, 33, 96, 200, 256}) {
        for (const Problem& problem : problems_of_order(n)) {
            CAPTURE(name_of(problem));
            for (const Candidate& own : candidates(problem, sm_90, ArithmeticSpace::ieee)) {
                if (why_pruned(problem, own, sm_90)) continue;
                ++remaining;
                CAPTURE(name_of(own));
                REQUIRE(own.bound >= own.threads);
                REQUIRE(own.threads % 32 == 0);
                const std::size_t shared = shared_bytes(problem, own);
                const int registers = std::min(255, 65536 / (own.bound * own.resident_blocks) / 8 * 8);
                REQUIRE(resident_blocks(sm_90, own.threads, registers, shared) >= own.resident_blocks);
                REQUIRE(own.threads >= (own.residence == Residence::lanes ? 32 : n));
                REQUIRE((own.residence != Residence::lanes || own.width >= n));
            }
        }
    }
    CHECK(remaining > 2000);
}

TEST_CASE("each limit prunes") {
    const Problem large{Routine::cholesky, BatchJob::factor, Precision::twice, 256};
    Candidate own{Residence::shared, 8, 256, 256, 1};
    CHECK(why_pruned(large, own, sm_90) == Pruned::shared);  // half of 256 x 256 doubles does not fit
    own.residence = Residence::global;
    CHECK_FALSE(why_pruned(large, own, sm_90).has_value());
    own.resident_blocks = 8;
    CHECK(why_pruned(large, own, sm_90) == Pruned::registers);
    own.threads = own.bound = 512;
    CHECK(why_pruned(large, own, sm_90) == Pruned::threads);
    own.width = 36;
    CHECK(why_pruned(large, own, sm_90) == Pruned::width);
}

TEST_CASE("arithmetic is relaxed step by step, in single precision only") {
    const Problem single{Routine::cholesky, BatchJob::factor, Precision::single, 16};
    Problem twice = single;
    twice.precision = Precision::twice;
    const auto count = [](const Problem& problem, ArithmeticSpace space) {
        return candidates(problem, sm_90, space).size();
    };
    CHECK(count(single, ArithmeticSpace::relaxed) == 4 * count(single, ArithmeticSpace::ieee));
    CHECK(count(twice, ArithmeticSpace::relaxed) == count(twice, ArithmeticSpace::ieee));
}

TEST_CASE("occupancy counts threads, registers and shared memory") {
    CHECK(resident_blocks(sm_90, 128, 32, 0) == 16);
    CHECK(resident_blocks(sm_90, 128, 128, 0) == 4);
    CHECK(resident_blocks(sm_90, 64, 16, 0) == 32);
    CHECK(resident_blocks(sm_90, 64, 32, 100 * 1024) == 2);
    CHECK(resident_blocks(sm_90, 64, 32, 228 * 1024) == 0);
}

TEST_CASE("registers, spills and shared memory are read from what ptxas writes") {
    Compiled compiled;
    read_resources(
        "ptxas info    : Compiling entry function 'candidate' for 'sm_90'\n"
        "ptxas         .     120 bytes stack frame, 116 bytes spill stores, 140 bytes spill loads\n"
        "ptxas info    : Used 255 registers, used 1 barriers, 1024 bytes smem\n",
        compiled);
    CHECK(compiled.registers == 255);
    CHECK(compiled.spill_bytes == 256);
    CHECK(compiled.shared_bytes == 1024);
    CHECK_THROWS(read_resources("", compiled));
}

TEST_CASE("NVRTC compiles a candidate of each kind") {
    std::unique_ptr<Compiler> compiler;
    try {
        compiler = make_nvrtc_compiler();
    } catch (const NvrtcMissing& missing) {
        SKIP(missing.what());
    }
    std::set<std::string> kinds;
    for (const int n : {8, 20, 40}) {
        for (const Problem& problem : problems_of_order(n)) {
            for (const Candidate& own : candidates(problem, sm_90, ArithmeticSpace::relaxed)) {
                const bool in_lanes = own.residence == Residence::lanes && problem.routine == Routine::cholesky;
                const bool by_tiles = own.residence == Residence::tiles;
                if (why_pruned(problem, own, sm_90) || own.threads > 128) continue;
                if (in_lanes ? own.width != (n + 3) / 4 * 4 || own.resident_blocks > 1 : own.width > 8 && !by_tiles)
                    continue;
                if (problem.precision == Precision::twice && problem.job != BatchJob::factor) continue;
                const std::string kind = std::string(name_of(problem.routine)) + name_of(problem.job) +
                                         letter_of(problem.precision) + name_of(own.residence) +
                                         (in_lanes ? std::to_string(own.width) : "");
                if (!kinds.insert(kind).second) continue;
                CAPTURE(name_of(problem), name_of(own));
                const Compiled compiled = compiler->compile(source_of(problem, own), compiler_options(own, "sm_90"));
                REQUIRE(compiled.error.empty());
                CHECK(compiled.image.substr(0, 4) ==
                      "\x7f"
                      "ELF");
                CHECK((compiled.registers >= 16 && compiled.registers <= 255));
                if (!by_tiles || problem.routine == Routine::cholesky || problem.job == BatchJob::solve) {
                    CHECK(compiled.spill_bytes == 0);
                }
                // what the kernel has itself is what the space reckons with
                CHECK(compiled.shared_bytes + launched_shared_bytes(problem, own) == shared_bytes(problem, own));
            }
        }
    }
    CHECK(kinds.size() == 39);
    const Compiled refused = compiler->compile("no program", {"--gpu-architecture=sm_90"});
    CHECK(refused.error.find("error") != std::string::npos);
    CHECK(refused.image.empty());
}
