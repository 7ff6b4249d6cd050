#include "io/hpl/hpl_dat.hpp"

#include <charconv>
#include <cmath>
#include <istream>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "io/files/quoted_text.hpp"

namespace basalt {

namespace {

std::vector<std::string_view> words_of(std::string_view line) {
    constexpr std::string_view blanks = " \t";
    std::vector<std::string_view> words;
    for (auto begin = line.find_first_not_of(blanks); begin != line.npos;) {
        const auto end = std::min(line.find_first_of(blanks, begin), line.size());
        words.push_back(line.substr(begin, end - begin));
        begin = line.find_first_not_of(blanks, end);
    }
    return words;
}

/// Whether the whole word is one number; otherwise `value` is unspecified.
template <class T>
bool parse_whole(std::string_view word, T& value) {
    if (word.size() > 1 && word[0] == '+' && word[1] != '-') word.remove_prefix(1);  // from_chars rejects a plus
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    return error == std::errc() && end == word.data() + word.size();
}

bool is_integer_too_large(std::string_view word) {
    Index ignored = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), ignored);
    return error == std::errc::result_out_of_range && end == word.data() + word.size();
}

struct Range {
    Index low;
    Index high;

    bool contains(Index value) const { return low <= value && value <= high; }
    std::string text() const { return fmt::format("allowed: {} to {}", low, high); }
};

/// Reads the file line by line and adds the line number to messages.
class Reader {
  public:
    Reader(std::istream& in, const std::string& name) : in_(in), name_(name) {}

    void skip_title() { next_line("a title"); }
    std::string file_name() {
        next_line("the output file's name");
        return words_.empty() ? std::string() : std::string(words_[0]);
    }
    int device(const std::string& output_file);
    Index integer(const std::string& what, Range range);
    bool flag(const std::string& what) { return integer(what, {0, 1}) != 0; }
    double threshold();
    std::vector<Index> list(const std::string& what, Range range) { return values(what, count(what), range); }
    Index count(const std::string& what) { return integer("number of " + what + "s", {1, HplLimits::values}); }
    std::vector<Index> values(const std::string& what, Index count, Range range);
    [[noreturn]] void fail(const std::string& message) const {
        throw HplDatError(fmt::format("{}:{}: {}", name_, line_number_, message));
    }

  private:
    void next_line(const std::string& what);
    std::string_view first_word(const std::string& what);
    Index checked_integer(const std::string& what, std::string_view word, Range range) const;

    std::istream& in_;
    const std::string& name_;
    int line_number_ = 0;
    std::string line_;
    std::vector<std::string_view> words_;
};

void Reader::next_line(const std::string& what) {
    ++line_number_;
    line_.clear();
    words_.clear();
    int c = in_.get();
    if (c == std::istream::traits_type::eof()) {
        fail(fmt::format("the {}; expected {} (an HPL.dat has 31 lines)",
                         line_number_ == 1 ? "file is empty" : "file ends before this line", what));
    }
    // Bounded: one character beyond the limit, or a CR, is the last one that is read.
    for (; c != '\n' && c != std::istream::traits_type::eof(); c = in_.get()) {
        line_ += static_cast<char>(c);
        if (line_.size() > HplLimits::line_length + 1) break;
    }
    if (!line_.empty() && line_.back() == '\r') line_.pop_back();
    if (line_.size() > HplLimits::line_length) {
        fail(fmt::format("the line is longer than HPL's line buffer: {}; allowed: at most {} characters",
                         quoted_text(line_), HplLimits::line_length));
    }
    for (std::size_t i = 0; i < line_.size(); ++i) {
        const auto byte = static_cast<unsigned char>(line_[i]);
        if ((byte < 0x20 && byte != '\t') || byte == 0x7f) {
            fail(fmt::format("byte 0x{:02x} in column {} of {}; allowed: text", byte, i + 1, quoted_text(line_)));
        }
    }
    words_ = words_of(line_);
}

std::string_view Reader::first_word(const std::string& what) {
    next_line(what);
    if (words_.empty()) fail(fmt::format("the line is blank; expected {}", what));
    return words_[0];
}

Index Reader::checked_integer(const std::string& what, std::string_view word, Range range) const {
    Index value = 0;
    if (!parse_whole(word, value)) {
        const auto* reason = is_integer_too_large(word) ? "is too large" : "is not an integer";
        fail(fmt::format("{} = {} {}; {}", what, quoted_text(word), reason, range.text()));
    }
    if (!range.contains(value)) fail(fmt::format("{} = {} is out of range; {}", what, value, range.text()));
    return value;
}

Index Reader::integer(const std::string& what, Range range) {
    const auto word = first_word(what);
    return checked_integer(what, word, range);
}

int Reader::device(const std::string& output_file) {
    const auto word = first_word("the output device");
    const Range range{0, HplLimits::integer};
    const Index value = word == "file" ? 0 : checked_integer("output device", word, range);
    if (value != 6 && value != 7 && output_file.empty()) {
        fail(fmt::format("output device = {} writes to a file, but line {} names none; allowed: 6 (stdout), 7 (stderr)",
                         quoted_text(word), line_number_ - 1));
    }
    return static_cast<int>(value);
}

double Reader::threshold() {
    const auto word = first_word("the threshold");
    double value = 0;
    if (!parse_whole(word, value) || !(std::abs(value) <= HplLimits::threshold)) {
        fail(fmt::format("threshold = {}; allowed: a number from {:.0f} to {:.0f} (0 and less: no check)",
                         quoted_text(word), -HplLimits::threshold, HplLimits::threshold));
    }
    return value;
}

std::vector<Index> Reader::values(const std::string& what, Index count, Range range) {
    next_line("the values of " + what);
    std::vector<Index> result;
    for (Index i = 0; i < count; ++i) {
        const auto where = fmt::format("{} number {} of {}", what, i + 1, count);
        if (i >= std::ssize(words_)) fail(fmt::format("{} is missing; {}", where, range.text()));
        result.push_back(checked_integer(count == 1 ? what : where, words_[i], range));
    }
    return result;
}

template <class Enum>
std::vector<Enum> as_enum(const std::vector<Index>& numbers) {
    std::vector<Enum> result;
    for (const Index number : numbers) result.push_back(static_cast<Enum>(number));
    return result;
}

std::vector<HplGrid> read_grids(Reader& reader) {
    const Range positive{1, HplLimits::integer};
    const Index count = reader.count("process grid");
    const auto p = reader.values("P", count, positive);
    const auto q = reader.values("Q", count, positive);
    std::vector<HplGrid> grids;
    for (Index i = 0; i < count; ++i) {
        if (p[i] > HplLimits::integer / q[i]) {
            reader.fail(fmt::format("{} x {} processes; allowed: P x Q at most {}", p[i], q[i], HplLimits::integer));
        }
        grids.push_back({p[i], q[i]});
    }
    return grids;
}

}  // namespace

HplInput read_hpl_dat(std::istream& in, const std::string& name) {
    const Range any{0, HplLimits::integer};
    const Range positive{1, HplLimits::integer};
    Reader reader(in, name);
    HplInput input;
    reader.skip_title();
    reader.skip_title();
    input.output_file = reader.file_name();
    input.device = reader.device(input.output_file);
    input.sizes = reader.list("N", {0, HplLimits::problem_size});
    input.block_sizes = reader.list("NB", positive);
    input.order = static_cast<HplOrder>(reader.integer("PMAP", {0, 1}));
    input.grids = read_grids(reader);
    input.threshold = reader.threshold();
    input.panel_factors = as_enum<HplFactor>(reader.list("PFACT", {0, 2}));
    input.stop_sizes = reader.list("NBMIN", positive);
    input.divisions = reader.list("NDIV", {2, HplLimits::integer});
    input.recursive_factors = as_enum<HplFactor>(reader.list("RFACT", {0, 2}));
    input.broadcasts = as_enum<HplBroadcast>(reader.list("BCAST", {0, 5}));
    input.depths = reader.list("DEPTH", any);
    if (hpl_case_count(input) > HplLimits::cases) {
        reader.fail(fmt::format("the lists up to here ask for {} tests; allowed: at most {}", hpl_case_count(input),
                                HplLimits::cases));
    }
    input.swap = static_cast<HplSwap>(reader.integer("SWAP", {0, 2}));
    input.swap_threshold = reader.integer("swapping threshold", any);
    input.l1_transposed = !reader.flag("L1");
    input.u_transposed = !reader.flag("U");
    input.equilibrate = reader.flag("Equilibration");
    input.alignment = reader.integer("memory alignment", positive);
    return input;
}

Index hpl_case_count(const HplInput& input) {
    // At most 20^9 < 2^63.
    return std::ssize(input.grids) * std::ssize(input.sizes) * std::ssize(input.block_sizes) *
           std::ssize(input.depths) * std::ssize(input.broadcasts) * std::ssize(input.recursive_factors) *
           std::ssize(input.panel_factors) * std::ssize(input.stop_sizes) * std::ssize(input.divisions);
}

HplCase hpl_case(const HplInput& input, Index k) {
    // k is a number in mixed radix: the innermost loop is its last digit.
    const auto digit = [&k](const auto& list) {
        const Index count = std::ssize(list);
        return list[std::exchange(k, k / count) % count];
    };
    HplCase chosen;
    chosen.order = input.order;
    chosen.divisions = digit(input.divisions);
    chosen.stop_size = digit(input.stop_sizes);
    chosen.panel_factor = digit(input.panel_factors);
    chosen.recursive_factor = digit(input.recursive_factors);
    chosen.broadcast = digit(input.broadcasts);
    chosen.depth = digit(input.depths);
    chosen.nb = digit(input.block_sizes);
    chosen.n = digit(input.sizes);
    chosen.grid = digit(input.grids);
    return chosen;
}

}  // namespace basalt
