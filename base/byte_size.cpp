#include "base/byte_size.hpp"

#include <charconv>
#include <limits>

namespace basalt {

std::optional<std::size_t> parse_byte_size(std::string_view text) {
    constexpr std::string_view suffixes = "KMGT";
    int shift = 0;
    if (!text.empty()) {
        const auto suffix = suffixes.find(text.back());
        if (suffix != suffixes.npos) {
            shift = 10 * (static_cast<int>(suffix) + 1);
            text.remove_suffix(1);
        }
    }
    std::size_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    if (number > std::numeric_limits<std::size_t>::max() >> shift) return std::nullopt;
    return number << shift;
}

}  // namespace basalt
