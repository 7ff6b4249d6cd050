#include "io/files/json_record.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <system_error>

#include <sys/stat.h>

namespace basalt {

namespace {

/// 0 for what is not a regular file.
off_t bytes_in(const OutputFile& file) {
    struct stat status {};
    return fstat(file.descriptor(), &status) == 0 ? status.st_size : 0;
}

}  // namespace

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
    : standard_output_(standard_output) {
    if (path != "-") file_ = std::make_unique<OutputFile>(path, OutputFile::Contents::appended);
}

void JsonRecordWriter::write(const JsonRecord& record) {
    // One write per line: the lines of programs that append to the same file stay whole. NaN and Inf dump as null.
    const std::string line = record.dump(-1, ' ', false, JsonRecord::error_handler_t::replace) + '\n';
    if (!file_) {
        standard_output_.write(line.data(), std::ssize(line)).flush();
        if (!standard_output_) throw std::runtime_error("standard output: the record could not be written");
        return;
    }
    const off_t size = bytes_in(*file_);
    try {
        if (line_is_broken_) *file_ << '\n';
        *file_ << line;
        file_->finish();
        line_is_broken_ = false;
    } catch (const std::system_error& error) {
        line_is_broken_ = line_is_broken_ || bytes_in(*file_) != size;
        throw std::runtime_error(file_->path() + ": the record could not be written: " + error.code().message());
    }
}

}  // namespace basalt
