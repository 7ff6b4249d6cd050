#include "io/files/matrix_market.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <istream>
#include <limits>
#include <ostream>
#include <type_traits>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "basalt/error.hpp"
#include "io/files/line_numbers.hpp"
#include "io/files/quoted_text.hpp"

namespace basalt {

namespace {

constexpr Index largest_size = std::numeric_limits<Index>::max();
constexpr const char* blanks = " \t";
constexpr const char* banner_form = "%%MatrixMarket matrix FORMAT FIELD SYMMETRY";

std::vector<std::string> lower_case_words(std::string_view line) {
    std::vector<std::string> words;
    for (auto begin = line.find_first_not_of(blanks); begin != line.npos;) {
        const auto end = std::min(line.find_first_of(blanks, begin), line.size());
        std::string word(line.substr(begin, end - begin));
        for (char& c : word) c = 'A' <= c && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
        words.push_back(std::move(word));
        begin = line.find_first_not_of(blanks, end);
    }
    return words;
}

/// The words that are allowed at one place of the banner, with their meanings.
template <class Enum>
using Meanings = std::vector<std::pair<std::string, Enum>>;

template <class Enum>
std::string words_of(const Meanings<Enum>& meanings) {
    std::string words;
    for (const auto& [word, meaning] : meanings) words += (words.empty() ? "" : ", ") + word;
    return words;
}

Meanings<MatrixMarketField> fields_of(MatrixMarketFormat format) {
    using enum MatrixMarketField;
    if (format == MatrixMarketFormat::array) return {{"real", real}, {"double", real}, {"integer", integer}};
    return {{"real", real}, {"double", real}, {"integer", integer}, {"pattern", pattern}};
}

Meanings<MatrixMarketSymmetry> symmetries_of(MatrixMarketField field) {
    using enum MatrixMarketSymmetry;
    if (field == MatrixMarketField::pattern) return {{"general", general}, {"symmetric", symmetric}};
    return {{"general", general}, {"symmetric", symmetric}, {"skew-symmetric", skew_symmetric}};
}

/// Of column j, a file of this symmetry stores the rows from this one to the last.
Index first_stored_row(MatrixMarketSymmetry symmetry, Index j) {
    return symmetry == MatrixMarketSymmetry::general ? 0 : symmetry == MatrixMarketSymmetry::symmetric ? j : j + 1;
}

Index array_entries(const MatrixMarketHeader& header) {
    const Index n = header.cols;
    switch (header.symmetry) {
        case MatrixMarketSymmetry::general: return header.rows * n;
        case MatrixMarketSymmetry::symmetric: return n * (n + 1) / 2;
        case MatrixMarketSymmetry::skew_symmetric: return n * (n - 1) / 2;
    }
    return 0;
}

bool is_whole_number(std::string_view word) {
    if (!word.empty() && (word.front() == '+' || word.front() == '-')) word.remove_prefix(1);
    return !word.empty() && word.find_first_not_of("0123456789") == word.npos;
}

template <class T>
void set_zero(View<T> a) {
    if (a.rows() == 0) return;  // see read_array()
    for (Index j = 0; j < a.cols(); ++j) {
        for (Index i = 0; i < a.rows(); ++i) a(i, j) = T{0};
    }
}

}  // namespace

MatrixMarketReader::MatrixMarketReader(std::istream& in, std::string name) : lines_(in), name_(std::move(name)) {
    read_banner();
    read_size();
}

void MatrixMarketReader::refuse(const std::string& found, const std::string& allowed) const {
    throw MatrixMarketError(fmt::format("{}:{}: {}; allowed: {}", name_, lines_.number(), found, allowed));
}

bool MatrixMarketReader::next_line() {
    const bool found = lines_.next();
    if (lines_.failed())
        throw std::runtime_error(fmt::format("{}: reading failed after line {}", name_, lines_.number() - 1));
    if (found && lines_.line().size() > TextLines::longest) {
        refuse(fmt::format("a long line: {}", quoted_text(lines_.line())),
               fmt::format("at most {} characters", TextLines::longest));
    }
    return found;
}

bool MatrixMarketReader::next_data_line() {
    while (next_line()) {
        const auto first = lines_.line().find_first_not_of(blanks);
        if (first != std::string_view::npos && lines_.line()[first] != '%') return true;
    }
    return false;
}

void MatrixMarketReader::read_banner() {
    if (!next_line()) refuse("the file is empty", banner_form);
    const auto words = lower_case_words(lines_.line());
    if (words.size() != 5 || words[0] != "%%matrixmarket" || words[1] != "matrix")
        refuse(fmt::format("the first line is {}", quoted_text(lines_.line())), banner_form);
    const auto meaning_of = [this]<class Enum>(const char* what, const std::string& word,
                                               const Meanings<Enum>& meanings, const char* note) {
        for (const auto& [known, meaning] : meanings) {
            if (word == known) return meaning;
        }
        refuse(fmt::format("{} {}", what, quoted_text(word)), words_of(meanings) + note);
    };
    using Format = MatrixMarketFormat;
    const Meanings<Format> formats = {{"array", Format::array}, {"coordinate", Format::coordinate}};
    header_.format = meaning_of("format", words[2], formats, "");
    const bool is_array = header_.format == Format::array;
    header_.field = meaning_of("field", words[3], fields_of(header_.format),
                               words[3] == "complex"               ? " (Basalt computes with real numbers)"
                               : is_array && words[3] == "pattern" ? " in an array file"
                                                                   : "");
    header_.symmetry = meaning_of("symmetry", words[4], symmetries_of(header_.field),
                                  header_.field == MatrixMarketField::pattern ? " in a pattern file" : "");
}

void MatrixMarketReader::read_size() {
    const bool is_array = header_.format == MatrixMarketFormat::array;
    if (!next_data_line())
        refuse("the file ends before the size line", is_array ? "ROWS COLUMNS" : "ROWS COLUMNS ENTRIES");
    LineNumbers line(lines_.line());
    header_.rows = integer(line, "number of rows", 0, largest_size);
    header_.cols = integer(line, "number of columns", 0, largest_size);
    if (!is_array) header_.entries = integer(line, "number of entries", 0, largest_size);
    require_end(line);
    const auto size = fmt::format("{} x {}", header_.rows, header_.cols);
    if (header_.symmetry != MatrixMarketSymmetry::general && header_.rows != header_.cols)
        refuse(fmt::format("size {} of a symmetric or skew-symmetric matrix", size), "as many rows as columns");
    const double bytes = static_cast<double>(header_.rows) * static_cast<double>(header_.cols) * sizeof(double);
    if (bytes >= 0x1p63)
        refuse(fmt::format("size {}: the matrix needs {:.0f} bytes in full", size, bytes), "fewer than 2^63 bytes");
    if (is_array) header_.entries = array_entries(header_);
    if (bytes == 0 && header_.entries > 0)
        refuse(fmt::format("{} entries of a {} matrix", header_.entries, size), "0 entries");
}

Index MatrixMarketReader::integer(LineNumbers& line, const char* what, Index low, Index high) const {
    Index value = 0;
    const auto found = line.take(value);
    if (found == LineNumbers::Found::number && low <= value && value <= high) return value;
    const std::string allowed = fmt::format("{} to {}", low, high);
    if (found == LineNumbers::Found::nothing) refuse(fmt::format("the {} is missing", what), allowed);
    refuse(fmt::format("{} {}{}", what, quoted_text(line.word()),
                       found == LineNumbers::Found::other ? " is not an integer" : ""),
           allowed);
}

template <class T>
T MatrixMarketReader::value(LineNumbers& line) const {
    if (header_.field == MatrixMarketField::pattern) return T{1};
    const bool whole = header_.field == MatrixMarketField::integer;
    T value = 0;
    const auto found = line.take(value);
    if (found == LineNumbers::Found::number && std::isfinite(value) && (!whole || is_whole_number(line.word())))
        return value;
    const std::string allowed = whole ? "an integer, as the banner says" : "a finite decimal number, e.g. -1.5e3";
    if (found == LineNumbers::Found::nothing) refuse("the value is missing", allowed);
    const std::string quoted = quoted_text(line.word());
    if (found != LineNumbers::Found::too_large) refuse("value " + quoted, allowed);
    const char* const precision = std::is_same_v<T, float> ? "single" : "double";
    refuse(fmt::format("value {} is too large for {} precision", quoted, precision),
           fmt::format("magnitudes up to {:.3g}", std::numeric_limits<T>::max()));
}

void MatrixMarketReader::require_end(const LineNumbers& line) const {
    if (!line.rest().empty())
        refuse(fmt::format("{} after the last number of the line", quoted_text(line.rest())), "one entry a line");
}

void MatrixMarketReader::next_entry(Index entry) {
    if (next_data_line()) return;
    refuse(fmt::format("the file ends after {} of {} entries", entry, header_.entries),
           "all that the size line promises");
}

template <class T>
void MatrixMarketReader::read_array(View<T> a) {
    if (a.rows() == 0) return;  // not column by column: a file may announce any number of columns without elements
    const bool general = header_.symmetry == MatrixMarketSymmetry::general;
    const T sign = header_.symmetry == MatrixMarketSymmetry::skew_symmetric ? T{-1} : T{1};
    if (!general) set_zero(a);  // skew-symmetric: the diagonal is not in the file
    Index entry = 0;
    for (Index j = 0; j < a.cols(); ++j) {
        for (Index i = first_stored_row(header_.symmetry, j); i < a.rows(); ++i) {
            next_entry(entry++);
            LineNumbers line(lines_.line());
            a(i, j) = value<T>(line);
            require_end(line);
            if (!general && i != j) a(j, i) = sign * a(i, j);
        }
    }
}

template <class T>
void MatrixMarketReader::read_coordinate(View<T> a) {
    const bool general = header_.symmetry == MatrixMarketSymmetry::general;
    const T sign = header_.symmetry == MatrixMarketSymmetry::skew_symmetric ? T{-1} : T{1};
    set_zero(a);
    for (Index entry = 0; entry < header_.entries; ++entry) {
        next_entry(entry);
        LineNumbers line(lines_.line());
        const Index i = integer(line, "row", 1, header_.rows) - 1;
        const Index j = integer(line, "column", 1, header_.cols) - 1;
        if (i < first_stored_row(header_.symmetry, j)) {
            refuse(fmt::format("entry ({}, {})", i + 1, j + 1),
                   sign > 0 ? "entries on and below the diagonal of a symmetric matrix"
                            : "entries below the diagonal of a skew-symmetric matrix");
        }
        a(i, j) += value<T>(line);
        require_end(line);
        if (!std::isfinite(a(i, j)))
            refuse(fmt::format("the entries for ({}, {}) up to here add up to infinity", i + 1, j + 1), "a finite sum");
        if (!general && i != j) a(j, i) = sign * a(i, j);
    }
}

template <class T>
void MatrixMarketReader::read(View<T> a) {
    if (a.rows() != header_.rows || a.cols() != header_.cols) {
        throw UsageError(fmt::format("MatrixMarketReader::read: the matrix is {} x {}, the view {} x {}", header_.rows,
                                     header_.cols, a.rows(), a.cols()));
    }
    if (header_.format == MatrixMarketFormat::array) {
        read_array(a);
    } else {
        read_coordinate(a);
    }
    if (next_data_line()) {
        refuse(fmt::format("{} after the last of {} entries", quoted_text(lines_.line()), header_.entries),
               "blank lines and comments");
    }
}

template <class T>
void write_matrix_market(std::ostream& out, View<const T> a) {
    constexpr std::size_t block = 1 << 16;
    std::string text = fmt::format("%%MatrixMarket matrix array real general\n{} {}\n", a.rows(), a.cols());
    std::array<char, 32> number{};
    for (Index j = 0; j < a.cols(); ++j) {
        for (Index i = 0; i < a.rows(); ++i) {
            const auto end = std::to_chars(number.data(), number.data() + number.size(), a(i, j)).ptr;
            text.append(number.data(), end) += '\n';
            if (text.size() < block) continue;
            out.write(text.data(), std::ssize(text));
            text.clear();
        }
    }
    out.write(text.data(), std::ssize(text));
}

template void MatrixMarketReader::read(View<float>);
template void MatrixMarketReader::read(View<double>);
template void write_matrix_market(std::ostream&, View<const float>);
template void write_matrix_market(std::ostream&, View<const double>);

}  // namespace basalt
