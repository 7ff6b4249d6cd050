#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "basalt/view.hpp"
#include "io/files/output_file.hpp"

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
    std::optional<double> residual_ratio;  ///< null in the record if there was no check
    std::optional<bool> passed;            ///< null in the record if there was no check
    Index info = 0;
    /// The most memory of one GPU that the data took at the same time; left out if the run used no GPU.
    std::optional<std::uint64_t> gpu_peak_bytes;
    std::string machine;
    std::string commit;
};

/// Keys in the order of the fields above. Numbers that are not finite become null.
JsonRecord to_json(const FactorRecord& record);

/// The middle value, or the mean of the middle two; NaN if `values` is empty.
double median(std::vector<double> values);

/// Writes records, one object a line, each flushed as it is written.
class JsonRecordWriter {
  public:
    /// Appends to the file `path`, or writes to `standard_output` when it is "-".
    /// Throws std::runtime_error with the reason when the file cannot be opened for appending.
    JsonRecordWriter(const std::string& path, std::ostream& standard_output);

    /// Throws std::runtime_error with the file's name and the reason when the line could not be written; later calls
    /// try again. Text that is not UTF-8 is replaced.
    void write(const JsonRecord& record);

    /// The file; nullptr where records go to the standard output.
    const OutputFile* file() const { return file_.get(); }

  private:
    std::ostream& standard_output_;
    std::unique_ptr<OutputFile> file_;
    bool line_is_broken_ = false;  // the file ends with a part of a record
};

}  // namespace basalt
