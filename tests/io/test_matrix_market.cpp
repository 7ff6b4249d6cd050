#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "basalt/error.hpp"
#include "io/files/matrix_market.hpp"
#include "tests/common/catch.hpp"

using namespace basalt;

namespace {

/// A matrix as a list of rows, to write expectations down.
using Rows = std::vector<std::vector<double>>;

template <class T = double>
Rows read(const std::string& text) {
    std::istringstream in(text);
    MatrixMarketReader reader(in, "a.mtx");
    const Index rows = reader.header().rows;
    const Index cols = reader.header().cols;
    std::vector<T> elements(static_cast<std::size_t>(rows * cols), T{7});
    const auto a = View<T>::column_major(elements.data(), rows, cols, rows);
    reader.read(a);
    Rows result(static_cast<std::size_t>(rows), std::vector<double>(static_cast<std::size_t>(cols)));
    for (Index i = 0; i < rows; ++i) {
        for (Index j = 0; j < cols; ++j) result[i][j] = static_cast<double>(a(i, j));
    }
    return result;
}

template <class T = double>
std::string error_of(const std::string& text) {
    try {
        read<T>(text);
    } catch (const MatrixMarketError& error) {
        return error.what();
    }
    return "accepted";
}

std::string coordinate(const std::string& field, const std::string& rest) {
    return "%%MatrixMarket matrix coordinate " + field + "\n" + rest;
}

std::string array(const std::string& field, const std::string& rest) {
    return "%%MatrixMarket matrix array " + field + "\n" + rest;
}

/// The number that an array file of one element holds.
template <class T = double>
T number(const std::string& text) {
    return static_cast<T>(read<T>(array("real general", "1 1\n" + text + "\n")).at(0).at(0));
}

bool same_bits(double a, double b) { return std::memcmp(&a, &b, sizeof a) == 0; }

struct Refused {
    std::string text;
    std::string message;
};

void expect_refused(const std::vector<Refused>& cases) {
    for (const auto& refused : cases) {
        INFO(refused.text);
        CHECK(error_of(refused.text) == refused.message);
    }
}

}  // namespace

TEST_CASE("array files are read column by column") {
    CHECK(read(array("real general", "2 3\n1\n2\n3.5\n-4e1\n+5\n.6\n")) == Rows{{1, 3.5, 5}, {2, -40, .6}});
    CHECK(read(array("integer general", "1 2\n-7\n+8\n")) == Rows{{-7, 8}});
    CHECK(read(array("double general", "1 1\n1e-3\n")) == Rows{{1e-3}});
}

TEST_CASE("coordinate files are read entry by entry, in any order, zero elsewhere") {
    CHECK(read(coordinate("real general", "2 3 3\n2 3 1.5\n1 1 -2\n2 1 4\n")) == Rows{{-2, 0, 0}, {4, 0, 1.5}});
    CHECK(read(coordinate("integer general", "2 2 1\n1 2 3\n")) == Rows{{0, 3}, {0, 0}});
    CHECK(read(coordinate("pattern general", "2 2 2\n1 2\n2 2\n")) == Rows{{0, 1}, {0, 1}});
    CHECK(read(coordinate("real general", "2 2 0\n")) == Rows{{0, 0}, {0, 0}});
}

TEST_CASE("symmetric and skew-symmetric files hold one half of the matrix") {
    CHECK(read(array("real symmetric", "3 3\n1\n2\n3\n4\n5\n6\n")) == Rows{{1, 2, 3}, {2, 4, 5}, {3, 5, 6}});
    CHECK(read(array("real skew-symmetric", "3 3\n1\n2\n3\n")) == Rows{{0, -1, -2}, {1, 0, -3}, {2, 3, 0}});
    CHECK(read(coordinate("real symmetric", "3 3 3\n1 1 9\n3 1 2\n3 3 4\n")) == Rows{{9, 0, 2}, {0, 0, 0}, {2, 0, 4}});
    CHECK(read(coordinate("integer skew-symmetric", "2 2 1\n2 1 5\n")) == Rows{{0, -5}, {5, 0}});
    CHECK(read(coordinate("pattern symmetric", "2 2 1\n2 1\n")) == Rows{{0, 1}, {1, 0}});
    CHECK(read(array("real skew-symmetric", "1 1\n")) == Rows{{0}});
}

TEST_CASE("duplicate entries are added in the order of the file") {
    CHECK(read(coordinate("real general", "1 2 3\n1 2 1.5\n1 1 1\n1 2 -4\n")) == Rows{{1, -2.5}});
    CHECK(read(coordinate("real general", "1 1 3\n1 1 1e16\n1 1 1\n1 1 -1e16\n")) == Rows{{0}});
    CHECK(read(coordinate("real general", "1 1 3\n1 1 1e16\n1 1 -1e16\n1 1 1\n")) == Rows{{1}});
    CHECK(read(coordinate("real symmetric", "2 2 2\n2 1 1\n2 1 2\n")) == Rows{{0, 3}, {3, 0}});
    CHECK(read(coordinate("pattern general", "1 1 2\n1 1\n1 1\n")) == Rows{{2}});
}

TEST_CASE("matrices without elements and with one") {
    CHECK(read(array("real general", "0 0\n")).empty());
    CHECK(read(coordinate("real general", "0 5 0")).empty());
    CHECK(read(coordinate("real general", "2 0 0\n")) == Rows{{}, {}});
    CHECK(read(array("real symmetric", "1 1\n3\n")) == Rows{{3}});
}

TEST_CASE("comments, blank lines, line ends and capitals are taken as people write them") {
    const Rows expected = {{1, 3}, {2, 4}};
    CHECK(
        read("%%MatrixMarket MATRIX Array Real GENERAL\n% by hand\n%\n\n 2\t2 \n1\n\n% half\n2\n  3  \n4\n\n% end\n") ==
        expected);
    CHECK(read("%%matrixmarket\tmatrix  array real general\r\n%c\r\n2 2\r\n1\r\n2\r\n3\r\n4\r\n") == expected);
    CHECK(read(array("real general", "2 2\n1\n2\n3\n4")) == expected);
    CHECK(read(coordinate("real general", "2 2 4\n1 1 1\n2 1 2\n1 2 3\n2 2 4")) == expected);
}

TEST_CASE("a line may be as long as the limit, and no longer") {
    const auto with_comment = [](std::size_t length) {
        return array("real general", "%" + std::string(length - 1, 'x') + "\n1 1\n3\n");
    };
    CHECK(read(with_comment(TextLines::longest)) == Rows{{3}});
    const std::string message = error_of(with_comment(TextLines::longest + 1));
    CHECK(message.rfind("a.mtx:2: a long line: \"%xxx", 0) == 0);
    CHECK(error_of(with_comment(5'000'000)) == message);
    CHECK(error_of(std::string(5'000'000, ' ')).rfind("a.mtx:1: a long line", 0) == 0);
    CHECK(number("0." + std::string(60000, '3')) == 1.0 / 3);
}

TEST_CASE("text of many blocks is read whole, whatever is cut at their borders") {
    std::string text = array("real general", "300000 1\n");
    for (int i = 0; i < 300000; ++i) text += std::to_string(i * 37 % 10007) + (i % 3 == 0 ? ".25\r\n" : "\n");
    const Rows a = read(text);
    for (int i = 0; i < 300000; ++i) REQUIRE(a[i][0] == i * 37 % 10007 + (i % 3 == 0 ? .25 : 0));
}

TEST_CASE("numbers are rounded to the nearest of the precision asked for") {
    CHECK(number("0.1") == 0.1);
    CHECK(number("9007199254740993") == 9007199254740992.0);
    CHECK(number("9007199254740993.00000000000000000001") == 9007199254740994.0);
    CHECK(number("1.7976931348623157e308") == std::numeric_limits<double>::max());
    CHECK(number("4.9e-324") == std::numeric_limits<double>::denorm_min());
    CHECK(same_bits(number("-0"), -0.0));
    // Halfway between two floats but for a digit that double cannot hold: rounding twice would go down.
    CHECK(number<float>("1.000000059604644775390625001") == std::nextafter(1.0F, 2.0F));
    CHECK(read(array("integer general", "1 1\n123456789012345678901234567890\n"))[0][0] ==
          123456789012345678901234567890.0);
}

TEST_CASE("numbers too small for the precision become zero, those too large are refused") {
    for (const char* tiny : {"1e-400", "0.1e-99999999999999999999", "0.0000001e-320", "1e-2000000000"}) {
        INFO(tiny);
        CHECK(same_bits(number(tiny), 0.0));
        CHECK(same_bits(number("-" + std::string(tiny)), -0.0));
    }
    CHECK(number("0." + std::string(400, '0') + "1") == 0);
    CHECK(number<float>("1e-60") == 0);
    CHECK(number("1" + std::string(400, '0') + "e-400") == 1);
    for (const std::string huge : {"1e400", "-1e99999999999999999999", "0.00001e320", "1e9223372036854775807"}) {
        INFO(huge);
        CHECK(error_of(array("real general", "1 1\n" + huge)) == "a.mtx:3: value \"" + huge +
                                                                     "\" is too large for double precision; allowed: "
                                                                     "magnitudes up to 1.8e+308");
    }
    CHECK(error_of<float>(array("real general", "1 1\n-1e39\n")) ==
          "a.mtx:3: value \"-1e39\" is too large for single precision; allowed: magnitudes up to 3.4e+38");
    CHECK(error_of(array("integer general", "1 1\n1" + std::string(309, '0') + "\n")).rfind("a.mtx:3: value", 0) == 0);
}

TEST_CASE("words that are no numbers are refused with their line") {
    for (const char* word : {"nan", "inf", "-inf", "NaN", "infinity", "nan(3)", "0x10", "1d5", "1,5", "1e", "--1",
                             "+-1", "+", "-", ".", "1.2.3", "1e5e5", "\x01"}) {
        INFO(word);
        const std::string message = error_of(array("real general", "2 1\n1\n" + std::string(word) + "\n"));
        CHECK(message.rfind("a.mtx:4: value ", 0) == 0);
        CHECK(message.find("; allowed: a finite decimal number") != message.npos);
    }
    for (const char* word : {"1.5", "1e2", "7.", "x", "inf", "+", "0x7"}) {
        INFO(word);
        const std::string message = error_of(coordinate("integer general", "2 1 1\n1 1 " + std::string(word) + "\n"));
        CHECK(message.rfind("a.mtx:3: value ", 0) == 0);
        CHECK(message.find("; allowed: an integer, as the banner says") != message.npos);
    }
}

TEST_CASE("banners that cannot be read right are refused") {
    const std::string form = "; allowed: %%MatrixMarket matrix FORMAT FIELD SYMMETRY";
    expect_refused({
        {"", "a.mtx:1: the file is empty" + form},
        {"\n", "a.mtx:1: the first line is \"\"" + form},
        {"1 1\n3\n", "a.mtx:1: the first line is \"1 1\"" + form},
        {"%MatrixMarket matrix array real general\n1 1\n3\n",
         "a.mtx:1: the first line is \"%MatrixMarket matrix array real general\"" + form},
        {"%%MatrixMarket matrix array real\n1 1\n3\n",
         "a.mtx:1: the first line is \"%%MatrixMarket matrix array real\"" + form},
        {"%%MatrixMarket vector array real general\n1\n3\n",
         "a.mtx:1: the first line is \"%%MatrixMarket vector array real general\"" + form},
        {"\x7f"
         "ELF\x02",
         "a.mtx:1: the first line is \"\\x7fELF\\x02\"" + form},
        {"%%MatrixMarket matrix dense real general\n", "a.mtx:1: format \"dense\"; allowed: array, coordinate"},
        {array("complex general", "1 1\n1 0\n"),
         "a.mtx:1: field \"complex\"; allowed: real, double, integer (Basalt computes with real numbers)"},
        {coordinate("complex hermitian", "1 1 1\n1 1 1 0\n"),
         "a.mtx:1: field \"complex\"; allowed: real, double, integer, pattern (Basalt computes with real numbers)"},
        {array("pattern general", "1 1\n"),
         "a.mtx:1: field \"pattern\"; allowed: real, double, integer in an array file"},
        {array("real hermitian", "1 1\n3\n"),
         "a.mtx:1: symmetry \"hermitian\"; allowed: general, symmetric, skew-symmetric"},
        {coordinate("pattern skew-symmetric", "1 1 0\n"),
         "a.mtx:1: symmetry \"skew-symmetric\"; allowed: general, symmetric in a pattern file"},
    });
}

TEST_CASE("sizes that cannot be are refused") {
    expect_refused({
        {array("real general", ""), "a.mtx:2: the file ends before the size line; allowed: ROWS COLUMNS"},
        {coordinate("real general", "% nothing\n"),
         "a.mtx:3: the file ends before the size line; allowed: ROWS COLUMNS ENTRIES"},
        {array("real general", "-3 2\n"), "a.mtx:2: number of rows \"-3\"; allowed: 0 to 9223372036854775807"},
        {array("real general", "3\n1\n"),
         "a.mtx:2: the number of columns is missing; allowed: 0 to 9223372036854775807"},
        {array("real general", "3 1.0\n"),
         "a.mtx:2: number of columns \"1.0\" is not an integer; allowed: 0 to 9223372036854775807"},
        {array("real general", "1 99999999999999999999\n"),
         "a.mtx:2: number of columns \"99999999999999999999\"; allowed: 0 to 9223372036854775807"},
        {array("real general", "1 1 1\n1\n"),
         "a.mtx:2: \"1\" after the last number of the line; allowed: one entry a line"},
        {coordinate("real general", "1 1\n"),
         "a.mtx:2: the number of entries is missing; allowed: 0 to 9223372036854775807"},
        {coordinate("real general", "4 4 -1\n"),
         "a.mtx:2: number of entries \"-1\"; allowed: 0 to 9223372036854775807"},
        {coordinate("real general", "%\n4294967296 4294967296 1\n1 1 1\n"),
         "a.mtx:3: size 4294967296 x 4294967296: the matrix needs 147573952589676412928 bytes in full; allowed: fewer "
         "than "
         "2^63 bytes"},
        {array("real symmetric", "9223372036854775807 9223372036854775807\n"),
         "a.mtx:2: size 9223372036854775807 x 9223372036854775807: the matrix needs "
         "680564733841876926926749214863536422912 "
         "bytes in full; allowed: fewer than 2^63 bytes"},
        {array("real symmetric", "2 3\n"),
         "a.mtx:2: size 2 x 3 of a symmetric or skew-symmetric matrix; allowed: as many rows as columns"},
        {coordinate("real general", "0 3 2\n1 1 1\n1 2 1\n"),
         "a.mtx:2: 2 entries of a 0 x 3 matrix; allowed: 0 entries"},
    });
}

TEST_CASE("a header is read without memory for its matrix") {
    for (const std::string size :
         {"1000000000 1000000000 5", "1 1000000000000000000 1000000000000000000", "0 9223372036854775807 0"}) {
        std::istringstream in(coordinate("real general", size + "\n1 1 1\n"));
        const MatrixMarketReader reader(in, "a.mtx");
        const auto& header = reader.header();
        CHECK(std::to_string(header.rows) + " " + std::to_string(header.cols) + " " + std::to_string(header.entries) ==
              size);
        CHECK(header.format == MatrixMarketFormat::coordinate);
    }
}

TEST_CASE("entries that are missing, misplaced or too many are refused") {
    const std::string rest = "; allowed: blank lines and comments";
    expect_refused({
        {array("real general", "2 2\n1\n2\n3\n"),
         "a.mtx:6: the file ends after 3 of 4 entries; allowed: all that the size line promises"},
        {coordinate("real general", "2 2 2\n1 1 1\n% cut"),
         "a.mtx:5: the file ends after 1 of 2 entries; allowed: all that the size line promises"},
        {coordinate("real general", "2 2 1\n1 1"),
         "a.mtx:3: the value is missing; allowed: a finite decimal number, e.g. -1.5e3"},
        {coordinate("real general", "2 2 1\n1"), "a.mtx:3: the column is missing; allowed: 1 to 2"},
        {coordinate("real general", "2 3 1\n3 1 1\n"), "a.mtx:3: row \"3\"; allowed: 1 to 2"},
        {coordinate("real general", "2 3 1\n0 1 1\n"), "a.mtx:3: row \"0\"; allowed: 1 to 2"},
        {coordinate("real general", "2 3 1\n2 4 1\n"), "a.mtx:3: column \"4\"; allowed: 1 to 3"},
        {coordinate("real general", "2 3 1\n2 99999999999999999999 1\n"),
         "a.mtx:3: column \"99999999999999999999\"; allowed: 1 to 3"},
        {coordinate("real general", "2 3 1\n1.0 1 1\n"), "a.mtx:3: row \"1.0\" is not an integer; allowed: 1 to 2"},
        {coordinate("real general", "2 2 1\n1 1 1\n2 2 2\n"), "a.mtx:4: \"2 2 2\" after the last of 1 entries" + rest},
        {array("real general", "1 1\n1\n\n1 1\n"), "a.mtx:5: \"1 1\" after the last of 1 entries" + rest},
        {array("real general", "0 1\n1\n"), "a.mtx:3: \"1\" after the last of 0 entries" + rest},
        {array("real general", "1 2\n1 2\n"),
         "a.mtx:3: \"2\" after the last number of the line; allowed: one entry a line"},
        {coordinate("pattern general", "1 1 1\n1 1 1\n"),
         "a.mtx:3: \"1\" after the last number of the line; allowed: one entry a line"},
        {coordinate("real general", "1 1 1\n1 1 1 % one\n"),
         "a.mtx:3: \"% one\" after the last number of the line; allowed: one entry a line"},
        {coordinate("real symmetric", "2 2 1\n1 2 1\n"),
         "a.mtx:3: entry (1, 2); allowed: entries on and below the diagonal of a symmetric matrix"},
        {coordinate("real skew-symmetric", "2 2 1\n2 2 0\n"),
         "a.mtx:3: entry (2, 2); allowed: entries below the diagonal of a skew-symmetric matrix"},
        {coordinate("real general", "1 1 2\n1 1 1e308\n1 1 1e308\n"),
         "a.mtx:4: the entries for (1, 1) up to here add up to infinity; allowed: a finite sum"},
    });
}

TEST_CASE("a view of another shape is refused") {
    std::istringstream in(array("real general", "2 2\n1\n2\n3\n4\n"));
    MatrixMarketReader reader(in, "a.mtx");
    double a[4] = {};
    CHECK_THROWS_AS(reader.read(View<double>(a, 4)), UsageError);
}

TEST_CASE("what is written reads back as the same bits") {
    std::mt19937_64 random(1);
    std::vector<double> numbers = {0.0, -0.0, 0.1, 1e300, -5e-324, 1.0 / 3, 123456789, 2.2250738585072014e-308};
    while (numbers.size() < 30000) {
        const std::uint64_t bits = random();
        double value = 0;
        std::memcpy(&value, &bits, sizeof value);
        if (std::isfinite(value)) numbers.push_back(value);
    }
    std::ostringstream out;
    write_matrix_market<double>(out, View<const double>::row_major(numbers.data(), 3000, 10, 10));
    const Rows a = read(out.str());
    REQUIRE(a.size() == 3000);
    for (std::size_t k = 0; k < numbers.size(); ++k) REQUIRE(same_bits(a[k / 10][k % 10], numbers[k]));
}

TEST_CASE("files are written as the format says") {
    const float a[] = {1, 0.1F, -2.5e10F, 4};
    std::ostringstream out;
    write_matrix_market<float>(out, View<const float>::column_major(a, 2, 2, 2));
    CHECK(out.str() == "%%MatrixMarket matrix array real general\n2 2\n1\n0.1\n-2.5e+10\n4\n");
    std::ostringstream none;
    write_matrix_market<double>(none, View<const double>());
    CHECK(none.str() == "%%MatrixMarket matrix array real general\n0 0\n");
    CHECK(read(none.str()).empty());
}
