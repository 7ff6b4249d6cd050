#pragma once

#include <functional>
#include <iosfwd>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <sys/stat.h>

#include "apps/input/settings.hpp"
#include "basalt/runtime.hpp"
#include "io/files/json_record.hpp"
#include "io/files/output_file.hpp"

namespace basalt {

/// Where the results of a run go: the lines for people, the JSON records, the trace and further files.
///
/// A failed write does not end the run. It is remembered, so that everything else is still written, and
/// require_written() reports it at the end; the destructor reports it on standard error if that was not called.
class OutputFiles {
  public:
    /// Opens the files that the settings name, before a run of hours. Throws WrongUse for a file that cannot be written
    /// or that serves two purposes.
    explicit OutputFiles(const Settings& settings);
    ~OutputFiles();
    OutputFiles(const OutputFiles&) = delete;
    OutputFiles& operator=(const OutputFiles&) = delete;

    /// Opens one more file, named by the option `origin`, whose contents are to be replaced. Throws as the constructor
    /// does, and for the names "" and "-".
    OutputFile& open(const std::string& origin, const std::string& path);

    /// Says that the run reads the file `path`. Throws WrongUse if it is also an output.
    void add_input(const std::string& origin, const std::string& path);

    /// The stream for human lines: standard output, or standard error if the records go to standard output.
    std::ostream& human() const { return *human_; }

    /// Writes `record` if records are wanted.
    void record(const JsonRecord& record);

    /// Begins a trace if one is wanted, and writes it. No task may be in flight at the end.
    void begin_trace(Runtime& runtime);
    void end_trace(Runtime& runtime);

    /// Replaces the contents of `file` by what `write_to` writes. `what` names it in the message if that fails. Returns
    /// whether all of it was written.
    bool write(OutputFile& file, const std::string& what, const std::function<void(std::ostream&)>& write_to);

    /// Remembers a failure that the caller has noticed.
    void add_failure(const std::string& message);

    /// Throws MachineFailure with the file's name and the reason if a write has failed. Call it when all results are
    /// out.
    void require_written();

  private:
    struct NamedFile {
        std::string origin;
        std::string path;
        std::pair<dev_t, ino_t> identity;
    };

    void add_output(const std::string& origin, const std::string& path, int descriptor);
    void require_no_other(const NamedFile& file, const std::vector<NamedFile>& others) const;

    std::unique_ptr<JsonRecordWriter> records_;
    std::ostream* human_;
    std::vector<std::unique_ptr<OutputFile>> files_;
    OutputFile* trace_ = nullptr;
    std::vector<NamedFile> inputs_, outputs_;
    std::vector<std::string> failures_;
};

}  // namespace basalt
