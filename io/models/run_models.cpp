#include "basalt/run_models.hpp"

#include <chrono>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <system_error>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "io/files/atomic_file.hpp"
#include "io/files/small_file.hpp"
#include "io/models/run_store.hpp"

namespace basalt {

namespace {

/// Two numbers of cores that differ by a larger factor are different machines.
constexpr double most_cores_ratio = 1.125;

/// Well above what 256 models of all sizes take.
constexpr std::size_t most_models_bytes = std::size_t{64} << 20;

std::filesystem::path folder_of(const std::string& path) { return std::filesystem::path(path).parent_path(); }

/// Throws std::runtime_error if the file can never be written because its folder is missing. record() makes the folder
/// of the default file, and no other.
void require_folder(const std::string& path) {
    const auto folder = folder_of(path);
    std::error_code ignored;
    if (folder.empty() || path == RunModels::default_path() || std::filesystem::exists(folder, ignored)) return;
    throw std::runtime_error(fmt::format("there is no folder {}", folder.string()));
}

void make_default_folder(const std::string& path) {
    if (path == RunModels::default_path()) std::filesystem::create_directories(folder_of(path));
}

}  // namespace

const char* name_of(FactorMode mode) {
    switch (mode) {
        case FactorMode::automatic: return "auto";
        case FactorMode::cpu: return "cpu";
        case FactorMode::hybrid: return "hybrid";
        case FactorMode::gpu: return "gpu";
    }
    return "";
}

struct RunModels::Store {
    RunStore store;
    std::string trouble;  ///< why nothing can be learnt from the file or added to it; empty: all is well

    /// What the file holds; nothing if it is absent or empty.
    static Store read(const std::string& path) {
        Store result;
        try {
            require_folder(path);
            const auto text = read_small_file(path, most_models_bytes, FileKind::regular);
            if (text && !text->empty()) result.store = RunStore::parse(*text);
        } catch (const std::runtime_error& error) {
            result.trouble = error.what();
        }
        return result;
    }
};

RunModels::RunModels(std::string path)
    : path_(std::move(path)), known_(std::make_unique<const Store>(Store::read(path_))) {
    if (!known_->trouble.empty()) spdlog::warn("{}: {}; runs are not learnt", path_, known_->trouble);
}

RunModels::~RunModels() = default;

std::string RunModels::why_unusable(const std::string& path) { return Store::read(path).trouble; }

std::optional<RunEstimate> RunModels::estimate(const RunMachine& machine, const RunCase& run, FactorMode mode) const {
    if (run.m <= 0 || run.n <= 0) return std::nullopt;
    const RunKey key(machine, run, mode);
    const double order = RunSamples::order_of(run.m, run.n);
    std::optional<RunEstimate> best;
    double least_ratio = most_cores_ratio;
    for (const RunModel& model : known_->store.models()) {
        if (!key.same_but_cores(model.key)) continue;
        const double share = static_cast<double>(model.key.cores) / key.cores;
        const double ratio = std::max(share, 1 / share);
        const auto found = model.samples.at(order);
        if (!found || ratio > least_ratio || (best && ratio == least_ratio)) continue;
        least_ratio = ratio;
        best = RunEstimate{mode == FactorMode::cpu ? found->seconds * share : found->seconds, found->runs};
    }
    return best;
}

void RunModels::record(const RunMachine& machine, const RunCase& run, FactorMode mode,
                       const std::vector<double>& seconds) const {
    std::vector<double> usable;
    for (const double time : seconds) {
        if (std::isfinite(time) && time > 0) usable.push_back(time);
    }
    if (run.m <= 0 || run.n <= 0 || usable.empty()) return;
    change([&](Store& current, std::int64_t now) {
        current.store.add(RunKey(machine, run, mode), now, RunSamples::order_of(run.m, run.n), usable);
    });
}

std::vector<TaskRuns> RunModels::task_runs(const RunMachine& machine) const {
    std::vector<TaskRuns> runs;
    for (const TaskTimesEntry& entry : known_->store.tasks()) {
        if (entry.cpu == machine.cpu) runs.push_back(entry.runs);
    }
    return runs;
}

void RunModels::record_tasks(const RunMachine& machine, const std::vector<TaskRuns>& runs) const {
    if (runs.empty()) return;
    change([&](Store& current, std::int64_t now) { current.store.put_tasks(machine.cpu, now, runs); });
}

/// Reads the file again, because other programs may have added something, and replaces it.
void RunModels::change(const std::function<void(Store&, std::int64_t now)>& add) const {
    try {
        Store current = Store::read(path_);
        if (!current.trouble.empty()) {
            if (current.trouble == known_->trouble) return;  // the constructor has told it
            throw std::runtime_error(fmt::format("{}: {}", path_, current.trouble));
        }
        const auto now = std::chrono::system_clock::now().time_since_epoch();
        add(current, std::chrono::duration_cast<std::chrono::seconds>(now).count());
        make_default_folder(path_);
        write_file_atomically(path_, current.store.text());
    } catch (const std::exception& error) {  // what ran has succeeded
        spdlog::warn("the time of a run or of tasks is not kept: {}", error.what());
    }
}

std::vector<std::string> RunModels::lines() const {
    std::vector<std::string> lines;
    for (const RunModel& model : known_->store.models()) {
        std::string sizes;
        for (const auto& [number, bucket] : model.samples.buckets()) {
            sizes += fmt::format("{}{:.0f} ({})", sizes.empty() ? "" : ", ", bucket.back().order, bucket.size());
        }
        const RunKey& key = model.key;
        lines.push_back(fmt::format("{} {} {}, data on {}{}{}: n = {}; {}, {} cores{}{}", key.routine, key.precision,
                                    key.mode, key.on_gpus ? "device" : "host", key.options.empty() ? "" : ", ",
                                    key.options, sizes, key.cpu, key.cores, key.gpus.empty() ? "" : ", ", key.gpus));
    }
    for (const TaskTimesEntry& entry : known_->store.tasks()) {
        std::string times;
        for (const double seconds : entry.runs.seconds) {
            times += fmt::format("{}{:.4g}", times.empty() ? "" : ", ", seconds * 1e6);
        }
        lines.push_back(fmt::format("task {}, size {}, on {}: {} us; {}", entry.runs.task, entry.runs.size,
                                    entry.runs.processor, times, entry.cpu));
    }
    return lines;
}

std::string RunModels::default_path() {
    const char* const cache = std::getenv("XDG_CACHE_HOME");
    // the XDG specification says to ignore relative paths
    if (cache != nullptr && *cache == '/') return std::string(cache) + "/basalt/models.json";
    const char* const home = std::getenv("HOME");
    if (home != nullptr && *home != '\0') return std::string(home) + "/.cache/basalt/models.json";
    return {};
}

}  // namespace basalt
