#pragma once

#include <optional>
#include <string>

#include "bench/common/machine_load.hpp"
#include "io/files/json_record.hpp"

namespace bench {

/// The records of one bench. Every record also gets the circumstances of its run: date (UTC), command, machine, commit,
/// the driver with the clocks and power limits of the GPUs, and the load of the machine.
class RecordFile {
  public:
    /// Appends to the file `path`, or writes to standard output where it is "-"; writes nothing where it is empty.
    /// Throws std::runtime_error when the file cannot be opened for appending.
    explicit RecordFile(const std::string& path);

    /// Appends the record as a line of its own. A "machine" that it has already is kept. Throws std::runtime_error when
    /// the line could not be written.
    void write(basalt::JsonRecord record);

  private:
    LoadMeter load_;
    std::optional<basalt::JsonRecordWriter> writer_;
};

}  // namespace bench
