#pragma once

#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "basalt/run_models.hpp"
#include "io/models/run_samples.hpp"

namespace basalt {

/// The properties that all runs of a model share.
struct RunKey {
    std::string cpu;
    int cores = 1;
    std::string gpus;
    std::string routine;
    char precision = 'd';
    std::string mode;
    bool on_gpus = false;
    std::string options;
    int shape = 0;  ///< log2(m / n), rounded

    RunKey() = default;
    RunKey(const RunMachine& machine, const RunCase& run, FactorMode mode);

    auto fields() const { return std::tie(cpu, gpus, routine, precision, mode, on_gpus, options, shape, cores); }
    friend bool operator==(const RunKey& a, const RunKey& b) { return a.fields() == b.fields(); }
    /// Whether both are equal except for the number of cores.
    bool same_but_cores(RunKey other) const;
};

struct RunModel {
    RunKey key;
    std::int64_t last = 0;  ///< time of the latest run, in seconds of the system clock
    RunSamples samples;
};

/// Times of tasks on a machine.
struct TaskTimesEntry {
    std::string cpu;
    std::int64_t last = 0;  ///< as RunModel::last
    TaskRuns runs;
};

/// The models of one file.
class RunStore {
  public:
    /// The limit: a new model replaces the one whose latest run is the oldest.
    static constexpr std::size_t most_models = 256;
    static constexpr std::size_t most_tasks = 4096;  ///< the same for times of tasks

    /// From the text of a file. Throws std::runtime_error with the reason if that is not a file of models.
    static RunStore parse(const std::string& text);
    std::string text() const;

    const std::vector<RunModel>& models() const { return models_; }
    const RunModel* find(const RunKey& key) const;
    void add(const RunKey& key, std::int64_t now, double order, const std::vector<double>& seconds);

    const std::vector<TaskTimesEntry>& tasks() const { return tasks_; }
    /// Replaces those of the same task, size, processor and machine.
    void put_tasks(const std::string& cpu, std::int64_t now, const std::vector<TaskRuns>& runs);

  private:
    std::vector<RunModel> models_;
    std::vector<TaskTimesEntry> tasks_;
};

}  // namespace basalt
