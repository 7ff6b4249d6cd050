#pragma once

#include <fstream>
#include <iosfwd>
#include <optional>

#include "apps/settings.hpp"
#include "basalt/runtime.hpp"
#include "io/json_record.hpp"

namespace basalt {

/// Throws WrongUse where the file `path` cannot be written; leaves it as it is. `origin` is what the user named it by,
/// e.g. "--json".
void require_writable(const std::string& path, const std::string& origin);

/// Where a run writes beside its human lines: the JSON records and the trace that the settings name.
class OutputFiles {
  public:
    /// Opens what the settings name. Throws WrongUse where a file cannot be written: before a run, not after
    /// it.
    explicit OutputFiles(const Settings& settings);

    /// Where human lines go: standard output, or standard error where the records have that.
    std::ostream& human() const { return *human_; }

    /// Writes `record` if records are wanted.
    void record(const JsonRecord& record);

    /// Begins a trace if one is wanted, and writes it. Nothing may be in flight at the end.
    void begin_trace(Runtime& runtime);
    void end_trace(Runtime& runtime);

  private:
    std::optional<JsonRecordWriter> records_;
    std::ostream* human_;
    std::string trace_path_;
};

}  // namespace basalt
