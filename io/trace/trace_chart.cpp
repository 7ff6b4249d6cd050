#include "io/trace/trace_chart.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <map>
#include <numeric>
#include <ostream>
#include <string_view>
#include <tuple>
#include <vector>

#include <fmt/format.h>

#include "io/files/duration_text.hpp"
#include "io/trace/device_timeline.hpp"
#include "io/trace/intervals.hpp"
#include "io/trace/trace_summary.hpp"

namespace basalt {

namespace {

// Pixels.
constexpr double plot_left = 150;
constexpr double plot_width = 1600;
constexpr double right_margin = 60;
constexpr double title_height = 24;
constexpr double legend_line = 18;
constexpr double legend_width_of_letter = 6.5;
constexpr double row_height = 16;
constexpr double bar_height = 13;
constexpr double axis_height = 30;
constexpr double titled_width = 4;  // narrower bars have no title: they are hard to point at

constexpr std::array<std::string_view, 12> palette = {"#4e79a7", "#f28e2b", "#59a14f", "#e15759", "#76b7b2", "#edc948",
                                                      "#b07aa1", "#9c755f", "#ff9da7", "#86bcb6", "#d37295", "#a0cbe8"};
constexpr std::string_view colour_of_the_rest = "#bab0ac";
/// Colours of the states of blocks, lighter than those of tasks.
constexpr std::array<std::string_view, 12> state_palette = {"#aec7e8", "#ffbb78", "#98df8a", "#ff9896",
                                                            "#c5b0d5", "#c49c94", "#f7b6d2", "#dbdb8d",
                                                            "#9edae5", "#393b79", "#8c6d31", "#c7c7c7"};
constexpr std::size_t rest = palette.size(), first_state = rest + 1, colour_count = first_state + state_palette.size();

std::string_view fill_of(std::size_t number) {
    return number < rest ? palette[number] : number == rest ? colour_of_the_rest : state_palette[number - first_state];
}

std::string escaped(std::string_view text) {
    std::string out;
    for (const char c : text) {
        switch (c) {
            case '&': out += "&amp;"; break;
            case '<': out += "&lt;"; break;
            case '>': out += "&gt;"; break;
            case '"': out += "&quot;"; break;
            default: out += static_cast<unsigned char>(c) < 0x20 ? '?' : c;
        }
    }
    return out;
}

/// Numbers the `most` names that take most time, from `first` on, in alphabetical order: charts of similar runs use the
/// same colours.
template <class Time>
std::map<std::string_view, std::size_t> colours_of(const std::vector<Time>& names, std::size_t first,
                                                   std::size_t most) {
    std::map<std::string_view, std::size_t> colours;
    for (const Time& time : names) {
        if (colours.size() < most) colours.emplace(time.name, 0);
    }
    for (auto& [name, colour] : colours) colour = first++;
    return colours;
}

/// Bars of one row, drawn from left to right.
class RowDrawing {
  public:
    struct Bar {
        double begin;  // pixels
        double end;
        std::size_t colour;
        const TraceEvent* event;
    };

    void add(const Bar& bar) {
        if (bar.end - bar.begin >= 1) {
            finish_pixel();
            (bar.end - bar.begin >= titled_width ? titled_ : plain_).push_back(bar);
        } else {
            add_small(bar);
        }
    }

    void write(fmt::memory_buffer& out) {
        finish_pixel();
        for (const Bar& bar : titled_) write_titled(out, bar);  // outer bars before the nested ones
        for (std::size_t colour = 0; colour < colour_count; ++colour) write_path(out, colour);
    }

  private:
    void add_small(const Bar& bar) {
        if (in_pixel_ && std::floor(bar.begin) != std::floor(pixel_.begin)) finish_pixel();
        if (!in_pixel_) {
            pixel_ = bar;
            shares_.fill(0);
            in_pixel_ = true;
        }
        pixel_.end = std::max(pixel_.end, bar.end);
        shares_[bar.colour] += bar.end - bar.begin;
    }

    /// Ends the merged bar of a pixel. If the previous bar has the same colour and ends here, it is made longer
    /// instead.
    void finish_pixel() {
        if (!in_pixel_) return;
        in_pixel_ = false;
        const auto most = std::max_element(shares_.begin(), shares_.end());
        pixel_.colour = static_cast<std::size_t>(most - shares_.begin());
        pixel_.end = std::max(pixel_.end, pixel_.begin + 0.3);  // otherwise it would be invisible
        if (!plain_.empty() && plain_.back().colour == pixel_.colour && pixel_.begin - plain_.back().end < 0.5) {
            plain_.back().end = std::max(plain_.back().end, pixel_.end);
        } else {
            plain_.push_back(pixel_);
        }
    }

    void write_path(fmt::memory_buffer& out, std::size_t colour) const {
        bool open = false;
        for (const Bar& bar : plain_) {
            if (bar.colour != colour) continue;
            if (!open) fmt::format_to(std::back_inserter(out), "<path class=\"c{}\" d=\"", colour);
            open = true;
            fmt::format_to(std::back_inserter(out), "M{:.1f} 0h{:.1f}v{}h-{:.1f}z", bar.begin, bar.end - bar.begin,
                           bar_height, bar.end - bar.begin);
        }
        if (open) out.append(std::string_view("\"/>\n"));
    }

    static void write_titled(fmt::memory_buffer& out, const Bar& bar) {
        const TraceEvent& event = *bar.event;
        fmt::format_to(
            std::back_inserter(out),
            "<rect class=\"c{}\" x=\"{:.1f}\" width=\"{:.1f}\" height=\"{}\"><title>{}{}: {}</title></rect>\n",
            bar.colour, bar.begin, bar.end - bar.begin, bar_height, escaped(label_of(event)),
            event.step ? fmt::format(" (step {})", *event.step) : "", duration_text(event.end_ns - event.begin_ns));
    }

    std::vector<Bar> plain_;
    std::vector<Bar> titled_;
    bool in_pixel_ = false;
    Bar pixel_{};
    std::array<double, colour_count> shares_{};  // of the present pixel, by colour
};

class Chart {
  public:
    Chart(const Trace& trace, const std::string& title)
        : trace_(trace),
          title_(title),
          summary_(summarize(trace, 0)),
          colours_(colours_of(summary_.names, 0, palette.size())),
          state_colours_(colours_of(summary_.block_states, first_state, state_palette.size())) {}

    void write(std::ostream& out) {
        begin();
        legend();
        axis();
        double y = head();
        for (const std::size_t row : rows_in_order()) {
            draw_row(row, y);
            y += row_height;
        }
        print("</svg>\n");
        out.write(text_.data(), static_cast<std::streamsize>(text_.size()));
    }

  private:
    template <class... Args>
    void print(fmt::format_string<Args...> format, Args&&... args) {
        fmt::format_to(std::back_inserter(text_), format, std::forward<Args>(args)...);
    }

    double head() const { return title_height + legend_line * (state_colours_.empty() ? 1 : 2) + 2; }
    double bottom() const { return head() + row_height * static_cast<double>(rows_in_order().size()); }
    double x_of(std::int64_t time_ns) const {
        const auto span = static_cast<double>(std::max<std::int64_t>(summary_.span_ns, 1));
        return plot_left + static_cast<double>(time_ns - summary_.begin_ns) / span * plot_width;
    }
    std::size_t colour_of(const TraceEvent& event) const {
        const bool state = trace_.rows[static_cast<std::size_t>(event.row)].kind == TraceRowKind::block;
        const auto& known = state ? state_colours_ : colours_;
        const auto found = known.find(event.name);
        return found == known.end() ? rest : found->second;
    }

    void begin();
    void legend();
    void legend_of(const std::map<std::string_view, std::size_t>& names, bool others, double y);
    void axis();
    void draw_row(std::size_t index, double y);
    std::vector<std::size_t> rows_in_order() const;
    const std::vector<const TraceEvent*>& events_of(std::size_t row);

    const Trace& trace_;
    const std::string& title_;
    const TraceSummary summary_;
    const std::map<std::string_view, std::size_t> colours_;
    const std::map<std::string_view, std::size_t> state_colours_;
    std::vector<std::vector<const TraceEvent*>> events_;  // by row and begin
    fmt::memory_buffer text_;
};

void Chart::begin() {
    const double width = plot_left + plot_width + right_margin;
    const double height = bottom() + axis_height;
    print(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" "
        "font-family=\"sans-serif\" font-size=\"11\">\n<style>",
        width, height);
    for (std::size_t i = 0; i < colour_count; ++i) print(".c{}{{fill:{}}}", i, fill_of(i));
    print("</style>\n<rect width=\"{}\" height=\"{}\" fill=\"white\"/>\n", width, height);
    print("<text x=\"8\" y=\"16\" font-size=\"13\">{}: {} tasks and {} copies in {}</text>\n", escaped(title_),
          summary_.tasks, summary_.copies, duration_text(summary_.span_ns));
}

/// One line for tasks and copies, one for the states of blocks.
void Chart::legend() {
    const auto any_other = [](const auto& times, const auto& known) {
        return std::any_of(times.begin(), times.end(), [&](const auto& time) { return known.count(time.name) == 0; });
    };
    legend_of(colours_, any_other(summary_.names, colours_), title_height);
    legend_of(state_colours_, any_other(summary_.block_states, state_colours_), title_height + legend_line);
}

void Chart::legend_of(const std::map<std::string_view, std::size_t>& names, bool others, double y) {
    double x = plot_left;
    const auto entry = [&](std::size_t colour, std::string_view name) {
        print(
            "<rect class=\"c{}\" x=\"{:.0f}\" y=\"{}\" width=\"10\" height=\"10\"/><text x=\"{:.0f}\" "
            "y=\"{}\">{}</text>\n",
            colour, x, y + 2, x + 14, y + 11, escaped(name));
        x += 30 + legend_width_of_letter * static_cast<double>(name.size());
    };
    for (const auto& [name, colour] : names) entry(colour, name);
    if (others) entry(rest, "others");
}

/// A grid line at every 1, 2 or 5 times a power of ten, so that there are about ten.
void Chart::axis() {
    const auto span = static_cast<double>(std::max<std::int64_t>(summary_.span_ns, 10));
    const double power = std::pow(10.0, std::floor(std::log10(span / 10)));
    const double ratio = span / 10 / power;
    const double tick = power * (ratio <= 1 ? 1 : ratio <= 2 ? 2 : ratio <= 5 ? 5 : 10);
    for (double time = 0; time <= span; time += tick) {
        const double x = plot_left + time / span * plot_width;
        print(
            "<path d=\"M{0:.1f} {1}V{2}\" stroke=\"#ddd\"/><text x=\"{0:.1f}\" y=\"{3}\" "
            "text-anchor=\"middle\">{4}</text>\n",
            x, head(), bottom(), bottom() + 16, duration_text(static_cast<std::int64_t>(std::llround(time))));
    }
}

std::vector<std::size_t> Chart::rows_in_order() const {
    std::vector<std::size_t> order(trace_.rows.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    // they have no bars
    std::erase_if(order, [&](std::size_t row) { return trace_.rows[row].kind == TraceRowKind::thread; });
    const auto key = [&](std::size_t row) { return std::tuple(trace_.rows[row].kind, trace_.rows[row].device, row); };
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return key(a) < key(b); });
    return order;
}

const std::vector<const TraceEvent*>& Chart::events_of(std::size_t row) {
    if (events_.empty()) {
        events_.resize(trace_.rows.size());
        for (const TraceEvent& event : trace_.events) events_[static_cast<std::size_t>(event.row)].push_back(&event);
        for (auto& events : events_) {
            // Outer bars first, so that nested ones are drawn on top.
            std::sort(events.begin(), events.end(), [](const TraceEvent* a, const TraceEvent* b) {
                return std::pair(a->begin_ns, -a->end_ns) < std::pair(b->begin_ns, -b->end_ns);
            });
        }
    }
    return events_[row];
}

void Chart::draw_row(std::size_t index, double y) {
    RowDrawing drawing;
    std::vector<Interval> bars;
    for (const TraceEvent* event : events_of(index)) {
        bars.push_back({event->begin_ns, event->end_ns});
        drawing.add({x_of(event->begin_ns), x_of(event->end_ns), colour_of(*event), event});
    }
    const auto busy = static_cast<double>(length(united(std::move(bars))));
    const auto span = static_cast<double>(std::max<std::int64_t>(summary_.span_ns, 1));
    const double baseline = y + bar_height - 3;
    print("<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text><text x=\"{}\" y=\"{}\">{:.1f} %</text>\n",
          plot_left - 6, baseline, escaped(trace_.rows[index].name), plot_left + plot_width + 6, baseline,
          100 * busy / span);
    print("<g transform=\"translate(0,{})\">\n", y);
    drawing.write(text_);
    print("</g>\n");
}

}  // namespace

void write_trace_chart(std::ostream& out, const Trace& trace, const std::string& title) {
    Chart(trace, title).write(out);
}

}  // namespace basalt
