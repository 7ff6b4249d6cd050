#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace basalt {

/// The JSON document `text`. Throws std::runtime_error, with the line, for text that is no JSON and for one with
/// objects and lists more than 64 deep in each other: to copy, print or destroy it would take stack for each level.
nlohmann::ordered_json parse_json(std::string_view text);

/// What nlohmann-json says of a syntax error, without its position, and with the bytes at fault quoted and cut.
std::string json_error_reason(std::string_view what);

/// A value as JSON, for a message: cut where it is long.
std::string short_json(const nlohmann::ordered_json& value);

}  // namespace basalt
