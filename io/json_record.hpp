#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "basalt/view.hpp"

namespace basalt {

/// A JSON object that keeps the order in which its keys were set.
using JsonRecord = nlohmann::ordered_json;

/// One run of a factorization (getrf, potrf, geqrf), as scripts read it.
struct FactorRecord {
    std::string routine;  ///< LAPACK's name without the precision, e.g. "getrf"
    char precision = 'd';
    Index m = 0;
    Index n = 0;
    Index nb = 0;      ///< panel width
    std::string tile;  ///< "HEIGHTxWIDTH"
    std::string mode;
    int cpus = 0;
    int gpus = 0;
    bool emulated = false;
    std::string data = "host";
    std::vector<double> runs;              ///< seconds of every run; the record's "seconds" is their median
    double flops = 0;                      ///< operations of one run; the record's "gflops" is flops / median
    std::optional<double> residual_ratio;  ///< null in the record when nothing was checked
    std::optional<bool> passed;            ///< null in the record when nothing was checked
    Index info = 0;
    /// Most that data had at once of any GPU; left out where no GPU took part.
    std::optional<std::uint64_t> gpu_peak_bytes;
    std::string machine;
    std::string commit;
};

/// Keys in the order of the fields above. Numbers that are not finite become null.
JsonRecord to_json(const FactorRecord& record);

/// The middle one of `values`, or the mean of the two middle ones; NaN when there are none.
double median(std::vector<double> values);

/// Writes records, one object a line, each flushed as it is written.
class JsonRecordWriter {
  public:
    /// Appends to the file `path`, or writes to `standard_output` when it is "-".
    /// Throws std::runtime_error when the file cannot be opened for appending.
    JsonRecordWriter(const std::string& path, std::ostream& standard_output);

    /// Throws std::runtime_error when the line could not be written. Text that is not UTF-8 is replaced.
    void write(const JsonRecord& record);

  private:
    std::string path_;
    std::unique_ptr<std::ostream> file_;
    std::ostream* out_;
};

}  // namespace basalt
