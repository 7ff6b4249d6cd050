#include "runtime/graph/task.hpp"

namespace basalt::detail {

std::string task_label(const Task& task) {
    const std::string tile = task.tile.text();
    return tile.empty() ? task.name : std::string(task.name) + "(" + tile + ")";
}

}  // namespace basalt::detail
