#include "io/models/run_store.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <stdexcept>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "io/files/json_text.hpp"

namespace basalt {

namespace {

using Json = nlohmann::ordered_json;

constexpr const char* format_name = "basalt run models";
constexpr int format_version = 2;
constexpr int version_without_tasks = 1;  // read as well

Json to_json(const RunModel& model) {
    const RunKey& key = model.key;
    Json json = {{"cpu", key.cpu},
                 {"cores", key.cores},
                 {"gpus", key.gpus},
                 {"routine", key.routine},
                 {"precision", std::string(1, key.precision)},
                 {"mode", key.mode},
                 {"data", key.on_gpus ? "device" : "host"},
                 {"options", key.options},
                 {"shape", key.shape},
                 {"last", model.last},
                 {"runs", Json::array()}};
    for (const auto& [number, bucket] : model.samples.buckets()) {
        for (const RunSamples::Run& run : bucket) json["runs"].push_back({run.order, run.seconds});
    }
    return json;
}

/// Throws Json::exception for a missing name or a value of another type, and std::runtime_error.
RunModel model_of(const Json& json) {
    RunModel model;
    RunKey& key = model.key;
    json.at("cpu").get_to(key.cpu);
    json.at("cores").get_to(key.cores);
    json.at("gpus").get_to(key.gpus);
    json.at("routine").get_to(key.routine);
    json.at("mode").get_to(key.mode);
    json.at("options").get_to(key.options);
    json.at("shape").get_to(key.shape);
    json.at("last").get_to(model.last);
    key.on_gpus = json.at("data").get<std::string>() == "device";
    const auto precision = json.at("precision").get<std::string>();
    if (precision.size() != 1 || key.cores < 1)
        throw std::runtime_error("a model has a precision or a number of cores that is not possible");
    key.precision = precision.front();
    for (const Json& run : json.at("runs")) model.samples.add({run.at(0).get<double>(), run.at(1).get<double>()});
    return model;
}

Json to_json(const TaskTimesEntry& entry) {
    return {{"cpu", entry.cpu},        {"task", entry.runs.task},
            {"size", entry.runs.size}, {"processor", entry.runs.processor},
            {"last", entry.last},      {"seconds", entry.runs.seconds}};
}

/// Throws as model_of() does.
TaskTimesEntry task_of(const Json& json) {
    TaskTimesEntry entry;
    json.at("cpu").get_to(entry.cpu);
    json.at("task").get_to(entry.runs.task);
    json.at("size").get_to(entry.runs.size);
    json.at("processor").get_to(entry.runs.processor);
    json.at("last").get_to(entry.last);
    json.at("seconds").get_to(entry.runs.seconds);
    const auto& seconds = entry.runs.seconds;
    const bool usable =
        std::all_of(seconds.begin(), seconds.end(), [](double time) { return std::isfinite(time) && time > 0; });
    if (!usable || seconds.empty() || seconds.size() > TaskRuns::most_seconds) {
        throw std::runtime_error(fmt::format("task '{}' has times that are not positive and finite, or not 1 to {}",
                                             entry.runs.task, TaskRuns::most_seconds));
    }
    return entry;
}

}  // namespace

RunKey::RunKey(const RunMachine& machine, const RunCase& run, FactorMode run_mode)
    : cpu(machine.cpu),
      cores(machine.cores),
      gpus(run_mode == FactorMode::cpu ? std::string() : machine.gpus),
      routine(run.routine),
      precision(run.precision),
      mode(name_of(run_mode)),
      on_gpus(run.on_gpus),
      options(run.options),
      shape(static_cast<int>(std::lround(std::log2(static_cast<double>(run.m) / static_cast<double>(run.n))))) {}

bool RunKey::same_but_cores(RunKey other) const {
    other.cores = cores;
    return other == *this;
}

RunStore RunStore::parse(const std::string& text) {
    RunStore store;
    const Json json = parse_json(text);
    if (!json.is_object() || !json.contains("format") || json["format"] != format_name) {
        throw std::runtime_error(fmt::format("no object with \"format\": \"{}\"", format_name));
    }
    const Json version = json.value("version", Json());
    if (version != format_version && version != version_without_tasks) {
        throw std::runtime_error(fmt::format("the version is {}; this program reads {} and {}",
                                             version.is_null() ? "missing" : short_json(version), version_without_tasks,
                                             format_version));
    }
    try {
        for (const Json& model : json.at("models")) store.models_.push_back(model_of(model));
        if (version == format_version) {
            for (const Json& task : json.at("tasks")) store.tasks_.push_back(task_of(task));
        }
    } catch (const Json::exception& error) {  // a name is missing or has a value of another type
        throw std::runtime_error(json_error_reason(error.what()));
    } catch (const std::invalid_argument& error) {
        throw std::runtime_error(error.what());
    }
    return store;
}

std::string RunStore::text() const {
    Json json = {
        {"format", format_name}, {"version", format_version}, {"models", Json::array()}, {"tasks", Json::array()}};
    for (const RunModel& model : models_) json["models"].push_back(to_json(model));
    for (const TaskTimesEntry& task : tasks_) json["tasks"].push_back(to_json(task));
    return json.dump(1, ' ', false, Json::error_handler_t::replace) + '\n';
}

const RunModel* RunStore::find(const RunKey& key) const {
    const auto found =
        std::find_if(models_.begin(), models_.end(), [&](const RunModel& model) { return model.key == key; });
    return found != models_.end() ? &*found : nullptr;
}

void RunStore::add(const RunKey& key, std::int64_t now, double order, const std::vector<double>& seconds) {
    auto model = std::find_if(models_.begin(), models_.end(), [&](const RunModel& m) { return m.key == key; });
    if (model == models_.end()) {
        if (models_.size() >= most_models) {
            models_.erase(std::min_element(models_.begin(), models_.end(),
                                           [](const RunModel& a, const RunModel& b) { return a.last < b.last; }));
        }
        model = models_.insert(models_.end(), RunModel{key, now, {}});
    }
    model->last = now;
    for (const double time : seconds) model->samples.add({order, time});
}

void RunStore::put_tasks(const std::string& cpu, std::int64_t now, const std::vector<TaskRuns>& runs) {
    const auto key = [](const TaskTimesEntry& entry) {
        return std::tie(entry.cpu, entry.runs.task, entry.runs.size, entry.runs.processor);
    };
    const auto by_key = [&key](const TaskTimesEntry& a, const TaskTimesEntry& b) { return key(a) < key(b); };
    std::vector<TaskTimesEntry> all;
    for (const TaskRuns& run : runs) all.push_back({cpu, now, run});
    all.insert(all.end(), std::make_move_iterator(tasks_.begin()), std::make_move_iterator(tasks_.end()));
    // of equals the new one comes first, and stays
    std::stable_sort(all.begin(), all.end(), by_key);
    all.erase(std::unique(all.begin(), all.end(), [&](const auto& a, const auto& b) { return key(a) == key(b); }),
              all.end());
    if (all.size() > most_tasks) {
        std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.last > b.last; });
        all.resize(most_tasks);
    }
    tasks_ = std::move(all);
}

}  // namespace basalt
