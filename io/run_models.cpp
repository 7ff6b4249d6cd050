#include "basalt/run_models.hpp"

#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <system_error>

#include <unistd.h>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "io/atomic_file.hpp"
#include "io/run_store.hpp"

namespace basalt {

namespace {

constexpr double cores_apart = 1.125;

std::string error_text(int error) { return std::generic_category().message(error); }

/// The contents of a file; empty where there is none. Throws std::runtime_error where it cannot be read.
std::optional<std::string> contents(const std::string& path) {
    errno = 0;
    std::ifstream in(path, std::ios::binary);
    if (!in && errno == ENOENT) return std::nullopt;
    if (!in) throw std::runtime_error(error_text(errno != 0 ? errno : EIO));
    return std::string(std::istreambuf_iterator<char>(in), {});  // throws where it is a folder
}

/// Another name for a file that is about to be replaced: FILE.bad, FILE.bad1, ... Empty where it got none.
std::string kept_aside(const std::string& path) {
    constexpr int most = 1000;
    for (int i = 0; i < most; ++i) {
        std::string name = fmt::format("{}.bad{}", path, i == 0 ? "" : std::to_string(i));
        if (link(path.c_str(), name.c_str()) == 0) return name;
        if (errno != EEXIST) break;
    }
    return {};
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
    std::string trouble;  ///< with the file; empty where there is none

    /// What the file holds, or nothing.
    static Store read(const std::string& path) {
        Store result;
        try {
            if (const auto text = contents(path)) result.store = RunStore::parse(*text);
        } catch (const std::runtime_error& error) {
            result.trouble = error.what();
        }
        return result;
    }
};

RunModels::RunModels(std::string path)
    : path_(std::move(path)), known_(std::make_unique<const Store>(Store::read(path_))) {
    if (!known_->trouble.empty()) {
        spdlog::warn("{}: nothing is learnt from it, since it is no file of run models ({})", path_, known_->trouble);
    }
}

RunModels::~RunModels() = default;

std::optional<RunEstimate> RunModels::estimate(const RunMachine& machine, const RunCase& run, FactorMode mode) const {
    if (run.m <= 0 || run.n <= 0) return std::nullopt;
    const RunKey key(machine, run, mode);
    const double order = RunSamples::order_of(run.m, run.n);
    std::optional<RunEstimate> best;
    double least_apart = cores_apart;
    for (const RunModel& model : known_->store.models()) {
        if (!key.same_but_cores(model.key)) continue;
        const double share = static_cast<double>(model.key.cores) / key.cores;
        const double apart = std::max(share, 1 / share);
        const auto found = model.samples.at(order);
        if (!found || apart > least_apart || (best && apart == least_apart)) continue;
        least_apart = apart;
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
    try {
        Store current = Store::read(path_);
        if (!current.trouble.empty()) {
            const std::string aside = kept_aside(path_);
            if (aside.empty()) throw std::runtime_error(fmt::format("{}: {}", path_, current.trouble));
            spdlog::warn("{}: is begun anew, the old file is kept as {}", path_, aside);
        }
        const auto now = std::chrono::system_clock::now().time_since_epoch();
        current.store.add(RunKey(machine, run, mode), std::chrono::duration_cast<std::chrono::seconds>(now).count(),
                          RunSamples::order_of(run.m, run.n), usable);
        write_file_atomically(path_, current.store.text());
    } catch (const std::exception& error) {  // a run that succeeded does not fail for want of a note of it
        spdlog::warn("what the run took is not kept: {}", error.what());
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
    return lines;
}

std::string RunModels::default_path() {
    const char* const cache = std::getenv("XDG_CACHE_HOME");
    // relative paths are to be ignored
    if (cache != nullptr && *cache == '/') return std::string(cache) + "/basalt/models.json";
    const char* const home = std::getenv("HOME");
    if (home != nullptr && *home != '\0') return std::string(home) + "/.cache/basalt/models.json";
    return {};
}

}  // namespace basalt
