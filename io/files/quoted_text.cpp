#include "io/files/quoted_text.hpp"

#include <fmt/format.h>

namespace basalt {

std::string quoted_text(std::string_view text) {
    constexpr std::size_t shown = 40;
    std::string out = "\"";
    for (const char c : text.substr(0, shown)) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte < 0x20 || byte > 0x7e) {
            out += fmt::format("\\x{:02x}", byte);
        } else {
            if (c == '"' || c == '\\') out += '\\';
            out += c;
        }
    }
    return out + (text.size() > shown ? "...\"" : "\"");
}

std::string cut_text(std::string_view text) {
    constexpr std::size_t shown = 100;
    if (text.size() <= shown) return std::string(text);
    std::size_t end = shown;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;  // not within a UTF-8 character
    return std::string(text.substr(0, end)) + "...";
}

}  // namespace basalt
