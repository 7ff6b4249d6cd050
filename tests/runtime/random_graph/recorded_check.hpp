#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "basalt/recording.hpp"
#include "tests/runtime/random_graph/generate.hpp"
#include "tests/runtime/random_graph/oracle.hpp"
#include "tests/runtime/random_graph/perform.hpp"

namespace basalt_tests {

/// Records the random program of a seed, runs it several times, on other data where they are arrays, and compares with
/// as many serial runs.
class RecordedCheck {
  public:
    RecordedCheck(basalt::Runtime& runtime, std::uint64_t seed, Devices devices = {})
        : runtime_(runtime), random_(~seed), program_(simplified(Generator(seed, devices).program())) {
        const int sets = has_only_arrays() ? 3 : 1;
        for (int i = 0; i < sets; ++i) {
            sets_.push_back(std::make_unique<Execution>(runtime, program_));
            oracles_.push_back(std::make_unique<Oracle>(program_));
        }
        first().learn_addresses();
    }

    /// What went wrong, or nothing.
    std::string run() {
        basalt::Recording recording(runtime_, [this] {
            for (const TaskSpec& task : program_.tasks) first().submit(task);
        });
        if (std::any_of(program_.tasks.begin(), program_.tasks.end(),
                        [this](const TaskSpec& task) { return first().runs(task.id) != 0; })) {
            return "a task ran while it was recorded";
        }
        for (int round = 0; round < 4 && complaint_.empty(); ++round) {
            const std::size_t set = random_.next() % sets_.size();
            if (sets_.size() > 1) {
                first().use_data_of(*sets_[set]);
                first().bind(recording, *sets_[set]);
            }
            run_once(recording, set);
        }
        return complaint_;
    }

  private:
    Execution& first() { return *sets_[0]; }

    /// One graph and one thread, which does nothing but submit; half of the programs without gangs outside tasks.
    Program simplified(Program program) {
        const bool gangs = random_.one_in(4);
        for (TaskSpec& task : program.tasks) {
            task.graph = 0;
            if (!gangs) task.threads = {};
            for (AccessSpec& access : task.accesses) {  // tasks that reduce are not recorded, their children may
                if (access.mode == basalt::AccessMode::reduce) access.mode = basalt::AccessMode::commute;
            }
        }
        for (auto& errands : program.errands) errands.clear();
        program.threads = program.graphs = 1;
        program.cancel_before = -1;
        for (DatumSpec& datum : program.data) {  // tasks on parts of matrices are not recorded
            if (datum.kind == DatumKind::column || datum.kind == DatumKind::scratch) datum.kind = DatumKind::plane;
        }
        return program;
    }
    bool has_only_arrays() const {
        return std::all_of(program_.data.begin(), program_.data.end(), [](const DatumSpec& datum) {
            return datum.kind == DatumKind::owned || datum.kind == DatumKind::wrapped;
        });
    }

    void run_once(basalt::Recording& recording, std::size_t set) {
        first().reset();
        Oracle& oracle = *oracles_[set];
        std::fill(oracle.hashes.begin(), oracle.hashes.end(), Hashes{});
        for (const TaskSpec& task : program_.tasks) oracle.run(task);
        recording.run();
        bool finished = true;
        try {
            runtime_.wait();
        } catch (const basalt::Error&) {
            finished = false;
            if (!program_.fails) complaint_ = "wait() threw though nothing fails";
        }
        if (complaint_.empty()) complaint_ = first().complaint();
        if (complaint_.empty()) compare(set, finished && !damaged_);
        damaged_ = damaged_ || !finished;
    }

    void compare(std::size_t set, bool finished) {
        for (int id = 0; id < program_.all_tasks && finished && !first().caught(); ++id) {
            const std::string label = "task " + std::to_string(id);
            if (first().runs(id) != 1) complaint_ = label + " ran " + std::to_string(first().runs(id)) + " times";
            if (!(first().hashes(id) == oracles_[set]->hashes[static_cast<std::size_t>(id)])) {
                complaint_ = label + " read something else than it does serially";
            }
        }
        for (std::size_t d = 0; d < program_.data.size() && complaint_.empty() && !first().caught(); ++d) {
            try {
                if (!same(sets_[set]->look_at(d), oracles_[set]->contents(d))) {
                    complaint_ = "datum " + std::to_string(d) + " is wrong";
                }
            } catch (const basalt::DataError& error) {
                if (finished) complaint_ = std::string("nothing failed, but: ") + error.what();
            }
        }
    }

    static bool same(const std::vector<Cell>& found, const std::vector<Cell>& expected) {
        return std::equal(found.begin(), found.end(), expected.begin(), expected.end(),
                          [](const Cell& x, const Cell& y) { return y.guard != 0 || x.value == y.value; });
    }

    basalt::Runtime& runtime_;
    Random random_;
    const Program program_;
    std::vector<std::unique_ptr<Execution>> sets_;
    std::vector<std::unique_ptr<Oracle>> oracles_;
    bool damaged_ = false;  // some run failed
    std::string complaint_;
};

}  // namespace basalt_tests
