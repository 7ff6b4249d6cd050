#include "runtime/graph/partitions.hpp"

namespace basalt::detail {

void Partitions::add(Cuts cuts, std::vector<Datum*> blocks) {
    const std::size_t count = blocks.size();
    partitions_.push_back({std::move(cuts), std::move(blocks), count});
}

void Partitions::remove(const Datum* block) {
    for (auto p = partitions_.begin(); p != partitions_.end(); ++p) {
        const auto place = std::find(p->blocks.begin(), p->blocks.end(), block);
        if (place == p->blocks.end()) continue;
        *place = nullptr;
        if (--p->left == 0) partitions_.erase(p);
        return;
    }
}

}  // namespace basalt::detail
