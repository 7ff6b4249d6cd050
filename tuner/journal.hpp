#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "io/files/json_record.hpp"
#include "tuner/candidate.hpp"
#include "tuner/space.hpp"

namespace basalt::tuner {

enum class Outcome { not_compiled, spilled, not_launched, wrong, timed };
const char* name_of(Outcome outcome);

/// What is known of a candidate that the sweep is done with.
struct Finding {
    Problem problem{};
    Candidate candidate{};
    Outcome outcome = Outcome::timed;
    std::string error{};
    int registers = 0;
    std::size_t spill_bytes = 0;
    std::size_t shared_bytes = 0;
    double ratio = 0;
    double seconds = 0;
};

/// Of one problem's candidates, before compilation.
struct SpaceCounts {
    int generated = 0;
    std::array<int, pruned_reasons> pruned{};

    int remaining() const;
    friend bool operator==(const SpaceCounts&, const SpaceCounts&) = default;
};

/// On what a journal was measured.
struct JournalHead {
    std::string device;
    std::string architecture;
    Index matrices = 0;

    friend bool operator==(const JournalHead&, const JournalHead&) = default;
};

/// What a journal holds.
struct JournalContents {
    JournalHead head;
    std::vector<Finding> findings;  ///< in the order of the file
    std::vector<std::pair<Problem, SpaceCounts>> spaces;

    std::map<std::string, std::size_t> index;  ///< of findings by problem and candidate; the last one counts

    /// What is known of the candidate; nullptr: it is still to be tried.
    const Finding* find(const Problem& problem, const Candidate& candidate) const;
};

/// Reads a journal: lines of JSON. What follows the last whole line is left out: a kill may interrupt a line. Throws
/// UsageError with file and line for other files.
JournalContents read_journal(const std::string& path);

/// Appends to a journal, a line each, written when the call returns. So a kill loses at most the candidate that runs.
class Journal {
  public:
    /// Makes the file, or goes on with it. Throws UsageError for a file that is no journal or has another head, and
    /// std::runtime_error where it cannot be written.
    Journal(const std::string& path, const JournalHead& head);

    const JournalContents& before() const { return before_; }  ///< what the file held
    void add(const Finding& finding);
    /// Unless the file says so already.
    void add(const Problem& problem, const SpaceCounts& counts);

  private:
    JournalContents before_;
    std::optional<JsonRecordWriter> writer_;
};

}  // namespace basalt::tuner
