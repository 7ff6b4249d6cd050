#include "apps/output_files.hpp"

#include <filesystem>
#include <iostream>
#include <system_error>

#include <fmt/format.h>

#include "apps/exit_status.hpp"
#include "io/trace_file.hpp"

namespace basalt {

void require_writable(const std::string& path, const std::string& origin) {
    std::error_code ignored;
    const bool existed = std::filesystem::exists(std::filesystem::symlink_status(path, ignored));
    if (!std::ofstream(path, std::ios::app)) {
        throw WrongUse(
            fmt::format("{} = \"{}\" cannot be written; allowed: a file in an existing folder", origin, path));
    }
    if (!existed) std::filesystem::remove(path, ignored);
}

OutputFiles::OutputFiles(const Settings& settings) : human_(&std::cout), trace_path_(settings.text("BASALT_TRACE")) {
    if (!trace_path_.empty()) require_writable(trace_path_, settings.value("BASALT_TRACE").origin);
    const auto& json = settings.value("BASALT_JSON");
    if (json.text.empty()) return;
    if (json.text == "-") {
        human_ = &std::cerr;
    } else {
        require_writable(json.text, json.origin);
    }
    records_.emplace(json.text, std::cout);
}

void OutputFiles::record(const JsonRecord& record) {
    if (records_) records_->write(record);
}

void OutputFiles::begin_trace(Runtime& runtime) {
    if (!trace_path_.empty()) runtime.start_trace();
}

void OutputFiles::end_trace(Runtime& runtime) {
    if (trace_path_.empty()) return;
    std::ofstream out(trace_path_);
    write_chrome_trace(out, runtime.take_trace());
    if (!out.flush()) throw MachineFailure(trace_path_ + ": the trace could not be written");
}

}  // namespace basalt
