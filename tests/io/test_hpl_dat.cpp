#include <sstream>
#include <string>
#include <vector>

#include "io/hpl/hpl_dat.hpp"
#include "tests/common/catch.hpp"
#include "tests/io/data/hpl_sample.hpp"

using namespace basalt;

namespace {

std::vector<std::string> sample_lines() {
    std::istringstream in{std::string(basalt_tests::hpl_sample_input)};
    std::vector<std::string> lines;
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    return lines;
}

std::string joined(const std::vector<std::string>& lines, const std::string& end = "\n") {
    std::string text;
    for (const auto& line : lines) text += line + end;
    return text;
}

HplInput read(const std::string& text) {
    std::istringstream in(text);
    return read_hpl_dat(in, "HPL.dat");
}

/// The sample with line `number` (from 1, as messages count) replaced.
std::string with_line(int number, const std::string& line) {
    auto lines = sample_lines();
    lines.at(number - 1) = line;
    return joined(lines);
}

std::string error_of(const std::string& text) {
    try {
        read(text);
    } catch (const HplDatError& error) {
        return error.what();
    }
    return "accepted";
}

/// The error that `line` in place of line `number` causes, without the file and line it must start with.
std::string error_at(int number, const std::string& line) {
    const std::string message = error_of(with_line(number, line));
    const std::string where = "HPL.dat:" + std::to_string(number) + ": ";
    return message.rfind(where, 0) == 0 ? message.substr(where.size()) : "elsewhere: " + message;
}

struct Change {
    int line;
    std::string text;
    std::string message;
};

}  // namespace

TEST_CASE("an HPL.dat as HPL ships it is read field by field") {
    const HplInput input = read(std::string(basalt_tests::hpl_sample_input));
    CHECK(input.output_file == "HPL.out");
    CHECK(input.device == 6);
    CHECK(input.sizes == std::vector<Index>{1000, 2000});
    CHECK(input.block_sizes == std::vector<Index>{64, 128});
    CHECK(input.order == HplOrder::row_major);
    REQUIRE(input.grids.size() == 1);
    CHECK(input.grids[0].p == 1);
    CHECK(input.grids[0].q == 1);
    CHECK(input.threshold == 16.0);
    CHECK(input.panel_factors == std::vector<HplFactor>{HplFactor::right});
    CHECK(input.stop_sizes == std::vector<Index>{4});
    CHECK(input.divisions == std::vector<Index>{2});
    CHECK(input.recursive_factors == std::vector<HplFactor>{HplFactor::crout});
    CHECK(input.broadcasts == std::vector<HplBroadcast>{HplBroadcast::ring_modified});
    CHECK(input.depths == std::vector<Index>{1});
    CHECK(input.swap == HplSwap::mix);
    CHECK(input.swap_threshold == 64);
    CHECK(input.l1_transposed);
    CHECK(input.u_transposed);
    CHECK(input.equilibrate);
    CHECK(input.alignment == 8);
}

TEST_CASE("what follows the values of a line is comment, and so are lines after the last") {
    CHECK(read(with_line(6, "10 20 30 40 Ns")).sizes == std::vector<Index>{10, 20});
    CHECK(read(with_line(6, "\t+10\t20")).sizes == std::vector<Index>{10, 20});
    CHECK(read(with_line(13, "1.6e1 threshold")).threshold == 16.0);
    CHECK(read(std::string(basalt_tests::hpl_sample_input) + "##### ignored\n").alignment == 8);
}

TEST_CASE("CRLF line ends and a last line without an end are accepted") {
    CHECK(read(joined(sample_lines(), "\r\n")).alignment == 8);
    std::string text(basalt_tests::hpl_sample_input);
    text.pop_back();
    CHECK(read(text).alignment == 8);
    CHECK(read(std::string(basalt_tests::hpl_sample_input) + std::string("\0\xff", 2)).alignment == 8);
}

TEST_CASE("the output device is 6, 7, another number or the word file") {
    CHECK(read(with_line(4, "7")).device == 7);
    CHECK(read(with_line(4, "8 device out")).device == 8);
    CHECK(read(with_line(4, "file device out")).device == 0);
    auto lines = sample_lines();
    lines[2] = "";
    CHECK(read(joined(lines)).output_file.empty());
    lines[3] = "8";
    CHECK(error_of(joined(lines)) ==
          "HPL.dat:4: output device = \"8\" writes to a file, but line 3 names none; allowed: 6 (stdout), 7 "
          "(stderr)");
}

TEST_CASE("a threshold of zero or less is kept: HPL then checks nothing") {
    CHECK(read(with_line(13, "-16.0 threshold")).threshold == -16.0);
    CHECK(read(with_line(13, "0")).threshold == 0.0);
}

TEST_CASE("every line malformed in turn is an error that names the line, the value and what is allowed") {
    const std::string counts = "allowed: 1 to 20";
    const std::string positive = "allowed: 1 to 2147483647";
    const std::vector<Change> changes = {
        {4, "six", "output device = \"six\" is not an integer; allowed: 0 to 2147483647"},
        {4, "-1", "output device = -1 is out of range; allowed: 0 to 2147483647"},
        {5, "x", "number of Ns = \"x\" is not an integer; " + counts},
        {5, "0", "number of Ns = 0 is out of range; " + counts},
        {5, "21", "number of Ns = 21 is out of range; " + counts},
        {5, "", "the line is blank; expected number of Ns"},
        {6, "1000 2000x", "N number 2 of 2 = \"2000x\" is not an integer; allowed: 0 to 2147483646"},
        {6, "-3 4", "N number 1 of 2 = -3 is out of range; allowed: 0 to 2147483646"},
        {6, "5 2147483647", "N number 2 of 2 = 2147483647 is out of range; allowed: 0 to 2147483646"},
        {6, "5 99999999999999999999",
         "N number 2 of 2 = \"99999999999999999999\" is too large; allowed: 0 to 2147483646"},
        {6, "1000", "N number 2 of 2 is missing; allowed: 0 to 2147483646"},
        {6, "1000 Ns", "N number 2 of 2 = \"Ns\" is not an integer; allowed: 0 to 2147483646"},
        {6, "1e3 2000", "N number 1 of 2 = \"1e3\" is not an integer; allowed: 0 to 2147483646"},
        {7, "-1", "number of NBs = -1 is out of range; " + counts},
        {8, "0 64", "NB number 1 of 2 = 0 is out of range; " + positive},
        {9, "2", "PMAP = 2 is out of range; allowed: 0 to 1"},
        {10, "0", "number of process grids = 0 is out of range; " + counts},
        {11, "0", "P = 0 is out of range; " + positive},
        {12, "-1", "Q = -1 is out of range; " + positive},
        {13, "nan", "threshold = \"nan\"; allowed: a number from -1000000 to 1000000 (0 and less: no check)"},
        {13, "inf", "threshold = \"inf\"; allowed: a number from -1000000 to 1000000 (0 and less: no check)"},
        {13, "1e308", "threshold = \"1e308\"; allowed: a number from -1000000 to 1000000 (0 and less: no check)"},
        {13, "-1e309", "threshold = \"-1e309\"; allowed: a number from -1000000 to 1000000 (0 and less: no check)"},
        {13, "16,0", "threshold = \"16,0\"; allowed: a number from -1000000 to 1000000 (0 and less: no check)"},
        {14, "21", "number of PFACTs = 21 is out of range; " + counts},
        {15, "3", "PFACT = 3 is out of range; allowed: 0 to 2"},
        {16, "none", "number of NBMINs = \"none\" is not an integer; " + counts},
        {17, "0", "NBMIN = 0 is out of range; " + positive},
        {18, "0", "number of NDIVs = 0 is out of range; " + counts},
        {19, "1", "NDIV = 1 is out of range; allowed: 2 to 2147483647"},
        {20, "0", "number of RFACTs = 0 is out of range; " + counts},
        {21, "-1", "RFACT = -1 is out of range; allowed: 0 to 2"},
        {22, "0", "number of BCASTs = 0 is out of range; " + counts},
        {23, "6", "BCAST = 6 is out of range; allowed: 0 to 5"},
        {24, "0", "number of DEPTHs = 0 is out of range; " + counts},
        {25, "-1", "DEPTH = -1 is out of range; allowed: 0 to 2147483647"},
        {26, "3", "SWAP = 3 is out of range; allowed: 0 to 2"},
        {27, "-1", "swapping threshold = -1 is out of range; allowed: 0 to 2147483647"},
        {28, "2", "L1 = 2 is out of range; allowed: 0 to 1"},
        {29, "yes", "U = \"yes\" is not an integer; allowed: 0 to 1"},
        {30, "-", "Equilibration = \"-\" is not an integer; allowed: 0 to 1"},
        {31, "0", "memory alignment = 0 is out of range; " + positive},
    };
    for (const auto& [line, text, message] : changes) CHECK(error_at(line, text) == message);
}

TEST_CASE("binary junk and endless text in any line are errors with the line number") {
    for (int line = 1; line <= 31; ++line) {
        INFO("line " << line);
        CHECK(error_at(line, std::string("\0\x01\xff", 3)) ==
              "byte 0x00 in column 1 of \"\\x00\\x01\\xff\"; allowed: text");
        CHECK(error_at(line, std::string(100000, '7')).find("the line is longer than HPL's line buffer: \"77777") == 0);
        CHECK(error_at(line, sample_lines()[line - 1] + std::string(100000, ' ')).find("longer than") !=
              std::string::npos);
    }
    CHECK(error_at(5, "\xff\xfe") == "number of Ns = \"\\xff\\xfe\" is not an integer; allowed: 1 to 20");
}

TEST_CASE("a line may have 252 characters, with or without CR, and not one more") {
    const std::string longest = "64 128" + std::string(252 - 6, ' ');
    CHECK(read(with_line(8, longest)).block_sizes.size() == 2);
    CHECK(read(with_line(8, longest + "\r")).block_sizes.size() == 2);
    CHECK(error_at(8, longest + " ").find("longer than") != std::string::npos);
}

TEST_CASE("a file that ends early is an error at the first line that is missing") {
    CHECK(error_of("") == "HPL.dat:1: the file is empty; expected a title (an HPL.dat has 31 lines)");
    for (int kept = 1; kept < 31; ++kept) {
        auto lines = sample_lines();
        lines.resize(kept);
        const std::string start = "HPL.dat:" + std::to_string(kept + 1) + ": the file ends before this line; expected ";
        CHECK(error_of(joined(lines)).rfind(start, 0) == 0);
    }
}

TEST_CASE("grids of more processes than an int counts are refused") {
    auto lines = sample_lines();
    lines[10] = lines[11] = "65536";
    CHECK(error_of(joined(lines)) == "HPL.dat:12: 65536 x 65536 processes; allowed: P x Q at most 2147483647");
}

TEST_CASE("the number of tests is bounded") {
    auto lines = sample_lines();
    const std::string twenty = "1 1 1 1 1 1 1 1 1 1 2 2 2 2 2 2 2 2 2 2";
    for (const int count_line : {5, 7, 14, 16, 24}) {
        lines[count_line - 1] = "20";
        lines[count_line] = twenty;
    }
    CHECK(error_of(joined(lines)) == "HPL.dat:25: the lists up to here ask for 3200000 tests; allowed: at most 999999");
}

TEST_CASE("tests come in HPL's order, NDIV innermost and grids outermost") {
    auto lines = sample_lines();
    lines[9] = "2";
    lines[10] = "1 3";
    lines[11] = "2 4";
    lines[17] = "3";
    lines[18] = "2 5 7";
    const HplInput input = read(joined(lines));
    REQUIRE(hpl_case_count(input) == 2 * 2 * 2 * 3);
    Index k = 0;
    for (const auto& grid : input.grids) {
        for (const Index n : input.sizes) {
            for (const Index nb : input.block_sizes) {
                for (const Index divisions : input.divisions) {
                    const HplCase test = hpl_case(input, k++);
                    CHECK((test.grid.p == grid.p && test.grid.q == grid.q));
                    CHECK((test.n == n && test.nb == nb && test.divisions == divisions));
                    CHECK((test.stop_size == 4 && test.depth == 1));
                }
            }
        }
    }
}
