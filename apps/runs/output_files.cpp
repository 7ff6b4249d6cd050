#include "apps/runs/output_files.hpp"

#include <algorithm>
#include <iostream>
#include <optional>
#include <system_error>

#include <fmt/format.h>

#include "apps/exit_status.hpp"
#include "io/trace/trace_file.hpp"

namespace basalt {

namespace {

/// nullopt for pipes and devices: they may serve any number of purposes.
std::optional<std::pair<dev_t, ino_t>> identity_of(int stat_result, const struct stat& status) {
    if (stat_result != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
    return std::pair(status.st_dev, status.st_ino);
}

/// The settings that name an input file: origin and path.
std::vector<std::pair<std::string, std::string>> input_settings(const Settings& settings) {
    std::vector<std::pair<std::string, std::string>> inputs;
    const auto add = [&](const char* variable, const std::string& path) {
        if (!path.empty()) inputs.emplace_back(settings.value(variable).origin, path);
    };
    add("BASALT_TUNING", settings.text("BASALT_TUNING"));
    add("BASALT_MODELS", settings.models_path());
    return inputs;
}

template <class Open>
auto opened(const std::string& origin, const std::string& path, const Open& open) {
    try {
        return open();
    } catch (const std::system_error& error) {
        throw WrongUse(fmt::format("{} = \"{}\": {}; allowed: a file in an existing folder", origin, path,
                                   error.code().message()));
    }
}

}  // namespace

OutputFiles::OutputFiles(const Settings& settings) : human_(&std::cout) {
    const auto& trace = settings.value("BASALT_TRACE");
    if (!trace.text.empty()) trace_ = &open(trace.origin, trace.text);
    const auto& json = settings.value("BASALT_JSON");
    if (!json.text.empty()) {
        records_ =
            opened(json.origin, json.text, [&] { return std::make_unique<JsonRecordWriter>(json.text, std::cout); });
        if (records_->file() == nullptr) {
            human_ = &std::cerr;
        } else {
            add_output(json.origin, json.text, records_->file()->descriptor());
        }
    }
    for (const auto& [origin, path] : input_settings(settings)) add_input(origin, path);
}

OutputFiles::~OutputFiles() {
    for (const std::string& failure : failures_) std::cerr << "basalt: " << failure << '\n';
}

OutputFile& OutputFiles::open(const std::string& origin, const std::string& path) {
    if (path.empty() || path == "-") {
        throw WrongUse(
            fmt::format("{} = \"{}\"; allowed: a file's name; standard output is for the report", origin, path));
    }
    files_.push_back(
        opened(origin, path, [&] { return std::make_unique<OutputFile>(path, OutputFile::Contents::replaced); }));
    add_output(origin, path, files_.back()->descriptor());
    return *files_.back();
}

void OutputFiles::add_input(const std::string& origin, const std::string& path) {
    struct stat status {};
    const auto identity = identity_of(stat(path.c_str(), &status), status);
    if (!identity) return;
    inputs_.push_back({origin, path, *identity});
    require_no_other(inputs_.back(), outputs_);
}

void OutputFiles::add_output(const std::string& origin, const std::string& path, int descriptor) {
    struct stat status {};
    const auto identity = identity_of(fstat(descriptor, &status), status);
    if (!identity) return;
    const NamedFile file{origin, path, *identity};
    require_no_other(file, outputs_);
    require_no_other(file, inputs_);
    outputs_.push_back(file);
}

void OutputFiles::require_no_other(const NamedFile& file, const std::vector<NamedFile>& others) const {
    const auto same = std::find_if(others.begin(), others.end(),
                                   [&](const NamedFile& other) { return other.identity == file.identity; });
    if (same == others.end()) return;
    throw WrongUse(fmt::format("{} = \"{}\" is the same file as {} = \"{}\"; allowed: a file of its own for each",
                               file.origin, file.path, same->origin, same->path));
}

void OutputFiles::record(const JsonRecord& record) {
    if (!records_) return;
    try {
        records_->write(record);
    } catch (const std::runtime_error& error) {
        add_failure(error.what());
    }
}

void OutputFiles::begin_trace(Runtime& runtime) {
    if (trace_ != nullptr) runtime.start_trace();
}

void OutputFiles::end_trace(Runtime& runtime) {
    if (trace_ == nullptr) return;
    const Trace trace = runtime.take_trace();
    write(*trace_, "the trace", [&](std::ostream& out) { write_chrome_trace(out, trace); });
}

bool OutputFiles::write(OutputFile& file, const std::string& what, const std::function<void(std::ostream&)>& write_to) {
    write_to(file);
    try {
        file.finish();
        return true;
    } catch (const std::system_error& error) {
        add_failure(fmt::format("{}: {} could not be written: {}", file.path(), what, error.code().message()));
        return false;
    }
}

void OutputFiles::add_failure(const std::string& message) {
    // a record for every test of a benchmark fails in the same way
    if (std::find(failures_.begin(), failures_.end(), message) == failures_.end()) failures_.push_back(message);
}

void OutputFiles::require_written() {
    if (failures_.empty()) return;
    const std::string message = fmt::format("{}", fmt::join(std::exchange(failures_, {}), "; "));
    throw MachineFailure(message);
}

}  // namespace basalt
