#include "bench/common/record_file.hpp"

#include <iostream>

#include "bench/common/circumstances.hpp"

namespace bench {

RecordFile::RecordFile(const std::string& path) {
    if (!path.empty()) writer_.emplace(path, std::cout);
}

void RecordFile::write(basalt::JsonRecord record) {
    if (!writer_) return;
    add_circumstances(record, load_.read());
    writer_->write(record);
}

}  // namespace bench
