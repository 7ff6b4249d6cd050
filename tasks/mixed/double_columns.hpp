#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "basalt/array.hpp"
#include "basalt/generator.hpp"
#include "basalt/matrix.hpp"
#include "kernels/device_generator.hpp"
#include "tiles/tile_columns.hpp"

namespace basalt::detail {

/// The n x n matrix A of a system in double precision, by tile columns: those of a Matrix, or of a generator, which
/// makes them again in each task that reads them. Tasks on cores read windows of rows, tasks on GPUs whole tile
/// columns. The matrix, if there is one, outlives this object.
class DoubleColumns {
  public:
    explicit DoubleColumns(const Matrix<double>& a);
    DoubleColumns(Runtime& runtime, std::shared_ptr<const Generator<double>> generator, const TileGrid& grid);

    const TileGrid& grid() const { return grid_; }
    Index order() const { return grid_.rows(); }
    bool is_stored() const { return a_ != nullptr; }

    /// Adds the access that a task on rows [begin, end) of tile column j needs to `data`, if any. It has to be the
    /// first one, or the next behind that of tile column j - 1.
    void add_to(AccessList& data, Index j, Index begin, Index end) const;
    /// How many accesses that adds.
    std::size_t accesses() const { return is_stored() || diagonal_.size() > 0 ? 1 : 0; }

    /// Those rows, without padding, in a task on cores. `at`: the address of the access. `memory` is used where the
    /// elements are generated.
    View<const double> on_cores(void* const* at, Index j, Index begin, Index end, std::vector<double>& memory) const;
    /// Tile column j, in a task on a GPU.
    View<const double> on_gpu(Stream stream, void* const* at, Index j) const;
    /// Throws UsageError if GPUs cannot generate the matrix.
    void require_on_gpus() const;

  private:
    const Matrix<double>* a_ = nullptr;
    std::shared_ptr<const Generator<double>> generator_;
    TileGrid grid_;
    std::optional<GeneratorSpec> on_device_;
    Array<double> diagonal_;  ///< of a generator that GPUs have but for its diagonal; otherwise empty
};

}  // namespace basalt::detail
