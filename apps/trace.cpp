#include <iostream>
#include <memory>

#include <fmt/format.h>

#include "apps/commands.hpp"
#include "apps/exit_status.hpp"
#include "apps/input_files.hpp"
#include "apps/output_files.hpp"
#include "apps/setting_options.hpp"
#include "apps/trace_json.hpp"
#include "apps/trace_text.hpp"
#include "io/trace_chart.hpp"
#include "io/trace_reader.hpp"

namespace basalt {

namespace {

struct TraceOptions {
    std::string file;
    std::string chart;
};

Trace read_trace(const std::string& path) {
    std::ifstream in = open_input(path, "a file that --trace wrote");
    try {
        return read_chrome_trace(in, path);
    } catch (const TraceFileError& error) {
        throw WrongUse(error.what());
    }
}

void write_chart(const std::string& path, const Trace& trace, const std::string& title) {
    std::ofstream out(path);
    write_trace_chart(out, trace, title);
    if (!out.flush()) throw MachineFailure(path + ": the chart could not be written");
}

int trace(const TraceOptions& options, const Settings& settings) {
    OutputFiles files(settings);
    const Trace trace = read_trace(options.file);
    if (!options.chart.empty()) require_writable(options.chart, "--svg");
    const TraceSummary summary = summarize(trace);
    print_summary(files.human(), summary, options.file);
    files.record(to_json(summary, options.file));
    if (!options.chart.empty()) write_chart(options.chart, trace, options.file);
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
