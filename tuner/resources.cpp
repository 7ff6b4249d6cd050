#include <charconv>
#include <optional>
#include <stdexcept>

#include "tuner/compiler.hpp"

namespace basalt::tuner {

namespace {

/// The number in front of `words`, e.g. 90 of "Used 90 registers" for " registers". nullopt where it is not there.
std::optional<std::size_t> number_before(std::string_view log, std::string_view words) {
    const std::size_t end = log.find(words);
    if (end == std::string_view::npos) return std::nullopt;
    std::size_t begin = end;
    while (begin > 0 && log[begin - 1] >= '0' && log[begin - 1] <= '9') --begin;
    std::size_t number = 0;
    const auto [last, error] = std::from_chars(log.data() + begin, log.data() + end, number);
    if (error != std::errc() || last != log.data() + end) return std::nullopt;
    return number;
}

}  // namespace

void read_resources(std::string_view log, Compiled& compiled) {
    const std::optional<std::size_t> registers = number_before(log, " registers");
    if (!registers) throw std::runtime_error("the compiler says nothing of registers: " + std::string(log));
    compiled.registers = static_cast<int>(*registers);
    compiled.spill_bytes =
        number_before(log, " bytes spill stores").value_or(0) + number_before(log, " bytes spill loads").value_or(0);
    compiled.shared_bytes = number_before(log, " bytes smem").value_or(0);
}

}  // namespace basalt::tuner
