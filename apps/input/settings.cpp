#include "apps/input/settings.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <optional>

#include <fmt/format.h>

#include "apps/exit_status.hpp"
#include "basalt/policy.hpp"
#include "basalt/run_models.hpp"
#include "basalt/tuning.hpp"
#include "io/files/quoted_text.hpp"

namespace basalt {

namespace {

constexpr std::string_view prefix = "BASALT_";
constexpr Index max_extent = 1 << 20;  // of a tile or panel: a larger one can only be a typing error

template <Index low, Index high>
void check_integer(std::string_view name, std::string_view text) {
    parse_integer(name, text, low, high);
}

template <Index high>
void check_integer_or_auto(std::string_view name, std::string_view text) {
    parse_integer(name, text, 0, high, "0: chosen by the program");
}

void check_lookahead(std::string_view name, std::string_view text) {
    parse_integer(name, text, -1, 1024, "-1: chosen by the program");
}

void check_policy(std::string_view name, std::string_view text) { parse_choice(name, text, policy_names()); }
void check_scheduler(std::string_view name, std::string_view text) { parse_choice(name, text, scheduler_names()); }

void check_mode(std::string_view name, std::string_view text) {
    parse_choice(name, text, {"auto", "cpu", "hybrid", "gpu"});
}

void check_gpus(std::string_view name, std::string_view text) {
    parse_integer(name, text, -1, Config::most_gpus, "-1: all there are");
}

void check_gpu_memory(std::string_view name, std::string_view text) { parse_bytes(name, text, "0: all there is"); }

void check_data(std::string_view name, std::string_view text) { parse_choice(name, text, {"host", "device"}); }

void check_tile(std::string_view name, std::string_view text) { parse_tile(name, text, max_extent); }

void check_models(std::string_view name, std::string_view text) {
    if (text.empty() || text == "-")
        throw WrongUse(fmt::format("{} = \"{}\"; allowed: auto, none, or a file's name", name, text));
}

void check_seconds(std::string_view name, std::string_view text) {
    constexpr Index day = 24 * 3600;
    parse_integer(name, text, 0, day, "0: none");
}

void check_output_file(std::string_view name, std::string_view text) {
    if (text == "-") {
        throw WrongUse(fmt::format("{} = \"-\"; allowed: a file's name; standard output is for the report", name));
    }
}

void check_any(std::string_view, std::string_view) {}

/// A number that the user chose; nothing for a number below `least`, which leaves the choice to the library.
template <class Number>
std::optional<Number> at_least(Index least, Index value) {
    return value < least ? std::nullopt : std::optional(static_cast<Number>(value));
}

std::string known_variables() {
    std::vector<std::string> names;
    for (const auto& info : setting_table()) names.push_back(info.variable);
    return joined(names);
}

}  // namespace

const std::vector<SettingInfo>& setting_table() {
    static const std::vector<SettingInfo> table = {
        {"BASALT_WORKERS", "--cpus", "0", "threads that run tasks, 0: all cores the process may use",
         check_integer_or_auto<Config::most_workers>},
        {"BASALT_SCHEDULER", "--scheduler", "priority", "which ready task runs where: " + joined(scheduler_names()),
         check_scheduler},
        {"BASALT_POLICY", "", "gpu",
         "where tasks run that have kernels for cores and GPUs and no place: " + joined(policy_names()), check_policy},
        {"BASALT_WINDOW", "", "4096", "tasks in flight before their submitter helps",
         check_integer<1, static_cast<Index>(Config::most_window)>},
        {"BASALT_BIND", "", "1", "1: workers are bound to cores", check_integer<0, 1>},
        {"BASALT_MODE", "--mode", "auto",
         "cpu: cores alone, hybrid: panels on cores, later on GPUs, gpu: GPUs alone, auto: gpu where there are GPUs "
         "and enough work",
         check_mode},
        {"BASALT_GPUS", "--gpus", "-1", "GPUs to use, -1: all there are; as an option it rules mode cpu out",
         check_gpus},
        {"BASALT_EMULATED_GPUS", "--emulated-gpus", "0",
         "GPUs to emulate on CPU threads instead of real ones; as an option it rules mode cpu out",
         check_integer<0, Config::most_gpus>},
        {"BASALT_GPU_MEM", "--gpu-mem", "0", "bytes of each GPU's memory to use (K, M, G, T: powers of 1024), 0: all",
         check_gpu_memory},
        {"BASALT_GPU_STREAMS", "", "8", "streams of each GPU and priority for tasks that are independent of each other",
         check_integer<1, Config::most_gpu_streams>},
        {"BASALT_DATA", "--data", "host", "where the matrix lies before and after: host or device", check_data},
        {"BASALT_NB", "--nb", "0", "panel width in columns, 0: chosen by the program",
         check_integer_or_auto<max_extent>},
        {"BASALT_TILE", "--tile", "auto", "tile as HEIGHTxWIDTH, or auto", check_tile},
        {"BASALT_LOOKAHEAD", "--lookahead", "-1",
         "panels that go before the update, 0 or 1 in mode gpu, -1: chosen by the program", check_lookahead},
        {"BASALT_PANEL_THREADS", "--panel-threads", "0",
         "threads that factor a panel of LU or QR together, 0: chosen by the program",
         check_integer_or_auto<Config::most_workers>},
        {"BASALT_TUNING", "--tuning", "",
         "tuning file, whose numbers replace those of the built-in tables, empty: none", check_any},
        {"BASALT_MODELS", "--models", "none",
         "file of the times of earlier runs: mode auto goes by it, and runs are added to it. auto: models.json in the "
         "user's cache, none: equal commands give equal bits",
         check_models},
        {"BASALT_TRACE", "--trace", "", "file that gets the trace, empty: none", check_output_file},
        {"BASALT_DOT", "--dot", "", "file that gets a drawing of the first 1000 tasks for Graphviz, empty: none",
         check_output_file},
        {"BASALT_WATCHDOG", "", "0",
         "seconds without a task's begin or end after which what waits for what is printed, 0: never", check_seconds},
        {"BASALT_JSON", "--json", "", "file that gets a JSON record a run, -: standard output, empty: none", check_any},
        {"BASALT_VERBOSE", "", "0", "1: as with --verbose", check_integer<0, 1>},
    };
    return table;
}

Settings::Settings(const char* const* environment) {
    for (const auto& info : setting_table()) values_[info.variable] = {info.initial, "default"};
    for (; *environment != nullptr; ++environment) {
        const std::string_view entry = *environment;
        if (entry.substr(0, prefix.size()) != prefix) continue;
        const auto equals = std::min(entry.find('='), entry.size());
        const std::string name(entry.substr(0, equals));
        try {
            if (values_.count(name) == 0) {
                throw WrongUse(fmt::format("{}: no such setting; allowed in the environment: {}", cut_text(name),
                                           known_variables()));
            }
            set(name, entry.substr(std::min(equals + 1, entry.size())), name);
        } catch (const WrongUse& error) {
            if (environment_error_.empty()) environment_error_ = error.what();
        }
    }
}

void Settings::require_good_environment() const {
    if (!environment_error_.empty()) throw WrongUse(environment_error_);
}

void Settings::set(const std::string& variable, std::string_view text, const std::string& origin) {
    const auto& table = setting_table();
    const auto info = std::find_if(table.begin(), table.end(), [&](const auto& i) { return i.variable == variable; });
    info->check(origin, text);
    values_.at(variable) = {std::string(text), origin};
}

Index Settings::integer(const std::string& variable) const { return std::stoll(text(variable)); }

TileShape Settings::tile() const { return parse_tile("BASALT_TILE", text("BASALT_TILE"), max_extent); }

LuOptions Settings::lu_options() const {
    const std::string& mode = text("BASALT_MODE");
    return {.mode = mode == "cpu"      ? LuMode::cpu
                    : mode == "hybrid" ? LuMode::hybrid
                    : mode == "gpu"    ? LuMode::gpu
                                       : LuMode::automatic,
            .panel_width = at_least<Index>(1, integer("BASALT_NB")),
            .panel_threads = at_least<int>(1, integer("BASALT_PANEL_THREADS")),
            .lookahead = at_least<int>(0, integer("BASALT_LOOKAHEAD"))};
}

std::string Settings::models_path() const {
    const std::string& models = text("BASALT_MODELS");
    return models == "auto" ? RunModels::default_path() : models == "none" ? std::string() : models;
}

/// The default file is not the user's choice: Runtime only warns about it.
void Settings::require_usable_models() const {
    const auto& models = value("BASALT_MODELS");
    if (models.text == "auto" || models.text == "none") return;
    const std::string trouble = RunModels::why_unusable(models.text);
    if (trouble.empty()) return;
    throw WrongUse(
        fmt::format("{} = \"{}\": {}; allowed: auto, none, a file that basalt wrote for this, an empty file, or "
                    "a new one in an existing folder",
                    models.origin, models.text, trouble));
}

Config Settings::runtime_config() const {
    require_usable_models();
    Config config;
    config.workers = static_cast<int>(integer("BASALT_WORKERS"));
    config.scheduler = text("BASALT_SCHEDULER");
    config.policy = text("BASALT_POLICY");
    config.window = static_cast<std::size_t>(integer("BASALT_WINDOW"));
    config.bind = integer("BASALT_BIND") != 0;
    if (!text("BASALT_TUNING").empty()) {
        config.tuning = std::make_shared<const TuningTables>(read_tuning_file(text("BASALT_TUNING")));
    }
    config.models = models_path();
    config.watchdog = std::chrono::seconds(integer("BASALT_WATCHDOG"));
    if (!text("BASALT_DOT").empty()) config.drawing = {.file = text("BASALT_DOT")};
    if (text("BASALT_MODE") == "cpu") {  // leave the devices closed
        config.gpus = 0;
        return config;
    }
    if (const auto gpus = integer("BASALT_GPUS"); gpus >= 0) config.gpus = static_cast<int>(gpus);
    config.emulation.gpus = static_cast<int>(integer("BASALT_EMULATED_GPUS"));
    config.gpu_memory = parse_bytes("BASALT_GPU_MEM", text("BASALT_GPU_MEM"));
    config.gpu_streams = static_cast<int>(integer("BASALT_GPU_STREAMS"));
    return config;
}

}  // namespace basalt
