#pragma once

#include <memory>
#include <string_view>
#include <utility>

#include "basalt/generator.hpp"

namespace basalt {

/// The transpose of another generator's matrix.
template <class T>
class TransposedMatrix : public Generator<T> {
  public:
    explicit TransposedMatrix(std::shared_ptr<const Generator<T>> matrix)
        : Generator<T>(matrix->cols(), matrix->rows()), matrix_(std::move(matrix)) {}

    std::string_view name() const override { return "transposed"; }

  private:
    void fill_block(View<T> block, Index row0, Index col0) const override {
        const View<T> mirrored(block.data(), block.cols(), block.rows(), block.col_stride(), block.row_stride());
        matrix_->fill(mirrored, col0, row0);
    }

    std::shared_ptr<const Generator<T>> matrix_;
};

}  // namespace basalt
