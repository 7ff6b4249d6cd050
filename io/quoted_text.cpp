#include "io/quoted_text.hpp"

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

}  // namespace basalt
