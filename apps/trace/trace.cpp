#include <iostream>
#include <memory>
#include <optional>

#include <fmt/format.h>

#include "apps/commands.hpp"
#include "apps/exit_status.hpp"
#include "apps/input/input_files.hpp"
#include "apps/input/setting_options.hpp"
#include "apps/runs/output_files.hpp"
#include "apps/trace/json.hpp"
#include "apps/trace/text.hpp"
#include "io/trace/trace_chart.hpp"
#include "io/trace/trace_reader.hpp"

namespace basalt {

namespace {

struct TraceOptions {
    std::string file;
    std::optional<std::string> chart;
};

Trace read_trace(const std::string& path) {
    std::ifstream in = open_input(path, "a file that --trace wrote");
    try {
        return read_chrome_trace(in, path);
    } catch (const TraceFileError& error) {
        throw WrongUse(error.what());
    }
}

int trace(const TraceOptions& options, const Settings& settings) {
    OutputFiles files(settings);
    files.add_input("FILE", options.file);
    OutputFile* const chart = options.chart ? &files.open("--svg", *options.chart) : nullptr;
    const Trace trace = read_trace(options.file);
    const TraceSummary summary = summarize(trace);
    print_summary(files.human(), summary, options.file);
    files.record(to_json(summary, options.file));
    const auto draw = [&](std::ostream& out) { write_trace_chart(out, trace, options.file); };
    if (chart != nullptr) files.write(*chart, "the chart", draw);
    files.require_written();
    return exit_done;
}

}  // namespace

void add_trace(CLI::App& program, Settings& settings, Command& chosen) {
    auto* command = program.add_subcommand(
        "trace", "say where the time of a recorded trace went: busy shares, gaps, copies, steps, waits");
    const auto options = std::make_shared<TraceOptions>();
    command->add_option("FILE", options->file, "what --trace wrote, or another Chrome trace")->required();
    command->add_option("--svg", options->chart, "file that gets the Gantt chart")->type_name("FILE");
    add_setting_options(*command, settings, {"BASALT_JSON"});
    command->callback(
        [options, &settings, &chosen] { chosen = [options, &settings] { return trace(*options, settings); }; });
}

}  // namespace basalt
