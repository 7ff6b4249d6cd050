#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "basalt/factor_mode.hpp"
#include "basalt/tile_shape.hpp"
#include "basalt/view.hpp"

namespace basalt {

/// What a run took place on.
struct RunMachine {
    std::string cpu;   ///< model
    int cores = 1;     ///< that run tasks
    std::string gpus;  ///< number and model, e.g. "2 x NVIDIA H200"; not looked at in mode cpu
};

/// What was run: all that its time depends on, but machine and mode.
struct RunCase {
    std::string routine;  ///< LAPACK's name without the precision, e.g. "getrf"
    char precision = 'd';
    Index m = 0;
    Index n = 0;
    bool on_gpus = false;  ///< the matrix begins and ends in GPU memory, not the host's
    std::string options;   ///< what differs from the library's choices, e.g. "nb=64"; empty where nothing does
};

/// A factorization that a mode is to be chosen for.
struct FactorProblem {
    Index m = 0;
    Index n = 0;
    char precision = 'd';
    bool on_gpus = false;   ///< the matrix begins and ends in GPU memory
    TileShape tile{};       ///< 0 x 0: what each mode has by default
    std::string routine{};  ///< what its runs are learnt as; empty: LAPACK's name
};

/// What a run is expected to take.
struct RunEstimate {
    double seconds = 0;
    int runs = 0;  ///< of those it was learnt from
};

/// The mode of a factorization, and what it was chosen by, in words that end a sentence.
struct ModeChoice {
    FactorMode mode = FactorMode::cpu;
    std::string reason;
};

const char* name_of(FactorMode mode);

/// What runs took, learnt from runs, in one JSON file that all programs of a user may share.
///
/// Kept for each machine, routine, precision, mode, place of the data, set of options and shape (m / n to the nearest
/// power of two): the last few runs of each size, sizes within 4 % of each other being one. Estimates go by the median
/// of each, so one slow run in three changes nothing, and only sizes near measured ones have an estimate.
///
/// The file is read once, when this is made, so that the same question has the same answer for as long as it lives. It
/// is replaced at once, so that any number of programs may write it: the last one wins, none finds a part. A file that
/// is none of ours, or damaged, is a warning: it is kept beside the new one as FILE.bad, FILE.bad1 and so on. Nothing
/// here throws because of a file. Thread-safe.
class RunModels {
  public:
    explicit RunModels(std::string path);
    ~RunModels();
    RunModels(const RunModels&) = delete;
    RunModels& operator=(const RunModels&) = delete;

    const std::string& path() const { return path_; }

    /// Empty where nothing was learnt near that size. A machine with other GPUs is another one; numbers of cores within
    /// an eighth of each other are the same but for the time, which is shared by the cores.
    std::optional<RunEstimate> estimate(const RunMachine& machine, const RunCase& run, FactorMode mode) const;

    /// Adds runs to the file. Times that are not above zero, and runs without elements, teach nothing.
    void record(const RunMachine& machine, const RunCase& run, FactorMode mode,
                const std::vector<double>& seconds) const;

    /// One line for each thing learnt: "getrf d gpu, data on host: n = 4096 (3), 8192 (5); MACHINE".
    std::vector<std::string> lines() const;

    /// basalt/models.json in $XDG_CACHE_HOME or ~/.cache; empty where there is no home.
    static std::string default_path();

  private:
    struct Store;

    const std::string path_;
    const std::unique_ptr<const Store> known_;
};

}  // namespace basalt
