#include "tasks/mixed/product.hpp"

#include <algorithm>
#include <vector>

#include "kernels/cpu/blas/blas.hpp"
#include "kernels/cpu/blas/serial.hpp"
#include "kernels/cpu/products/gemv.hpp"
#include "kernels/on_stream.hpp"
#include "runtime/storage/matrix_storage.hpp"

namespace basalt::detail {

namespace {

constexpr Index elements_a_product_task = Index{1} << 18;  // 2 MB: a fraction of a millisecond

}  // namespace

void DoubleProduct::subtract(const Vectors& x, Vectors& y) const {
    if (x.n() == 0 || x.k() == 0) return;
    const Array<double> factors = x.on_runtime(rt_, "x");
    if (deal_ != nullptr) return on_gpus(factors, y);
    const Array<double> result = y.on_runtime(rt_, "residual");
    on_cores(factors, result, x.k());
    y.take(result);
}

/// A task for some rows of all tile columns, which are added in order.
void DoubleProduct::on_cores(const Array<double>& x, const Array<double>& y, Index k) const {
    const TileGrid& grid = a_.grid();
    const Index n = a_.order(), height = std::max<Index>(8, elements_a_product_task / n);
    for (Index begin = 0; begin < n; begin += height) {
        const Index end = std::min(begin + height, n);
        AccessList data;
        for (Index j = 0; j < grid.tile_cols(); ++j) a_.add_to(data, j, begin, end);
        const std::size_t vectors = data.records().size();
        data.read(x.region()).readwrite(y.rows(begin * k, end * k));
        rt_.submit({.name = "residual", .tile = {static_cast<int>(begin / height)}, .place = Place::cpu()}, data,
                   [this, begin, end, k, vectors](const Addresses& at) {
                       const BlasSerial serial;
                       const auto* const factors = static_cast<const double*>(at[vectors]);
                       const auto to =
                           View<double>::row_major(static_cast<double*>(at[vectors + 1]), end - begin, k, k);
                       std::vector<double> memory;
                       for (Index j = 0; j < a_.grid().tile_cols(); ++j) {
                           const std::size_t first = static_cast<std::size_t>(j) * a_.accesses();
                           const View<const double> a = a_.on_cores(at.data() + first, j, begin, end, memory);
                           const auto of_column =
                               View<const double>::row_major(factors + a_.grid().first_col(j) * k, a.cols(), k, k);
                           if (k == 1) {
                               blas::gemv_minus<double>(a, of_column, to);
                           } else {
                               blas::gemm<double>(-1, a, of_column, 1, to);
                           }
                       }
                   });
    }
}

/// Each GPU adds up the products of its tile columns; the host adds up the GPUs' sums.
void DoubleProduct::on_gpus(const Array<double>& x, Vectors& y) const {
    const TileGrid& grid = a_.grid();
    const Index n = a_.order(), k = y.k();
    std::vector<Array<double>> sums;
    for (int g = 0; g < rt_.gpus(); ++g) sums.emplace_back(rt_, n * k, "partial residual");
    for (Index j = 0; j < grid.tile_cols(); ++j) {
        const Place place = deal_->place_of(j);
        AccessList data;
        a_.add_to(data, j, 0, n);
        const std::size_t vectors = data.records().size();
        data.read(x.region()).readwrite(sums[static_cast<std::size_t>(place.gpu_number())].region());
        rt_.submit({.name = "residual", .tile = {static_cast<int>(j)}, .place = place}, data,
                   on_any_device([this, j, n, k, vectors](Stream stream, const Addresses& at) {
                       const View<const double> a = a_.on_gpu(stream, at.data(), j);
                       const auto of_column = View<const double>::row_major(
                           static_cast<const double*>(at[vectors]) + a_.grid().first_col(j) * k, a.cols(), k, k);
                       on_stream::subtract_product<double, double>(
                           stream, a, MatrixPart::all, 0, of_column,
                           View<double>::row_major(static_cast<double*>(at[vectors + 1]), n, k, k));
                   }));
    }
    for (const Array<double>& sum : sums) {
        const View<double> part = sum.host_view();
        for (Index i = 0; i < n; ++i) {
            for (Index c = 0; c < k; ++c) y(i, c) += part[i * k + c];
        }
    }
}

}  // namespace basalt::detail
