#include "capi/accesses.hpp"

#include <string>
#include <type_traits>

#include "capi/objects.hpp"

namespace basalt::capi {

namespace {

using ByteRegion = Region<std::byte>;

void check_part(const basalt_access& access, const ArrayShape& shape) {
    require_range("access: row", access.row, 0, shape.rows);
    require_range("access: col", access.col, 0, shape.cols);
    require_range("access: rows", access.rows, 0, shape.rows - access.row);
    require_range("access: cols", access.cols, 0, shape.cols - access.col);
}

ByteRegion region_of_token(const Token& token) {
    const detail::AccessRecord record = token.access(AccessMode::read).record;
    return {record.datum, record.generation, 0, 1, 0, 1, 0, 0, 0, 1, 1};
}

ByteRegion region_of_array(const basalt_array& array, const basalt_access& access) {
    const auto size = static_cast<Index>(array.element_size);
    if (access.is_part) check_part(access, array.shape);
    return std::visit(
        [&]<class D>(const D& data) -> ByteRegion {
            if constexpr (std::is_same_v<D, Token>) {
                if (access.is_part) throw UsageError("access: a token has no parts");
                return region_of_token(data);
            } else if constexpr (std::is_same_v<D, Line>) {
                if (!access.is_part) return data.region();
                const Index rows = access.cols == 0 ? 0 : access.rows;
                return data.rows(access.row * size, (access.row + rows) * size);
            } else if constexpr (std::is_same_v<D, Plane>) {
                if (!access.is_part) return data.region();
                return data.part(access.row * size, access.col, access.rows * size, access.cols);
            } else {
                if (!access.is_part) return data.block().region();
                return data.block().part(access.row * size, access.col, access.rows * size, access.cols);
            }
        },
        array.data);
}

/// The region of a tile with strides in bytes.
template <class T>
ByteRegion region_of_tile(const Region<T>& tile) {
    constexpr auto size = static_cast<Index>(sizeof(T));
    return {tile.datum,     tile.generation,        tile.row_begin,        tile.row_end,
            tile.col_begin, tile.col_end,           tile.offset * size,    tile.rows,
            tile.cols,      tile.row_stride * size, tile.col_stride * size};
}

void add_access(SortedAccesses& sorted, const basalt_access& access) {
    require_range("access: mode", access.mode, BASALT_READ, BASALT_COMMUTE);
    auto& range = sorted.regions[access.mode];
    if (access.array != nullptr) {
        const bool token = std::holds_alternative<Token>(access.array->data);
        sorted.views.push_back({.mode = access.mode,
                                .position = range.size(),
                                .element_size = token ? 0 : access.array->element_size,
                                .rows_in_bytes = true});
        range.push_back(region_of_array(*access.array, access));
        return;
    }
    if (access.matrix == nullptr) throw UsageError("access: array and matrix are NULL");
    std::visit(
        [&]<class T>(const Matrix<T>& matrix) {
            sorted.views.push_back(
                {.mode = access.mode, .position = range.size(), .element_size = sizeof(T), .rows_in_bytes = false});
            range.push_back(region_of_tile(matrix.tile(access.row, access.col)));
        },
        access.matrix->matrix);
}

}  // namespace

SortedAccesses sorted_accesses(const basalt_task& task) {
    SortedAccesses sorted;
    if (task.access_count > 0) required(task.accesses, "task: accesses");
    for (std::size_t i = 0; i < task.access_count; ++i) add_access(sorted, task.accesses[i]);
    return sorted;
}

}  // namespace basalt::capi
