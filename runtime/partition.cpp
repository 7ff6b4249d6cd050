#include "basalt/partition.hpp"

#include <algorithm>
#include <string>

#include "base/process.hpp"
#include "runtime/graph/datum.hpp"
#include "runtime/graph/datum_pool.hpp"

namespace basalt::detail {

namespace {

std::string pair_text(Index row, Index col) { return std::to_string(row) + ", " + std::to_string(col); }

void check_block(const DatumHandle& block) {
    if (block.get() == nullptr) throw UsageError("the block is empty: it was moved from");
    if (block.get()->is(block.generation())) return;
    const std::string name = DatumPool::of_process().name_of_former(*block.get(), block.generation());
    if (DatumPool::of_process().was_left(*block.get())) {
        ProcessMark::refuse_left("block '" + name + "' cannot be used");
    }
    throw UsageError("block" + (name.empty() ? "" : " '" + name + "'") +
                     ": its array was released or its Runtime has ended");
}

}  // namespace

void check_window(const char* function, const ElementWindow& w, Index rows, Index cols) {
    const bool exists =
        0 <= w.row && 0 <= w.rows && w.row <= rows - w.rows && 0 <= w.col && 0 <= w.cols && w.col <= cols - w.cols;
    if (exists) return;
    throw UsageError(std::string(function) + "(" + pair_text(w.row, w.col) + ", " + pair_text(w.rows, w.cols) +
                     "): allowed are windows inside " + std::to_string(rows) + " x " + std::to_string(cols) +
                     " elements");
}

std::vector<Index> equal_cuts(const char* function, const char* what, Index blocks, Index size) {
    if (blocks < 1 || blocks > size) {
        throw UsageError(std::string(function) + ": " + what + " = " + std::to_string(blocks) +
                         "; allowed is 1 <= " + what + " <= " + std::to_string(size));
    }
    std::vector<Index> cuts(static_cast<std::size_t>(blocks) + 1);
    for (Index b = 0; b <= blocks; ++b) {
        cuts[static_cast<std::size_t>(b)] = b * (size / blocks) + std::min(b, size % blocks);
    }
    return cuts;
}

std::vector<Index> checked_cuts(const char* function, const char* what, std::vector<Index> cuts, Index size) {
    cuts.insert(cuts.begin(), 0);
    cuts.push_back(size);
    for (std::size_t i = 1; i < cuts.size(); ++i) {
        if (cuts[i - 1] < cuts[i]) continue;
        throw UsageError(std::string(function) + ": " + what + " with " + pair_text(cuts[i - 1], cuts[i]) +
                         " in succession; allowed are ascending cuts between 0 and " + std::to_string(size));
    }
    return cuts;
}

void* wait_block(const DatumHandle& block) {
    check_block(block);
    return wait_datum(block);
}

void* wait_block_to_overwrite(const DatumHandle& block) {
    check_block(block);
    return wait_datum_to_overwrite(block);
}

void throw_no_such_block(Index row, Index col, Index block_rows, Index block_cols) {
    throw UsageError("block (" + pair_text(row, col) + ") of a partition that has " + std::to_string(block_rows) +
                     " x " + std::to_string(block_cols) + " blocks");
}

}  // namespace basalt::detail
