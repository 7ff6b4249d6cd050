#include "apps/trace/text.hpp"

#include <algorithm>
#include <array>
#include <ostream>
#include <string_view>

#include <fmt/format.h>

#include "io/files/duration_text.hpp"

namespace basalt {

namespace {

constexpr std::int64_t step_lines = 20;

template <class... Args>
void print(std::ostream& out, fmt::format_string<Args...> format, Args&&... args) {
    out << fmt::format(format, std::forward<Args>(args)...);
}

double share(std::int64_t part, double whole) { return whole > 0 ? 100 * static_cast<double>(part) / whole : 0; }

std::string bytes_text(std::int64_t bytes) {
    const auto value = static_cast<double>(bytes);
    if (value >= 1e9) return fmt::format("{:.4g} GB", value * 1e-9);
    if (value >= 1e6) return fmt::format("{:.4g} MB", value * 1e-6);
    return fmt::format("{:.4g} kB", value * 1e-3);
}

const char* place_name(TraceRowKind kind) {
    constexpr std::array<const char*, 3> names = {"cores", "GPUs", "copies"};
    return names[static_cast<std::size_t>(kind)];
}

void print_busy(std::ostream& out, const TraceSummary& summary) {
    const auto span = static_cast<double>(summary.span_ns);
    print(out, "\nbusy share of the whole time\n  {:<18} {:>7} {:>9}\n", "", "busy", "idle");
    if (!summary.cores.empty()) {
        const auto by_time = [](const RowBusy& a, const RowBusy& b) { return a.busy_ns < b.busy_ns; };
        const auto [least, most] = std::minmax_element(summary.cores.begin(), summary.cores.end(), by_time);
        std::int64_t sum = 0;
        for (const RowBusy& core : summary.cores) sum += core.busy_ns;
        const double busy = share(sum, span * static_cast<double>(summary.cores.size()));
        print(out, "  {:<18} {:>5.1f} % {:>7.1f} %   least {} {:.1f} %, most {} {:.1f} %\n",
              fmt::format("cores ({})", summary.cores.size()), busy, 100 - busy, least->name,
              share(least->busy_ns, span), most->name, share(most->busy_ns, span));
    }
    for (const DeviceSummary& device : summary.devices) {
        const double busy = share(device.busy_ns, span);
        print(out, "  {:<18} {:>5.1f} % {:>7.1f} %   {} tasks\n", device.name, busy, 100 - busy, device.tasks);
    }
}

void print_gap_line(std::ostream& out, std::string_view label, const GapStatistics& gaps) {
    print(out, "  {:<24} {:>8} {:>10} {:>10} {:>10} {:>10}\n", label, gaps.count, duration_text(gaps.median_ns),
          duration_text(gaps.percentile90_ns), duration_text(gaps.longest_ns), duration_text(gaps.total_ns));
}

void print_gaps(std::ostream& out, const TraceSummary& summary) {
    print(out,
          "\ngaps between dependent tasks of a device\n"
          "  Counted are tasks with a known predecessor that ran on the same device: from the latest end of all known\n"
          "  predecessors, wherever they ran, to the task's begin, unless the device computed something in between.\n"
          "  Predecessors that the trace does not name are unknown, and may make a gap look longer than it was.\n"
          "  {:<24} {:>8} {:>10} {:>10} {:>10} {:>10}\n",
          "", "gaps", "median", "90 %", "max", "sum");
    for (const DeviceSummary& device : summary.devices) {
        const DependentGaps& gaps = device.gaps;
        print_gap_line(out, device.name, gaps.counted);
        if (gaps.after_elsewhere.count > 0) print_gap_line(out, "  last waited elsewhere", gaps.after_elsewhere);
        print(out, "    of {} dependent tasks; computing in between: {}; begun early by the clocks, taken as 0: {}\n",
              gaps.tasks, gaps.busy_between, gaps.early);
    }
}

void print_hidden(std::ostream& out, const TraceSummary& summary) {
    print(out,
          "\ncopy time hidden behind computation\n"
          "  Share of the time in which a device's copy engines were copying in which it was computing as well.\n");
    std::int64_t copying = 0;
    std::int64_t hidden = 0;
    for (const DeviceSummary& device : summary.devices) {
        copying += device.copy_ns;
        hidden += device.hidden_ns;
        if (device.copy_ns > 0) {
            print(out, "  {:<18} {:>10} copying, {:>5.1f} % hidden\n", device.name, duration_text(device.copy_ns),
                  share(device.hidden_ns, static_cast<double>(device.copy_ns)));
        }
    }
    if (copying == 0) {
        print(out, "  no copies on devices\n");
    } else if (summary.devices.size() > 1) {
        print(out, "  {:<18} {:>10} copying, {:>5.1f} % hidden\n", "all", duration_text(copying),
              share(hidden, static_cast<double>(copying)));
    }
}

void print_copies(std::ostream& out, const TraceSummary& summary) {
    print(out, "\ncopies by direction\n  {:<18} {:<8} {:>8} {:>10} {:>10} {:>16}\n", "", "", "copies", "bytes", "time",
          "while copying");
    for (const CopyTime& copy : summary.directions) {
        const auto seconds = static_cast<double>(copy.busy_ns) * 1e-9;
        const std::string rate =
            seconds > 0 ? fmt::format("{:.4g} GB/s", static_cast<double>(copy.bytes) * 1e-9 / seconds) : "";
        print(out, "  {:<18} {:<8} {:>8} {:>10} {:>10} {:>16}\n", copy.direction,
              copy.device ? fmt::format("gpu {}", *copy.device) : "", copy.count, bytes_text(copy.bytes),
              duration_text(copy.busy_ns), rate);
    }
}

void print_names(std::ostream& out, const TraceSummary& summary) {
    std::int64_t all = 0;
    for (const NameTime& time : summary.names) all += time.total_ns;
    print(out, "\ntime by kind of task (without what ran inside it)\n  {:<24} {:<7} {:>9} {:>10} {:>8} {:>10} {:>10}\n",
          "", "on", "count", "time", "share", "mean", "max");
    for (const NameTime& time : summary.names) {
        print(out, "  {:<24} {:<7} {:>9} {:>10} {:>6.1f} % {:>10} {:>10}\n", time.name, place_name(time.where),
              time.count, duration_text(time.total_ns), share(time.total_ns, static_cast<double>(all)),
              duration_text(static_cast<double>(time.total_ns) / static_cast<double>(time.count)),
              duration_text(time.longest_ns));
    }
}

void print_block_states(std::ostream& out, const TraceSummary& summary) {
    std::int64_t all = 0;
    for (const BlockStateTime& time : summary.block_states) all += time.total_ns;
    print(out, "\ntime by state of {} blocks inside kernels\n  {:<24} {:>9} {:>10} {:>8} {:>10} {:>10}\n",
          summary.blocks, "", "count", "time", "share", "mean", "max");
    for (const BlockStateTime& time : summary.block_states) {
        print(out, "  {:<24} {:>9} {:>10} {:>6.1f} % {:>10} {:>10}\n", time.name, time.count,
              duration_text(time.total_ns), share(time.total_ns, static_cast<double>(all)),
              duration_text(static_cast<double>(time.total_ns) / static_cast<double>(time.count)),
              duration_text(time.longest_ns));
    }
}

void print_spans(std::ostream& out, const TraceSummary& summary) {
    print(out, "\ntime by span of the program (with what ran inside it)\n  {:<24} {:>9} {:>10} {:>10} {:>10}\n", "",
          "count", "time", "mean", "max");
    for (const SpanTime& time : summary.spans) {
        print(out, "  {:<24} {:>9} {:>10} {:>10} {:>10}\n", time.name, time.count, duration_text(time.total_ns),
              duration_text(static_cast<double>(time.total_ns) / static_cast<double>(time.count)),
              duration_text(time.longest_ns));
    }
}

void print_counters(std::ostream& out, const TraceSummary& summary) {
    print(out, "\ncounters of the program\n  {:<24} {:>9} {:>12} {:>12} {:>12}\n", "", "values", "min", "max", "last");
    for (const CounterValues& values : summary.counters) {
        print(out, "  {:<24} {:>9} {:>12.6g} {:>12.6g} {:>12.6g}\n", values.name, values.count, values.least,
              values.most, values.last);
    }
}

/// The sum of the steps [first, last] of the list.
StepTime merged(const std::vector<StepTime>& steps, std::size_t first, std::size_t last) {
    StepTime sum = steps[first];
    for (std::size_t i = first + 1; i <= last; ++i) {
        const StepTime& step = steps[i];
        sum.count += step.count;
        sum.begin_ns = std::min(sum.begin_ns, step.begin_ns);
        sum.end_ns = std::max(sum.end_ns, step.end_ns);
        sum.cpu_ns += step.cpu_ns;
        sum.compute_ns += step.compute_ns;
        sum.copy_ns += step.copy_ns;
    }
    return sum;
}

void print_step(std::ostream& out, const std::string& label, const StepTime& step) {
    print(out, "  {:<14} {:>9} {:>10} {:>10} {:>10} {:>10} {:>10} {:>10}\n", label, step.count,
          duration_text(step.begin_ns), duration_text(step.end_ns), duration_text(step.end_ns - step.begin_ns),
          duration_text(step.cpu_ns), duration_text(step.compute_ns), duration_text(step.copy_ns));
}

void print_steps(std::ostream& out, const TraceSummary& summary) {
    const auto& steps = summary.steps;
    const std::size_t unnumbered = !steps.empty() && !steps.front().step ? 1 : 0;
    if (steps.size() == unnumbered) return;
    const auto count = static_cast<std::int64_t>(steps.size() - unnumbered);
    const auto group = static_cast<std::size_t>((count + step_lines - 1) / step_lines);
    print(out, "\ntime by step\n  {:<14} {:>9} {:>10} {:>10} {:>10} {:>10} {:>10} {:>10}\n", "", "bars", "begin", "end",
          "lasts", "cores", "GPUs", "copies");
    for (std::size_t first = unnumbered; first < steps.size(); first += group) {
        const std::size_t last = std::min(first + group, steps.size()) - 1;
        print_step(out,
                   first == last ? fmt::format("{}", *steps[first].step)
                                 : fmt::format("{} to {}", *steps[first].step, *steps[last].step),
                   merged(steps, first, last));
    }
    if (unnumbered == 1) print_step(out, "none", steps.front());
}

void print_waits(std::ostream& out, const TraceSummary& summary) {
    print(out, "\nlongest times in which a device computed nothing, and what ended them\n");
    for (const DeviceSummary& device : summary.devices) {
        for (const IdleStretch& wait : device.waits) {
            print(out, "  {:<10} {:>10} at {:>10}: ", device.name, duration_text(wait.length_ns),
                  duration_text(wait.begin_ns));
            if (wait.ended_by.empty()) {
                print(out, "nothing more to compute\n");
                continue;
            }
            print(out, "{}{}", wait.ended_by, wait.step ? fmt::format(" (step {})", *wait.step) : "");
            if (wait.waited_for.empty()) {
                print(out, ", no known predecessor\n");
            } else {
                print(out, ", {} after {} on {} ended\n", duration_text(wait.since_ns), wait.waited_for,
                      wait.waited_on);
            }
        }
    }
}

}  // namespace

void print_summary(std::ostream& out, const TraceSummary& summary, const std::string& title) {
    print(out, "{}: {} tasks and {} copies in {}\n", title, summary.tasks, summary.copies,
          duration_text(summary.span_ns));
    if (!summary.block_states.empty()) print_block_states(out, summary);
    if (!summary.spans.empty()) print_spans(out, summary);
    if (!summary.counters.empty()) print_counters(out, summary);
    if (summary.tasks + summary.copies == 0) return;
    print_busy(out, summary);
    if (!summary.devices.empty()) {
        print_gaps(out, summary);
        print_hidden(out, summary);
    }
    if (summary.copies > 0) print_copies(out, summary);
    print_names(out, summary);
    print_steps(out, summary);
    if (!summary.devices.empty()) print_waits(out, summary);
}

}  // namespace basalt
