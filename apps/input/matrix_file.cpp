#include "apps/input/matrix_file.hpp"

#include <algorithm>
#include <fstream>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "apps/exit_status.hpp"
#include "apps/input/input_files.hpp"
#include "apps/input/matrix_memory.hpp"
#include "io/files/matrix_market.hpp"

namespace basalt {

namespace {

/// A column-major array as a generator.
template <class T>
class LoadedMatrix : public Generator<T> {
  public:
    LoadedMatrix(std::unique_ptr<T[]> elements, Index rows, Index cols)
        : Generator<T>(rows, cols), elements_(std::move(elements)) {}

    std::string_view name() const override { return "file"; }

  private:
    /// Copies squares that fit in the cache, since the block may be row-major.
    void fill_block(View<T> block, Index row0, Index col0) const override {
        constexpr Index side = 32;
        for (Index row = 0; row < block.rows(); row += side) {
            for (Index col = 0; col < block.cols(); col += side) {
                const Index row_end = std::min(row + side, block.rows());
                const Index col_end = std::min(col + side, block.cols());
                for (Index j = col; j < col_end; ++j) {
                    const T* const column = elements_.get() + (col0 + j) * this->rows() + row0;
                    for (Index i = row; i < row_end; ++i) block(i, j) = column[i];
                }
            }
        }
    }

    std::unique_ptr<T[]> elements_;
};

}  // namespace

bool names_matrix_file(const std::string& text) { return text.ends_with(".mtx"); }

template <class T>
std::shared_ptr<const Generator<T>> load_matrix_file(const std::string& path) {
    std::ifstream in = open_input(path, "a Matrix Market file");
    try {
        MatrixMarketReader reader(in, path);
        const Index rows = reader.header().rows;
        const Index cols = reader.header().cols;
        const double bytes = matrix_bytes(rows, cols, {1, 1}, sizeof(T));
        require_memory(2 * bytes, fmt::format("{}: a full matrix of {} x {}, as read and in tiles,", path, rows, cols));
        auto elements = std::make_unique_for_overwrite<T[]>(static_cast<std::size_t>(rows * cols));
        reader.read(View<T>::column_major(elements.get(), rows, cols, rows));
        return std::make_shared<const LoadedMatrix<T>>(std::move(elements), rows, cols);
    } catch (const MatrixMarketError& error) {
        throw WrongUse(error.what());
    }
}

template std::shared_ptr<const Generator<float>> load_matrix_file(const std::string&);
template std::shared_ptr<const Generator<double>> load_matrix_file(const std::string&);

}  // namespace basalt
