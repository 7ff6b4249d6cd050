#include "apps/input/arguments.hpp"

#include <algorithm>
#include <charconv>
#include <limits>

#include <fmt/format.h>

#include "apps/exit_status.hpp"
#include "base/byte_size.hpp"
#include "io/files/quoted_text.hpp"

namespace basalt {

namespace {

[[noreturn]] void refuse(std::string_view name, std::string_view text, std::string_view allowed) {
    throw WrongUse(fmt::format("{} = \"{}\"; allowed: {}", name, cut_text(text), allowed));
}

template <class T>
bool parse_whole(std::string_view text, T& value) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc() && end == text.data() + text.size();
}

}  // namespace

Index parse_integer(std::string_view name, std::string_view text, Index low, Index high, std::string_view note) {
    Index value = 0;
    if (parse_whole(text, value) && low <= value && value <= high) return value;
    refuse(name, text, fmt::format("{} to {}{}{}", low, high, note.empty() ? "" : ", ", note));
}

std::uint64_t parse_seed(std::string_view name, std::string_view text) {
    std::uint64_t value = 0;
    if (parse_whole(text, value)) return value;
    refuse(name, text, fmt::format("0 to {}", std::numeric_limits<std::uint64_t>::max()));
}

std::string parse_choice(std::string_view name, std::string_view text, const std::vector<std::string>& choices) {
    if (std::find(choices.begin(), choices.end(), text) == choices.end()) refuse(name, text, joined(choices));
    return std::string(text);
}

TileShape parse_tile(std::string_view name, std::string_view text, Index high) {
    if (text == "auto") return {};
    const auto cross = text.find('x');
    TileShape size;
    if (cross != text.npos && parse_whole(text.substr(0, cross), size.height) &&
        parse_whole(text.substr(cross + 1), size.width) && 1 <= size.height && size.height <= high && 1 <= size.width &&
        size.width <= high) {
        return size;
    }
    refuse(name, text, fmt::format("auto, or HEIGHTxWIDTH with both from 1 to {}, e.g. 512x1024", high));
}

std::size_t parse_bytes(std::string_view name, std::string_view text, std::string_view note) {
    if (const auto bytes = parse_byte_size(text)) return *bytes;
    refuse(name, text,
           fmt::format("bytes below 2^64, with K, M, G or T (powers of 1024) after the number or not, e.g. 512M{}{}",
                       note.empty() ? "" : "; ", note));
}

std::string joined(const std::vector<std::string>& words, std::string_view separator) {
    return fmt::format("{}", fmt::join(words, separator));
}

}  // namespace basalt
