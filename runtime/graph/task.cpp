#include "runtime/graph/task.hpp"

namespace basalt::detail {

std::string tile_text(const std::array<int, 3>& tile) {
    std::string text;
    for (const int index : tile) {
        if (index < 0) continue;
        if (!text.empty()) text += ',';
        text += std::to_string(index);
    }
    return text;
}

std::string task_label(const Task& task) {
    const std::string tile = tile_text(task.tile);
    return tile.empty() ? task.name : std::string(task.name) + "(" + tile + ")";
}

}  // namespace basalt::detail
