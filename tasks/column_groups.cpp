#include "tasks/column_groups.hpp"

#include <algorithm>

#include "runtime/engine.hpp"
#include "tasks/scratch_matrix.hpp"

namespace basalt::detail {

std::vector<ColumnGroup> cut_column_groups(Index columns, Index group_columns) {
    std::vector<ColumnGroup> groups;
    for (Index first = 0; first < columns; first += group_columns) {
        groups.push_back({first, std::min(first + group_columns, columns)});
    }
    return groups;
}

Index fitting_columns(Runtime& runtime, const TileGrid& grid, std::size_t element_size,
                      const std::function<std::size_t(Index)>& workspace, const MatrixStorage::Adopted& adopted) {
    const Index all = grid.tile_cols();
    const Index gpus = runtime.gpus();
    const Index share = ceil_div(std::max<Index>(all, 1), gpus);
    const auto column = static_cast<std::size_t>(grid.tile_column_size()) * element_size;
    const auto fits = [&](Index columns, std::size_t copies, std::size_t memory) {
        return with_small_data(workspace(columns) + copies * static_cast<std::size_t>(columns) * column) <= memory;
    };
    // the user's memory holds the tile columns that are there already, and no others
    const std::size_t of_user = std::min(adopted.bytes, static_cast<std::size_t>(share) * column);
    const auto least = [&](auto memory_of, std::size_t more_on_adopting) {
        std::size_t memory = static_cast<std::size_t>(-1);
        for (int d = 0; d < gpus; ++d) {
            const std::size_t more = d == adopted.gpu ? more_on_adopting : 0;
            memory = std::min<std::size_t>(memory, (runtime.engine().*memory_of)(d) + more);
        }
        return memory;
    };
    // the device need not be asked, which takes its time
    if (fits(share, 1, least(&Engine::memory_taken, of_user))) return all;
    if (fits(share, 1, least(&Engine::memory_of, of_user))) return all;
    const std::size_t memory = least(&Engine::memory_of, 0);
    Index columns = share;
    while (columns > 1 && !fits(columns, 2, memory)) --columns;
    return columns * gpus;
}

std::size_t with_small_data(std::size_t bytes) {
    constexpr std::size_t most = std::size_t{512} << 20, unit = 512;  // which memory is handed out in
    return (bytes + std::min(bytes / 63, most) + unit - 1) / unit * unit;
}

bool gpus_reach_each_other(Runtime& runtime) {
    for (int from = 0; from < runtime.gpus(); ++from) {
        for (int to = 0; to < runtime.gpus(); ++to) {
            if (from != to && !runtime.engine().device(from).reaches(runtime.engine().device(to))) return false;
        }
    }
    return true;
}

}  // namespace basalt::detail
