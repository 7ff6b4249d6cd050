#include "tasks/mixed/double_solve.hpp"

#include <algorithm>
#include <limits>

#include "kernels/on_stream.hpp"
#include "runtime/engine/gpu_data.hpp"
#include "runtime/engine/runtime_access.hpp"
#include "runtime/storage/matrix_storage.hpp"
#include "tasks/mixed/double_columns.hpp"
#include "tasks/mixed/product.hpp"
#include "tiles/copy.hpp"

namespace basalt::detail {

namespace {

/// Submits a copy of a matrix, on the GPUs if its columns are not at home.
Matrix<double> copy_of(Runtime& runtime, const Matrix<double>& a) {
    Matrix<double> copy(runtime, a.rows(), a.cols(), a.tile_shape(), "copy of A");
    const MatrixStorage &from = *a.share_storage(), &to = *copy.share_storage();
    const Index width = a.tile_shape().width, rows = from.grid().padded_rows();
    for (Index j = 0; j < a.tile_cols(); ++j) {
        const bool at_home = gpu_data(runtime).gpus_to_deal_to() == 0 || gpu_data(runtime).at_home(*from.datum(j));
        const Index height = at_home ? std::max<Index>(1, (Index{1} << 17) / width) : std::max<Index>(rows, 1);
        for (Index begin = 0; begin < rows; begin += height) {
            const Index end = std::min(begin + height, rows);
            const auto source = from.region<double>(j, begin, end, 0, width);
            const auto target = to.region<double>(j, begin, end, 0, width);
            const TaskOptions options{
                .name = "copy", .tile = {static_cast<int>(j)}, .place = at_home ? Place::cpu() : to.place_of(j)};
            if (at_home) {
                runtime.submit(options, read(source), write(target),
                               [](View<const double> s, View<double> t) { basalt::copy_elements<double>(s, t); });
            } else {
                runtime.submit(options, read(source), write(target),
                               on_any_device([](Stream stream, View<const double> s, View<double> t) {
                                   on_stream::copy_elements<double>(stream, s, t);
                               }));
            }
        }
    }
    return copy;
}

}  // namespace

DoubleSolve::DoubleSolve(Runtime& runtime, Matrix<double>& a, const MixedOptions& options)
    : rt_(runtime), a_(a), options_(options) {
    if (options.fallback == Fallback::copy) copy_ = copy_of(runtime, a);
}

Index DoubleSolve::solve(const Vectors& b, Matrix<double>& x) {
    if (b.n() == 0) return 0;
    x.load(b.view());
    Index info = 0;
    if (options_.method == MixedMethod::cholesky) {
        CholeskyOptions options = options_.cholesky;
        options.mode = options_.mode;
        const auto cholesky = cholesky_factor(rt_, factored(), Triangle::lower, options);
        info = cholesky.info();
        if (info == 0) cholesky_solve(rt_, cholesky, x);
    } else {
        LuOptions options = options_.lu;
        options.mode = options_.mode;
        options.left_interchanges = true;
        lu_ = lu_factor(rt_, factored(), options);
        info = lu_.info();
        if (info == 0) lu_solve(rt_, lu_, x);
    }
    rt_.wait();
    return info;
}

double DoubleSolve::backward_error(const Vectors& b, const Matrix<double>& x, double norm) const {
    if (!copy_) return std::numeric_limits<double>::quiet_NaN();
    const Index n = b.n(), width = x.tile_shape().width;
    Vectors solution(n, b.k()), residual = b;
    for (Index c = 0; c < b.k(); ++c) {
        const View<double> column = x.host_view(c / width);
        for (Index i = 0; i < n; ++i) solution(i, c) = column(i, c % width);
    }
    const DoubleColumns columns(a_);
    const MatrixStorage& storage = *a_.share_storage();
    const bool at_home = gpu_data(rt_).gpus_to_deal_to() == 0 || n == 0 || gpu_data(rt_).at_home(*storage.datum(0));
    DoubleProduct(rt_, columns, at_home ? nullptr : &storage).subtract(solution, residual);
    return detail::backward_error(residual, norm, solution, b);
}

}  // namespace basalt::detail
