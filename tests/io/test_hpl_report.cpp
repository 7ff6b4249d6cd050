#include <cmath>
#include <ctime>
#include <sstream>
#include <string>

#include "io/hpl/hpl_report.hpp"
#include "tests/common/catch.hpp"
#include "tests/io/data/hpl_sample.hpp"

using namespace basalt;

namespace {

HplInput sample_input() {
    std::istringstream in{std::string(basalt_tests::hpl_sample_input)};
    return read_hpl_dat(in, "HPL.dat");
}

/// 2026-11-21 01:01:`seconds`, local time: the report prints local times.
std::time_t local_time_of_sample(int seconds) {
    std::tm parts{};
    parts.tm_year = 2026 - 1900;
    parts.tm_mon = 10;
    parts.tm_mday = 21;
    parts.tm_hour = 1;
    parts.tm_min = 1;
    parts.tm_sec = seconds;
    parts.tm_isdst = -1;
    return std::mktime(&parts);
}

/// The time in which a test of order n reaches `gflops`.
double seconds_at(Index n, double gflops) { return hpl_gflops(n, 1.0) / gflops; }

HplTiming timing_of(double seconds) { return {seconds, local_time_of_sample(53), local_time_of_sample(53)}; }

HplCheck check_of(double scaled_residual) {
    HplCheck check;
    check.scaled_residual = scaled_residual;
    return check;
}

std::size_t count_of(const std::string& text, const std::string& what) {
    std::size_t count = 0;
    for (auto at = text.find(what); at != text.npos; at = text.find(what, at + 1)) ++count;
    return count;
}

}  // namespace

TEST_CASE("the report of HPL's sample input is HPL's sample output, character by character") {
    const HplInput input = sample_input();
    std::ostringstream out;
    HplReport report(out, input);
    report.header();
    CHECK(out.str() == basalt_tests::hpl_sample_header);
    out.str("");

    const double gflops[] = {38.220, 35.616, 42.047, 43.337};
    const double residuals[] = {3.75957045e-03, 4.02169456e-03, 3.80358773e-03, 3.84120262e-03};
    for (Index k = 0; k < 4; ++k) {
        const HplCase test = hpl_case(input, k);
        HplTiming timing = timing_of(seconds_at(test.n, gflops[k]));
        if (k == 3) timing.start = timing.end = local_time_of_sample(54);
        CHECK(report.checked_result(test, timing, check_of(residuals[k])));
    }
    report.summary();
    CHECK(out.str() == basalt_tests::hpl_sample_results);
    CHECK(report.ran() == 4);
}

TEST_CASE("lists of the parameter table wrap after eight and sixteen values") {
    HplInput input = sample_input();
    input.sizes.clear();
    for (Index n = 1; n <= 17; ++n) input.sizes.push_back(n * 100000000);
    input.block_sizes.assign(8, 32);
    input.recursive_factors.assign(9, HplFactor::left);
    input.broadcasts = {HplBroadcast::ring, HplBroadcast::two_ring, HplBroadcast::two_ring_modified,
                        HplBroadcast::long_, HplBroadcast::long_modified};
    std::ostringstream out;
    HplReport(out, input).header();
    const std::string text = out.str();
    CHECK(text.find("\nN      :100000000 200000000 300000000 400000000 500000000 600000000 700000000 800000000 \n"
                    "        900000000 1000000000 1100000000 1200000000 1300000000 1400000000 1500000000 "
                    "1600000000 \n"
                    "        1700000000 \n"
                    "NB     :      32       32       32       32       32       32       32       32 \n"
                    "PMAP   : Row-major process mapping\n") != text.npos);
    CHECK(text.find("RFACT  :    Left     Left     Left     Left     Left     Left     Left     Left \n"
                    "            Left \n"
                    "BCAST  :   1ring    2ring   2ringM    Blong   BlongM \n") != text.npos);
}

TEST_CASE("the other choices of the parameter table read as HPL writes them") {
    HplInput input = sample_input();
    input.order = HplOrder::column_major;
    input.swap = HplSwap::binary_exchange;
    input.l1_transposed = input.u_transposed = input.equilibrate = false;
    input.alignment = 4;
    std::ostringstream out;
    HplReport(out, input).header();
    CHECK(out.str().find("PMAP   : Column-major process mapping\n") != std::string::npos);
    CHECK(out.str().find("SWAP   : Binary-exchange\n"
                         "L1     : no-transposed form\n"
                         "U      : no-transposed form\n"
                         "EQUIL  : no\n"
                         "ALIGN  : 4 double precision words\n\n") != std::string::npos);
    input.swap = HplSwap::spread_roll;
    out.str("");
    HplReport(out, input).header();
    CHECK(out.str().find("SWAP   : Spread-roll (long)\n") != std::string::npos);
}

TEST_CASE("a variant is encoded as order, depth, broadcast, RFACT, NDIV, PFACT, NBMIN") {
    HplCase test;
    test.order = HplOrder::column_major;
    test.depth = 3;
    test.broadcast = HplBroadcast::long_modified;
    test.recursive_factor = HplFactor::left;
    test.divisions = 12;
    test.panel_factor = HplFactor::crout;
    test.stop_size = 16;
    CHECK(hpl_variant(test) == "WC35L12C16");
    CHECK(hpl_variant(hpl_case(sample_input(), 0)) == "WR11C2R4");
}

TEST_CASE("a failed test prints its norms and is counted") {
    const HplInput input = sample_input();
    std::ostringstream out;
    HplReport report(out, input);
    HplCheck check{16.0, 1.5, 262.25, 3.0, 4.0, 5.0, 0.5};
    CHECK_FALSE(report.checked_result(hpl_case(input, 0), timing_of(1.0), check));
    CHECK(out.str().find("||Ax-b||_oo/(eps*(||A||_oo*||x||_oo+||b||_oo)*N)=   1.60000000e+01 ...... FAILED\n"
                         "||Ax-b||_oo  . . . . . . . . . . . . . . . . . =           1.500000\n"
                         "||A||_oo . . . . . . . . . . . . . . . . . . . =         262.250000\n"
                         "||A||_1  . . . . . . . . . . . . . . . . . . . =           3.000000\n"
                         "||x||_oo . . . . . . . . . . . . . . . . . . . =           4.000000\n"
                         "||x||_1  . . . . . . . . . . . . . . . . . . . =           5.000000\n"
                         "||b||_oo . . . . . . . . . . . . . . . . . . . =           0.500000\n") != std::string::npos);
    CHECK_FALSE(report.checked_result(hpl_case(input, 1), timing_of(1.0), check_of(std::nan(""))));
    CHECK_FALSE(report.checked_result(hpl_case(input, 1), timing_of(1.0), check_of(INFINITY)));
    CHECK(report.failed() == 3);
    CHECK(report.passed() == 0);
}

TEST_CASE("a residual that is no number fails without norms, one that is infinite with them") {
    const HplInput input = sample_input();
    for (const double ratio : {static_cast<double>(NAN), static_cast<double>(INFINITY)}) {
        std::ostringstream out;
        HplReport report(out, input);
        CHECK_FALSE(report.checked_result(hpl_case(input, 0), timing_of(1.0), check_of(ratio)));
        CHECK(out.str().find("...... FAILED") != std::string::npos);
        CHECK((out.str().find("||A||_1") != std::string::npos) == std::isinf(ratio));
    }
}

TEST_CASE("a grid larger than the processes there are is skipped with HPL's message") {
    const HplInput input = sample_input();
    std::ostringstream out;
    HplReport report(out, input);
    report.skipped_grid({2, 3}, 4);
    CHECK(out.str() ==
          "HPL ERROR from process # 0, in function HPL_pdinfo:\n"
          ">>> Need at least 6 processes for these tests <<<\n\n");
    report.summary();
    CHECK(out.str().find("Finished      4 tests with the following results:\n"
                         "              0 tests completed and passed residual checks,\n"
                         "              0 tests completed and failed residual checks,\n"
                         "              4 tests skipped because of illegal input values.\n") != std::string::npos);
    CHECK(report.ran() == 0);
}

TEST_CASE("with a threshold of zero nothing is checked and the results form one table") {
    HplInput input = sample_input();
    input.threshold = 0;
    std::ostringstream out;
    HplReport report(out, input);
    report.header();
    CHECK(out.str().find("residual") == std::string::npos);
    report.unchecked_result(hpl_case(input, 0), timing_of(1.0));
    report.unchecked_result(hpl_case(input, 1), timing_of(1.0));
    report.summary();
    CHECK(count_of(out.str(), "T/V      ") == 1);
    CHECK(count_of(out.str(), "WR11C2R4") == 2);
    CHECK(out.str().find("Finished      2 tests with the following results:\n"
                         "              2 tests completed without checking,\n"
                         "              0 tests skipped because of illegal input values.\n") != std::string::npos);
}
