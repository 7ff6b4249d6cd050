#include "runtime/storage/matrix_storage.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>

#include <spdlog/spdlog.h>

#include "runtime/engine/before_wait.hpp"
#include "runtime/engine/gpu_data.hpp"
#include "runtime/engine/gpu_memory.hpp"
#include "runtime/engine/runtime_access.hpp"
#include "runtime/memory/host_pool.hpp"

namespace basalt::detail {

MatrixStorage::MatrixStorage(Runtime& runtime, const TileGrid& grid, std::size_t element_size, std::string name)
    : runtime_(&runtime),
      grid_(grid),
      deal_(Deal::balanced, std::max(runtime.gpus(), 1)),
      element_size_(element_size),
      name_(std::move(name)),
      stripes_(runtime, element_size),
      squares_(runtime, element_size) {
    const auto elements =
        static_cast<std::size_t>(grid.tile_column_size()) * static_cast<std::size_t>(grid.tile_cols());
    if (elements > static_cast<std::size_t>(std::numeric_limits<std::ptrdiff_t>::max()) / element_size ||
        grid.shape().width > (Index{1} << 28)) {
        throw UsageError(name_ + ": " + std::to_string(grid.rows()) + " x " + std::to_string(grid.cols()) +
                         " in tiles of " + std::to_string(grid.shape().height) + " x " +
                         std::to_string(grid.shape().width) + " needs more bytes than an address space has");
    }
    // with GPUs, tile columns may live there and never come home
    slab_ = HostBuffer(elements * element_size, runtime.gpus() > 0 ? HostBacking::untouched : HostBacking::promised);
    columns_.reserve(static_cast<std::size_t>(grid.tile_cols()));
    for (Index j = 0; j < grid.tile_cols(); ++j) {
        columns_.emplace_back(create_datum(runtime, column(j), element_size, grid.padded_rows(),
                                           static_cast<std::int32_t>(grid.shape().width), Storage::pinned, name_));
    }
    before_end(runtime).add({}, this, [this] { end(); });
}

MatrixStorage::~MatrixStorage() {
    if (runtime_ == nullptr) return;
    if (!mark_.is_current()) {
        keep_for_ever(std::move(slab_));  // tasks may run; the Runtime may be gone
        return;
    }
    before_end(*runtime_).run(this);
}

/// Gives up everything that is the runtime's, at the end of the matrix or of the runtime.
void MatrixStorage::end() {
    try {
        before_wait(*runtime_).run(this);  // a borrowed array still gets its contents back
    } catch (const std::exception& error) {
        spdlog::error("basalt: '{}' could not be copied back: {}", name_, error.what());
    }
    columns_.clear();  // waits for transfers
    stripes_.clear();
    squares_.clear();
    if (pinned_) pinned_memory(*runtime_).unpin(slab_.data());
    runtime_ = nullptr;
}

void MatrixStorage::require_runtime() const {
    mark_.require_current("the matrix");
    if (runtime_ != nullptr) return;
    throw UsageError("the Runtime of matrix '" + name_ + "' has ended, and with it what the matrix held");
}

void MatrixStorage::pin() {
    if (pinned_ || runtime().gpus() == 0 || slab_.size() == 0) return;
    pinned_memory(*runtime_).pin(slab_.data(), slab_.size());
    pinned_ = true;
}

void MatrixStorage::pin_what_is_at_home() {
    for (Index j = 0; j < grid_.tile_cols(); ++j) {
        if (gpu_data(*runtime_).at_home(*datum(j))) return pin();
    }
}

void MatrixStorage::make_room_on_gpus(Index columns) const {
    const Index gpus = runtime().gpus();
    for (Index gpu = 0; gpu < std::min(gpus, columns); ++gpu) {
        if (gpu_data(*runtime_).has_memory_on(*datum(gpu), static_cast<int>(gpu))) continue;
        gpu_memory(*runtime_).prepare(static_cast<int>(gpu), column_bytes(),
                                      static_cast<std::size_t>((columns + gpus - 1) / gpus));
    }
}

void MatrixStorage::adopt(Index j, int gpu, void* memory) {
    gpu_data(*runtime_).adopt(*datum(j), gpu, memory);
    adopted_.gpu = gpu;
    adopted_.bytes += column_bytes();
    adopted_.aligned = adopted_.aligned && reinterpret_cast<std::uintptr_t>(memory) % 16 == 0;
}

void* MatrixStorage::column(Index j) const {
    return static_cast<std::byte*>(slab_.data()) + static_cast<std::size_t>(j) * column_bytes();
}

void MatrixStorage::check(Index j, Index row_begin, Index row_end, Index col_begin, Index col_end) const {
    const bool exists = 0 <= j && j < grid_.tile_cols() && 0 <= row_begin && row_begin <= row_end &&
                        row_end <= grid_.padded_rows() && 0 <= col_begin && col_begin <= col_end &&
                        col_end <= grid_.shape().width;
    require_runtime();
    if (given_back_.load(std::memory_order_relaxed)) {
        throw UsageError(name_ + ": its memory, an array on a GPU, was given back by wait(); wrap the array again");
    }
    if (exists) return;
    throw UsageError(name_ + ": rows [" + std::to_string(row_begin) + ", " + std::to_string(row_end) +
                     ") and columns [" + std::to_string(col_begin) + ", " + std::to_string(col_end) +
                     ") of tile column " + std::to_string(j) + " do not exist; there are " +
                     std::to_string(grid_.tile_cols()) + " tile columns of " + std::to_string(grid_.padded_rows()) +
                     " rows and " + std::to_string(grid_.shape().width) + " columns");
}

}  // namespace basalt::detail
