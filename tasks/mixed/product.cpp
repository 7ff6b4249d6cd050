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

void DoubleProduct::subtract(const Vectors& x, Vectors& y) {
    if (x.n() == 0 || x.k() == 0) return;
    if (k_ != x.k()) {
        make_arrays(x.n() * x.k());
        k_ = x.k();
    }
    x.put(x_.host_overwrite());
    deal_ != nullptr ? on_gpus(y) : on_cores(y);
}

void DoubleProduct::make_arrays(Index size) {
    k_ = 0;
    x_ = PinnedArray<double>(rt_, size, "x");
    sums_.clear();
    for (int i = 0; i < (deal_ != nullptr ? rt_.gpus() : 1); ++i) sums_.emplace_back(rt_, size, "residual");
    if (deal_ == nullptr) return;
    zeros_ = Array<double>(rt_, size, "zeros");
    std::fill_n(zeros_.host_overwrite().data(), size, 0.0);
}

/// A task for some rows of all tile columns, which are added in order.
void DoubleProduct::on_cores(Vectors& y) {
    y.put(sums_.front().host_overwrite());
    const TileGrid& grid = a_.grid();
    const Index n = a_.order(), height = std::max<Index>(8, elements_a_product_task / n);
    for (Index begin = 0; begin < n; begin += height) {
        const Index end = std::min(begin + height, n);
        AccessList data;
        for (Index j = 0; j < grid.tile_cols(); ++j) a_.add_to(data, j, begin, end);
        const std::size_t vectors = data.records().size();
        data.read(x_.region()).readwrite(sums_.front().rows(begin * k_, end * k_));
        rt_.submit({.name = "residual", .tile = {static_cast<int>(begin / height)}, .place = Place::cpu()}, data,
                   [this, begin, end, k = k_, vectors](const Addresses& at) {
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
    y.take(sums_.front().host_view());
}

/// Each GPU adds up the products of its tile columns; the host adds up the GPUs' sums.
void DoubleProduct::on_gpus(Vectors& y) {
    const TileGrid& grid = a_.grid();
    const Index n = a_.order();
    std::vector<bool> begun(sums_.size());
    for (Index j = 0; j < grid.tile_cols(); ++j) {
        const Place place = deal_->place_of(j);
        const auto gpu = static_cast<std::size_t>(place.gpu_number());
        const bool first = !begun[gpu];
        begun[gpu] = true;
        AccessList data;
        a_.add_to(data, j, 0, n);
        const std::size_t vectors = data.records().size();
        data.read(x_.region()).read(zeros_.region());
        first ? data.write(sums_[gpu].region()) : data.readwrite(sums_[gpu].region());
        rt_.submit({.name = "residual", .tile = {static_cast<int>(j)}, .place = place}, data,
                   on_any_device([this, j, n, k = k_, vectors, first](Stream stream, const Addresses& at) {
                       const View<const double> a = a_.on_gpu(stream, at.data(), j);
                       const auto rows_of = [&](std::size_t i, Index row, Index rows) {
                           return View<double>::row_major(static_cast<double*>(at[vectors + i]) + row * k, rows, k, k);
                       };
                       const View<double> sum = rows_of(2, 0, n);
                       if (first) on_stream::copy_elements<double>(stream, rows_of(1, 0, n), sum);
                       on_stream::subtract_product<double, double>(stream, a, MatrixPart::all, 0,
                                                                   rows_of(0, a_.grid().first_col(j), a.cols()), sum);
                   }));
    }
    for (std::size_t gpu = 0; gpu < sums_.size(); ++gpu) {
        if (begun[gpu]) y.add(sums_[gpu].host_view());
    }
}

}  // namespace basalt::detail
