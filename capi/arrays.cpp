// Arrays, blocks of them, and tokens.
#include <cstddef>
#include <limits>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "capi/objects.hpp"

namespace basalt::capi {

namespace {

constexpr std::size_t largest_element = 4096;

Index bytes_of(std::size_t element_size, Index count, const char* name) {
    if (element_size < 1 || element_size > largest_element) {
        throw UsageError("element_size is " + std::to_string(element_size) + "; allowed is 1 to " +
                         std::to_string(largest_element));
    }
    require_range(name, count, 0, std::numeric_limits<Index>::max() / static_cast<Index>(element_size));
    return count * static_cast<Index>(element_size);
}

/// Cuts of nearly equal blocks, in units of `element_size`, without 0 and the end.
std::vector<Index> cuts_of(const char* name, Index blocks, Index size, std::size_t element_size) {
    require_range(name, blocks, 1, size);
    std::vector<Index> cuts;
    Index at = 0;
    for (Index k = 0; k + 1 < blocks; ++k) {
        at += size / blocks + (k < size % blocks ? 1 : 0);
        cuts.push_back(at * static_cast<Index>(element_size));
    }
    return cuts;
}

Partition<std::byte> partition_of(const basalt_array& array, Index block_rows, Index block_cols) {
    const auto row_cuts = cuts_of("block_rows", block_rows, array.shape.rows, array.element_size);
    const auto col_cuts = cuts_of("block_cols", block_cols, array.shape.cols, 1);
    if (const auto* line = std::get_if<Line>(&array.data)) return line->split_at(row_cuts);
    if (const auto* plane = std::get_if<Plane>(&array.data)) return plane->split_at(row_cuts, col_cuts);
    throw UsageError("array is a block or a token; allowed is a whole array");
}

template <class F>
View<std::byte> elements_of(const basalt_array* array, const F& view) {
    return std::visit(
        [&]<class D>(const D& data) -> View<std::byte> {
            if constexpr (std::is_same_v<D, Token>) {
                throw UsageError("array is a token, which has no elements");
            } else if constexpr (std::is_same_v<D, ArrayBlock>) {
                return view(data.block());
            } else {
                return view(data);
            }
        },
        required(array, "array").data);
}

void give_elements(const basalt_array* array, const View<std::byte>& elements, void** data, int64_t* ld) {
    required(data, "data") = elements.data();
    if (ld != nullptr) *ld = elements.col_stride() / static_cast<Index>(array->element_size);
}

}  // namespace

}  // namespace basalt::capi

namespace capi = basalt::capi;
using capi::guarded;
using capi::required;

basalt_status basalt_array_create(basalt_runtime* runtime, size_t element_size, int64_t size, const char* name,
                                  basalt_array** array) {
    return guarded(__func__, [&] {
        auto& made = required(array, "array");
        basalt::Runtime& owner = required(runtime, "runtime").runtime;
        made = new basalt_array{runtime->life,
                                element_size,
                                {size, 1},
                                capi::Line(owner, capi::bytes_of(element_size, size, "size"), name)};
    });
}
basalt_status basalt_array_wrap(basalt_runtime* runtime, void* data, size_t element_size, int64_t size,
                                const char* name, basalt_array** array) {
    return guarded(__func__, [&] {
        auto& made = required(array, "array");
        basalt::Runtime& owner = required(runtime, "runtime").runtime;
        const basalt::Index bytes = capi::bytes_of(element_size, size, "size");
        if (bytes > 0) required(static_cast<std::byte*>(data), "data");
        made = new basalt_array{runtime->life,
                                element_size,
                                {size, 1},
                                capi::Line::wrap(owner, static_cast<std::byte*>(data), bytes, name)};
    });
}
basalt_status basalt_array_create_2d(basalt_runtime* runtime, size_t element_size, int64_t rows, int64_t cols,
                                     const char* name, basalt_array** array) {
    return guarded(__func__, [&] {
        auto& made = required(array, "array");
        basalt::Runtime& owner = required(runtime, "runtime").runtime;
        made = new basalt_array{runtime->life,
                                element_size,
                                {.rows = rows, .cols = cols, .two_dimensional = true},
                                capi::Plane(owner, capi::bytes_of(element_size, rows, "rows"), cols, name)};
    });
}
basalt_status basalt_array_wrap_2d(basalt_runtime* runtime, void* data, size_t element_size, int64_t rows, int64_t cols,
                                   int64_t ld, const char* name, basalt_array** array) {
    return guarded(__func__, [&] {
        auto& made = required(array, "array");
        basalt::Runtime& owner = required(runtime, "runtime").runtime;
        const basalt::Index bytes = capi::bytes_of(element_size, rows, "rows");
        const basalt::Index column = capi::bytes_of(element_size, ld, "ld");
        if (bytes > 0 && cols > 0) required(static_cast<std::byte*>(data), "data");
        made = new basalt_array{runtime->life,
                                element_size,
                                {.rows = rows, .cols = cols, .two_dimensional = true},
                                capi::Plane::wrap(owner, static_cast<std::byte*>(data), bytes, cols, column, name)};
    });
}
basalt_status basalt_token_create(basalt_runtime* runtime, const char* name, basalt_array** token) {
    return guarded(__func__, [&] {
        auto& made = required(token, "token");
        basalt::Runtime& owner = required(runtime, "runtime").runtime;
        made = new basalt_array{runtime->life, 1, {}, basalt::Token(owner, name)};
    });
}

basalt_status basalt_array_split(const basalt_array* array, int64_t block_rows, int64_t block_cols,
                                 basalt_array** blocks) {
    return guarded(__func__, [&] {
        const basalt_array& whole = required(array, "array");
        required(blocks, "blocks");
        const auto partition =
            std::make_shared<basalt::Partition<std::byte>>(capi::partition_of(whole, block_rows, block_cols));
        std::vector<std::unique_ptr<basalt_array>> made;
        for (basalt::Index k = 0; k < partition->size(); ++k) {
            const auto& block = (*partition)[k];
            const capi::ArrayShape shape{block.rows() / static_cast<basalt::Index>(whole.element_size), block.cols(),
                                         whole.shape.two_dimensional};
            made.push_back(std::make_unique<basalt_array>(
                basalt_array{whole.life, whole.element_size, shape, capi::ArrayBlock{partition, k}}));
        }
        for (auto& block : made) *blocks++ = block.release();
    });
}
void basalt_array_destroy(basalt_array* array) { delete array; }

basalt_status basalt_array_host_view(const basalt_array* array, void** data, int64_t* ld) {
    return guarded(__func__, [&] {
        required(data, "data");
        capi::give_elements(array, capi::elements_of(array, [](const auto& a) { return a.host_view(); }), data, ld);
    });
}
basalt_status basalt_array_host_overwrite(const basalt_array* array, void** data, int64_t* ld) {
    return guarded(__func__, [&] {
        required(data, "data");
        capi::give_elements(array, capi::elements_of(array, [](const auto& a) { return a.host_overwrite(); }), data,
                            ld);
    });
}
basalt_status basalt_array_prefetch(const basalt_array* array, basalt_place place) {
    return guarded(__func__, [&] {
        const basalt::Place there = capi::place_of(place);
        std::visit(
            [&]<class D>(const D& data) {
                if constexpr (std::is_same_v<D, basalt::Token>) {
                    throw basalt::UsageError("array is a token, which has no elements");
                } else if constexpr (std::is_same_v<D, capi::ArrayBlock>) {
                    array->life->runtime().prefetch(data.block(), there);
                } else {
                    array->life->runtime().prefetch(data, there);
                }
            },
            required(array, "array").data);
    });
}
