#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "basalt/factor_mode.hpp"
#include "basalt/tile_shape.hpp"
#include "basalt/view.hpp"

namespace basalt {

/// The machine that a run used.
struct RunMachine {
    std::string cpu;   ///< model
    int cores = 1;     ///< number of cores that run tasks
    std::string gpus;  ///< number and model, e.g. "2 x NVIDIA H200"; ignored in mode cpu
};

/// Everything that the time of a run depends on, except the machine and the mode.
struct RunCase {
    std::string routine;  ///< LAPACK's name without the precision, e.g. "getrf"
    char precision = 'd';
    Index m = 0;
    Index n = 0;
    bool on_gpus = false;  ///< the matrix begins and ends in GPU memory, not the host's
    std::string options;   ///< options that differ from the library's choices, e.g. "nb=64"; empty if none does
};

/// A factorization for which a mode is chosen.
struct FactorProblem {
    Index m = 0;
    Index n = 0;
    char precision = 'd';
    bool on_gpus = false;   ///< the matrix begins and ends in GPU memory
    TileShape tile{};       ///< 0 x 0: each mode's default
    std::string routine{};  ///< the name under which its runs are learnt; empty: LAPACK's name
    /// The caller asked for GPUs: an automatic mode is not cpu, unless the options exist in mode cpu only.
    bool without_cpu = false;
};

/// The time that a run is expected to take.
struct RunEstimate {
    double seconds = 0;
    int runs = 0;  ///< number of runs that the estimate comes from
};

/// Times of tasks of one name and size on one kind of processor.
struct TaskRuns {
    static constexpr std::size_t most_seconds = 7;  ///< that are kept, the latest ones

    std::string task;             ///< TaskOptions::name
    std::uint64_t size = 0;       ///< TaskOptions::size, otherwise the bytes of the task's data
    std::string processor;        ///< "cores", or the GPU's model
    std::vector<double> seconds;  ///< of its kernel, oldest first
};

/// The mode of a factorization, and the reason for it as the end of a sentence.
struct ModeChoice {
    FactorMode mode = FactorMode::cpu;
    std::string reason;
    bool learnt = false;  ///< chosen by the times of earlier runs (Config::models)
};

const char* name_of(FactorMode mode);

/// Times of earlier runs, and of tasks, in one JSON file that all programs of a user may share, and estimates from
/// them.
///
/// A model belongs to one machine, routine, precision, mode, place of the data, set of options and shape (m / n rounded
/// to a power of two). It keeps the last few runs of each size; sizes within 4 % of each other count as one. Estimates
/// use the median of each size, so that one slow run in three changes nothing, and exist only near measured sizes.
///
/// The constructor reads the file, and nothing reads it again: the same question has the same answer during the life of
/// the object. Writing replaces the contents in one step, so any number of programs may write: the last one wins, and
/// readers always find a complete file. A file that exists and is neither empty nor a file of models is left alone: the
/// constructor logs a warning, nothing is learnt from the file and nothing is added to it. No member throws because of
/// the file. Thread-safe.
class RunModels {
  public:
    explicit RunModels(std::string path);
    ~RunModels();
    RunModels(const RunModels&) = delete;
    RunModels& operator=(const RunModels&) = delete;

    const std::string& path() const { return path_; }

    /// The reason why the file is unusable: it is neither absent, empty nor a file of models, or its folder is missing.
    /// Empty if the file is usable.
    static std::string why_unusable(const std::string& path);

    /// Empty if there is no run near that size. Machines with different GPUs are different. Machines whose numbers of
    /// cores are within an eighth of each other count as one; in mode cpu the time is scaled by the number of cores.
    std::optional<RunEstimate> estimate(const RunMachine& machine, const RunCase& run, FactorMode mode) const;

    /// Adds runs to the file. Ignores times that are not positive and finite, and matrices without elements.
    void record(const RunMachine& machine, const RunCase& run, FactorMode mode,
                const std::vector<double>& seconds) const;

    /// The times of tasks on that machine's model of CPU; its number of cores does not matter.
    std::vector<TaskRuns> task_runs(const RunMachine& machine) const;

    /// Adds times of tasks to the file. They replace those of the same task, size and processor, since a program that
    /// adds them has begun with those.
    void record_tasks(const RunMachine& machine, const std::vector<TaskRuns>& runs) const;

    /// One line per model: "getrf d gpu, data on host: n = 4096 (3), 8192 (5); MACHINE". Then one for each task, size
    /// and processor: "task add, size 800, on cores: 12.5, 12.9 us; CPU".
    std::vector<std::string> lines() const;

    /// basalt/models.json in $XDG_CACHE_HOME or ~/.cache; empty if neither variable is set. Only this file's folder is
    /// made when it is missing.
    static std::string default_path();

  private:
    struct Store;
    void change(const std::function<void(Store& store, std::int64_t now)>& add) const;

    const std::string path_;
    const std::unique_ptr<const Store> known_;
};

}  // namespace basalt
