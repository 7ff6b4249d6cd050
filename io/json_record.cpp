#include "io/json_record.hpp"

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <limits>
#include <stdexcept>
#include <system_error>

namespace basalt {

double median(std::vector<double> values) {
    if (values.empty()) return std::numeric_limits<double>::quiet_NaN();
    std::sort(values.begin(), values.end());
    const std::size_t middle = values.size() / 2;
    return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

JsonRecord to_json(const FactorRecord& record) {
    const double seconds = median(record.runs);
    JsonRecord json;
    json["routine"] = record.routine;
    json["precision"] = std::string(1, record.precision);
    json["m"] = record.m;
    json["n"] = record.n;
    json["nb"] = record.nb;
    json["tile"] = record.tile;
    json["mode"] = record.mode;
    json["cpus"] = record.cpus;
    json["gpus"] = record.gpus;
    json["emulated"] = record.emulated;
    json["data"] = record.data;
    json["seconds"] = seconds;
    json["gflops"] = seconds > 0 ? record.flops / seconds * 1e-9 : 0.0;
    json["residual_ratio"] = record.residual_ratio ? JsonRecord(*record.residual_ratio) : JsonRecord();
    json["passed"] = record.passed ? JsonRecord(*record.passed) : JsonRecord();
    json["info"] = record.info;
    json["runs"] = record.runs;
    if (record.gpu_peak_bytes) json["gpu_peak_bytes"] = *record.gpu_peak_bytes;
    json["machine"] = record.machine;
    json["commit"] = record.commit;
    return json;
}

JsonRecordWriter::JsonRecordWriter(const std::string& path, std::ostream& standard_output)
    : path_(path), out_(&standard_output) {
    if (path == "-") return;
    file_ = std::make_unique<std::ofstream>(path, std::ios::app);
    if (!*file_) throw std::runtime_error(path + ": " + std::generic_category().message(errno));
    out_ = file_.get();
}

void JsonRecordWriter::write(const JsonRecord& record) {
    // One write a line, so that programs appending to one file do not mix their lines. NaN and Inf dump as
    // null.
    const std::string line = record.dump(-1, ' ', false, JsonRecord::error_handler_t::replace) + '\n';
    out_->write(line.data(), static_cast<std::streamsize>(line.size())).flush();
    if (!*out_) throw std::runtime_error(path_ + ": the record could not be written");
}

}  // namespace basalt
