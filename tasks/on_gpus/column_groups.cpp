#include "tasks/on_gpus/column_groups.hpp"

#include <algorithm>

#include "runtime/device/gpus.hpp"
#include "runtime/engine/gpu_data.hpp"
#include "runtime/engine/gpu_memory.hpp"
#include "runtime/engine/runtime_access.hpp"
#include "tasks/on_gpus/scratch_matrix.hpp"

namespace basalt::detail {

namespace {

/// Groups of equal size, where a GPU has `share` tile columns and no more than `most` fit, and room for a few more
/// columns. One column's place is left for the memory between data of other sizes.
FittingColumns cut_share(Index share, Index most) {
    const Index coming = most < 3 ? most - 1 : std::max<Index>(1, most / 5), left = most < 4 ? 0 : 1;
    const Index groups = ceil_div(share, std::max<Index>(1, most - coming - left));
    const Index group = ceil_div(share, groups);
    return {group, std::max<Index>(0, most - left - group)};
}

}  // namespace

FittingColumns fitting_columns(Runtime& runtime, const TileGrid& grid, std::size_t element_size,
                               const std::function<std::size_t(Index)>& workspace,
                               const MatrixStorage::Adopted& adopted) {
    const Index all = grid.tile_cols();
    const Index gpus = runtime.gpus();
    const Index share = ceil_div(std::max<Index>(all, 1), gpus);
    const auto column = static_cast<std::size_t>(grid.tile_column_size()) * element_size;
    const auto fits = [&](Index columns, std::size_t memory) {
        return bytes_with_columns(grid, element_size, columns, workspace(columns)) <= memory;
    };
    // the user's memory holds only the tile columns that are there already
    const std::size_t of_user = std::min(adopted.bytes, static_cast<std::size_t>(share) * column);
    const auto least = [&](auto memory_of, std::size_t more_on_adopting) {
        std::size_t memory = static_cast<std::size_t>(-1);
        for (int d = 0; d < gpus; ++d) {
            const std::size_t more = d == adopted.gpu ? more_on_adopting : 0;
            memory = std::min<std::size_t>(memory, (gpu_memory(runtime).*memory_of)(d) + more);
        }
        return memory;
    };
    // first without asking the device, which takes long
    if (fits(share, least(&GpuMemory::taken, of_user))) return {all};
    if (fits(share, least(&GpuMemory::capacity, of_user))) return {all};
    const std::size_t memory = least(&GpuMemory::capacity, 0);
    Index columns = share;
    while (columns > 1 && !fits(columns, memory)) --columns;
    const FittingColumns mine = cut_share(share, columns);
    return {mine.group * gpus, mine.coming * gpus};
}

ColumnGroups::ColumnGroups(MatrixStorage& matrix, const FittingColumns& fitting)
    : matrix_(matrix),
      deal_(matrix.deal()),
      fitting_(fitting),
      awaited_(static_cast<std::size_t>(matrix.runtime().gpus())) {
    const Index columns = matrix.grid().tile_cols();
    for (Index first = 0; first < columns; first += fitting.group) {
        groups_.push_back({first, std::min(first + fitting.group, columns)});
    }
    if (groups_.size() > 1) {
        matrix.pin();  // all columns will come home
    } else {
        matrix.pin_what_is_at_home();
    }
    matrix.make_room_on_gpus(std::min(fitting.group + fitting.coming, columns));
}

void ColumnGroups::for_each(const PanelGeometry& geometry, const GroupSteps& steps) {
    for (std::size_t number = 0; number < groups_.size(); ++number) {
        const ColumnGroup& group = groups_[number];
        enter(number);
        steps.enter(group);
        for (int k = 0; k < geometry.first_panel(group.first); ++k) steps.apply(k);
        expect_next();
        steps.factor(group);
        final_before(group.last);
    }
}

void ColumnGroups::bring(Index column) const {
    gpu_data(matrix_.runtime())
        .prefetch(matrix_.whole_column(column), Place::gpu(deal_.gpu_of(column)), {.priority = priority()});
}

void ColumnGroups::enter(std::size_t number) {
    present_ = number;
    final_ = present().first;
    for (Index j = present().first; j < present().last; ++j) bring(j);
    for (std::vector<Index>& of_gpu : awaited_) of_gpu.clear();
    if (is_last()) return;
    const ColumnGroup& next = groups_[number + 1];
    for (Index j = next.last; j-- > next.first;) awaited_[static_cast<std::size_t>(deal_.gpu_of(j))].push_back(j);
}

void ColumnGroups::expect_next() {
    for (int gpu = 0; gpu < deal_.gpus(); ++gpu) {
        for (Index c = 0; c < fitting_.coming / deal_.gpus(); ++c) bring_next(gpu);
    }
}

void ColumnGroups::bring_next(int gpu) {
    std::vector<Index>& awaited = awaited_[static_cast<std::size_t>(gpu)];
    if (awaited.empty()) return;
    bring(awaited.back());
    awaited.pop_back();
}

void ColumnGroups::final_before(Index column) {
    if (is_last()) return;
    for (; final_ < column; ++final_) {
        const int gpu = deal_.gpu_of(final_);
        gpu_data(matrix_.runtime()).leave(*matrix_.datum(final_), gpu, {.priority = priority()});
        bring_next(gpu);
    }
}

std::size_t bytes_with_columns(const TileGrid& grid, std::size_t element_size, Index columns, std::size_t workspace) {
    const std::size_t bytes = workspace + static_cast<std::size_t>(columns * grid.tile_column_size()) * element_size;
    constexpr std::size_t most = std::size_t{512} << 20, unit = 512;  // which memory is handed out in
    return (bytes + std::min(bytes / 63, most) + unit - 1) / unit * unit;
}

bool gpus_reach_each_other(Runtime& runtime) {
    for (int from = 0; from < runtime.gpus(); ++from) {
        for (int to = 0; to < runtime.gpus(); ++to) {
            if (from != to && !gpus_of(runtime).device(from).reaches(gpus_of(runtime).device(to))) return false;
        }
    }
    return true;
}

int most_multiprocessors(Runtime& runtime) {
    int most = 0;
    for (int gpu = 0; gpu < runtime.gpus(); ++gpu) {
        most = std::max(most, gpus_of(runtime).device(gpu).multiprocessors());
    }
    return most;
}

}  // namespace basalt::detail
