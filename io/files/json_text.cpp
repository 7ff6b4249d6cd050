#include "io/files/json_text.hpp"

#include <algorithm>
#include <stdexcept>

#include <fmt/format.h>

#include "io/files/quoted_text.hpp"

namespace basalt {

namespace {

using Json = nlohmann::ordered_json;

constexpr int most_levels = 64;

}  // namespace

Json parse_json(std::string_view text) {
    const auto check_depth = [](int depth, Json::parse_event_t, Json&) {
        if (depth <= most_levels) return true;
        throw std::runtime_error(fmt::format("objects and lists more than {} deep in each other", most_levels));
    };
    try {
        return Json::parse(text.begin(), text.end(), check_depth);
    } catch (const Json::parse_error& error) {
        const std::size_t end = std::min(error.byte > 0 ? error.byte - 1 : 0, text.size());
        const auto line = 1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(end), '\n');
        throw std::runtime_error(fmt::format("line {}: no JSON: {}", line, json_error_reason(error.what())));
    } catch (const Json::exception& error) {  // a number that no double can hold
        throw std::runtime_error("no JSON: " + json_error_reason(error.what()));
    }
}

// "[json.exception.NAME] parse error at line L, column C: REASON; last read: 'TEXT'; expected KIND"
std::string json_error_reason(std::string_view what) {
    constexpr std::string_view last_read = "; last read: '";
    const auto drop_up_to = [&what](std::string_view mark) {
        if (const auto at = what.find(mark); at != what.npos) what.remove_prefix(at + mark.size());
    };
    drop_up_to("] ");
    if (what.starts_with("parse error")) drop_up_to(": ");
    const auto reason = std::string(what.substr(0, what.find(last_read)));
    if (reason.size() == what.size()) return cut_text(reason);
    drop_up_to(last_read);
    const auto expected = what.rfind("'; expected ");
    const auto end = expected != what.npos ? expected : what.rfind('\'');
    return fmt::format("{} near {}{}", reason, quoted_text(what.substr(0, end)),
                       expected != what.npos ? what.substr(expected + 1) : "");
}

std::string short_json(const Json& value) {
    return cut_text(value.dump(-1, ' ', true, Json::error_handler_t::replace));
}

}  // namespace basalt
