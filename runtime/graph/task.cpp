#include "runtime/graph/task.hpp"

namespace basalt::detail {

const char* mode_name(AccessMode mode) {
    switch (mode) {
        case AccessMode::read: return "read";
        case AccessMode::write: return "write";
        case AccessMode::readwrite: return "readwrite";
        case AccessMode::commute: return "commute";
        case AccessMode::reduce: return "reduce";
    }
    return "";
}

std::string task_label(const Task& task) {
    const std::string tile = task.tile.text();
    return tile.empty() ? task.name : std::string(task.name) + "(" + tile + ")";
}

}  // namespace basalt::detail
