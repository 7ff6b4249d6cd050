// Products of tiled matrices with vectors, where the tile columns are.
#include "basalt/products.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "basalt/tuning.hpp"
#include "kernels/on_stream.hpp"
#include "runtime/engine/gpu_data.hpp"
#include "runtime/engine/runtime_access.hpp"
#include "runtime/storage/matrix_storage.hpp"

namespace basalt {

namespace {

template <class T>
class Product {
  public:
    Product(Runtime& runtime, const Matrix<T>& a, MatrixPart part, const Array<double>& x)
        : rt_(runtime), a_(a), part_(part), x_(x), grid_(a.share_storage()->grid()) {}

    void on_cores(const Array<double>& y) const {
        const Index rows_of_a_task = rt_.tuning().cpu.product_rows;
        for (Index row = 0; row < grid_.rows(); row += rows_of_a_task) {
            const Index end = std::min(row + rows_of_a_task, grid_.rows());
            for (Index j = 0; j < columns(); ++j) {
                rt_.submit({.name = "product",
                            .tile = {static_cast<int>(row / rows_of_a_task), static_cast<int>(j)},
                            .place = Place::cpu()},
                           read(block(j, row, end)), read(factors(j)), readwrite(y.rows(row, end)),
                           [part = part_, diagonal = row - grid_.first_col(j)](View<const T> a, View<const double> x,
                                                                               View<double> to) {
                               on_stream::subtract_product<T, double>.on_cpu(a, part, diagonal, x, to);
                           });
            }
        }
    }

    /// Each GPU adds up the products of its tile columns; the cores add up the GPUs' sums.
    void on_gpus(const Array<double>& y) const {
        std::vector<Array<double>> sums;
        for (int g = 0; g < rt_.gpus(); ++g) sums.emplace_back(rt_, y.size(), "partial product");
        for (Index j = 0; j < columns(); ++j) {
            const Place place = a_.dealt_to(j);
            const Array<double>& sum = sums[static_cast<std::size_t>(place.gpu_number())];
            rt_.submit(
                {.name = "product", .tile = {static_cast<int>(j)}, .place = place}, read(block(j, 0, grid_.rows())),
                read(factors(j)), readwrite(sum),
                detail::on_any_device([part = part_, diagonal = -grid_.first_col(j)](
                                          Stream stream, View<const T> a, View<const double> x, View<double> to) {
                    on_stream::subtract_product<T, double>(stream, a, part, diagonal, x, to);
                }));
        }
        for (const Array<double>& sum : sums) {
            rt_.submit({.name = "add products", .place = Place::cpu()}, read(sum), readwrite(y),
                       [](View<const double> from, View<double> to) {
                           for (Index i = 0; i < to.rows(); ++i) to[i] += from[i];
                       });
        }
    }

  private:
    /// Tile columns that x multiplies.
    Index columns() const { return (x_.size() + grid_.shape().width - 1) / grid_.shape().width; }
    Index cols(Index j) const { return std::min(grid_.tile_width(j), x_.size() - grid_.first_col(j)); }
    Region<T> block(Index j, Index begin, Index end) const { return a_.block(j, begin, end, 0, cols(j)); }
    Region<double> factors(Index j) const { return x_.rows(grid_.first_col(j), grid_.first_col(j) + cols(j)); }

    Runtime& rt_;
    const Matrix<T>& a_;
    const MatrixPart part_;
    const Array<double>& x_;
    const TileGrid& grid_;
};

}  // namespace

template <class T>
void subtract_product(Runtime& runtime, const Matrix<T>& a, MatrixPart part, const Array<double>& x,
                      const Array<double>& y) {
    if (&a.runtime() != &runtime) throw UsageError("subtract_product: the matrix belongs to another runtime");
    if (x.size() > a.cols() || y.size() != a.rows()) {
        throw UsageError("subtract_product: x has " + std::to_string(x.size()) + " elements and y " +
                         std::to_string(y.size()) + "; the matrix is " + std::to_string(a.rows()) + " x " +
                         std::to_string(a.cols()));
    }
    const Product<T> product(runtime, a, part, x);
    if (detail::gpu_data(runtime).gpus_to_deal_to() > 0) {
        product.on_gpus(y);
    } else {
        product.on_cores(y);
    }
    y.host_view();
}

template void subtract_product(Runtime&, const Matrix<float>&, MatrixPart, const Array<double>&, const Array<double>&);
template void subtract_product(Runtime&, const Matrix<double>&, MatrixPart, const Array<double>&, const Array<double>&);

}  // namespace basalt
