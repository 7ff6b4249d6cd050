#include "tasks/mixed/double_columns.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "kernels/on_stream.hpp"
#include "runtime/storage/matrix_storage.hpp"
#include "tasks/choices/require.hpp"
#include "tiles/generators/mxp.hpp"

namespace basalt::detail {

DoubleColumns::DoubleColumns(const Matrix<double>& a) : a_(&a), grid_(a.share_storage()->grid()) {}

DoubleColumns::DoubleColumns(Runtime& runtime, std::shared_ptr<const Generator<double>> generator, const TileGrid& grid)
    : generator_(std::move(generator)), grid_(grid) {
    const auto* const dominant = dynamic_cast<const generators::MxpDiagonal*>(generator_.get());
    if (dominant != nullptr) {
        diagonal_ = Array<double>(runtime, std::max<Index>(1, std::ssize(dominant->diagonal())), "diagonal");
        std::copy(dominant->diagonal().begin(), dominant->diagonal().end(), diagonal_.host_overwrite().data());
    }
    const auto name = dominant != nullptr ? generators::MxpDiagonal::base : generator_->name();
    if (const auto on_device = find_device_generator(name)) {
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
    if (diagonal_.size() > 0) data.read(diagonal_.region());
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
    if (diagonal_.size() > 0) {
        const Index first = grid_.first_col(j);
        const auto* const elements = static_cast<const double*>(*at) + first;
        on_stream::copy_elements<double>(stream, View<const double>::row_major(elements, cols, 1, 1),
                                         View<double>::row_major(memory + first * width, cols, 1, width + 1));
    }
    return View<const double>::row_major(memory, rows, cols, width);
}

}  // namespace basalt::detail
