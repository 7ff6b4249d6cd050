#include "tasks/mixed/double_columns.hpp"

#include <string>
#include <utility>

#include "kernels/on_stream.hpp"
#include "runtime/storage/matrix_storage.hpp"
#include "tasks/choices/require.hpp"

namespace basalt::detail {

DoubleColumns::DoubleColumns(const Matrix<double>& a) : a_(&a), grid_(a.share_storage()->grid()) {}

DoubleColumns::DoubleColumns(std::shared_ptr<const Generator<double>> generator, const TileGrid& grid)
    : generator_(std::move(generator)), grid_(grid) {
    if (const auto on_device = find_device_generator(generator_->name())) {
        on_device_ = GeneratorSpec{*on_device, generator_->rows(), generator_->cols(), generator_->seed()};
    }
}

void DoubleColumns::require_on_gpus() const {
    require(is_stored() || on_device_.has_value(), "mixed_solve: GPUs do not have the generator " +
                                                       std::string(is_stored() ? "" : generator_->name()) +
                                                       "; allowed are mode cpu, and a matrix in memory");
}

void DoubleColumns::add_to(AccessList& data, Index j, Index begin, Index end) const {
    if (is_stored()) data.read(a_->block(j, begin, end, 0, grid_.tile_width(j)));
}

View<const double> DoubleColumns::on_cores(void* const* at, Index j, Index begin, Index end,
                                           std::vector<double>& memory) const {
    const Index rows = end - begin, cols = grid_.tile_width(j);
    if (is_stored()) {
        return View<const double>::row_major(static_cast<const double*>(*at), rows, cols, grid_.shape().width);
    }
    memory.resize(static_cast<std::size_t>(rows * cols));
    const auto block = View<double>::row_major(memory.data(), rows, cols, cols);
    generator_->fill(block, begin, grid_.first_col(j));
    return block;
}

View<const double> DoubleColumns::on_gpu(Stream stream, void* const* at, Index j) const {
    const Index rows = grid_.rows(), cols = grid_.tile_width(j), width = grid_.shape().width;
    if (is_stored()) return View<const double>::row_major(static_cast<const double*>(*at), rows, cols, width);
    const std::size_t bytes = static_cast<std::size_t>(grid_.tile_column_size()) * sizeof(double);
    auto* const memory = static_cast<double*>(stream.scratch(bytes));
    on_stream::generate_tile_columns<double>(stream, *on_device_, grid_, {j, 1}, stored_tile_columns(grid_, memory, 1));
    return View<const double>::row_major(memory, rows, cols, width);
}

}  // namespace basalt::detail
