#include "io/files/progress_line.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace basalt {

namespace {

constexpr int widest_bar = 30;
constexpr int narrowest_bar = 5;
constexpr int brackets = 3;  // and the space behind them

}  // namespace

std::string progress_line(const RunProgress& progress, int columns) {
    const double share = std::clamp(progress.done_flops / progress.total_flops, 0.0, 1.0);
    const double seconds_left = std::max(progress.total_flops - progress.done_flops, 0.0) / progress.rate;
    const std::string percentage = fmt::format("{:.0f} %", 100 * share);
    const std::string rate = fmt::format(", {:.1f} Gflop/s", progress.rate * 1e-9);
    const std::string left = fmt::format("{:.0f} s left", seconds_left);
    const std::array texts = {percentage + rate + ", about " + left, percentage + rate + ", " + left,
                              percentage + ", " + left, percentage};
    for (const std::string& text : texts) {
        const int room = columns - brackets - static_cast<int>(text.size());
        if (room < narrowest_bar) continue;
        const int bar = std::min(room, widest_bar);
        const int filled = static_cast<int>(bar * share);
        return fmt::format("[{:#<{}}{:.<{}}] {}", "", filled, "", bar - filled, text);
    }
    return percentage.substr(0, static_cast<std::size_t>(std::max(columns, 0)));
}

}  // namespace basalt
