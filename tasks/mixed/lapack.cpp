// dsgesv and dsposv on the user's arrays.
#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "basalt/mixed.hpp"
#include "runtime/engine/cancellable_call.hpp"
#include "tasks/choices/require.hpp"
#include "tasks/mixed/solve.hpp"

namespace basalt {

namespace {

using detail::require;

void require_size(const char* call, const char* name, Index size) {
    require(size >= 0, std::string(call) + ": " + name + " = " + std::to_string(size) + "; allowed is at least 0");
}

void require_gpu(const char* call, const Runtime& runtime, std::optional<int> gpu) {
    require(!gpu || (*gpu >= 0 && *gpu < runtime.gpus()),
            std::string(call) + ": arrays_on_gpu = " + std::to_string(gpu.value_or(0)) + "; the runtime uses " +
                std::to_string(runtime.gpus()) + " GPUs");
}

void require_columns(const char* call, const char* name, Index n, Index ld, const void* array, bool empty) {
    const Index least = std::max<Index>(1, n);
    require(ld >= least, std::string(call) + ": ld" + name + " = " + std::to_string(ld) + "; allowed is at least " +
                             std::to_string(least));
    require(array != nullptr || empty, std::string(call) + ": the array " + name + " is missing (null)");
}

MixedOptions options_of_lapack(MixedOptions options, MixedMethod method) {
    options.method = method;
    options.fallback = Fallback::in_place;
    return options;
}

/// The tiles of A, and where its array is converted.
struct Conversion {
    TileShape tile;
    Place place;
};

Conversion conversion_for(const Runtime& runtime, const MixedOptions& options, Index n) {
    const bool on_gpu = options.arrays_on_gpu.has_value();
    const FactorProblem problem{.m = n, .n = n, .precision = 's', .on_gpus = on_gpu, .without_cpu = on_gpu};
    FactorMode mode = options.mode;
    if (mode == FactorMode::automatic) {
        LuOptions lu = options.lu;
        lu.products = options.products.value_or(ProductPrecision::split_bf16);
        mode = choose_lu_mode(runtime, lu, problem).mode;
    }
    if (mode == FactorMode::cpu) return {default_lu_tile(runtime.tuning(), n, n, 0), Place::cpu()};
    const TileShape usual = default_lu_tile(runtime.tuning(), n, n, runtime.gpus(), on_gpu && mode == FactorMode::gpu);
    const TileShape tile = fitting_tile(runtime, usual, n, n, sizeof(double));
    return {tile, on_gpu ? Place::gpu(*options.arrays_on_gpu) : Place::any()};
}

/// The columns of a matrix in the host's memory: cores can store them without failing.
void bring_to_host(Runtime& runtime, const Matrix<double>& a) {
    runtime.wait();
    for (Index j = 0; j < a.tile_cols(); ++j) a.host_view(j);
}

/// B and X in tiles like those of A.
class RightHandSides {
  public:
    RightHandSides(Runtime& runtime, Index n, Index nrhs, TileShape tile, std::optional<int> gpu)
        : rt_(runtime),
          place_(gpu ? Place::gpu(*gpu) : Place::cpu()),
          b_(runtime, n, nrhs, {tile.height, std::clamp<Index>(nrhs, 1, tile.width)}, "B"),
          x_(runtime, n, nrhs, b_.tile_shape(), "X") {}

    MixedResult solve(Matrix<double>& a, View<const double> b, const MixedOptions& options, LuFactors<double>& lu) {
        b_.load(b, place_);
        return detail::solve_mixed(rt_, a, b_, x_, options, lu);
    }
    /// Who converts the user's arrays.
    Place place() const { return place_; }
    void store(View<double> x) const {
        if (place_.is_cpu()) bring_to_host(rt_, x_);
        x_.store(x, place_);
    }

  private:
    Runtime& rt_;
    const Place place_;
    Matrix<double> b_, x_;
};

}  // namespace

MixedResult dsgesv(Runtime& runtime, Index n, Index nrhs, double* a, Index lda, Index* ipiv, const double* b, Index ldb,
                   double* x, Index ldx, const MixedOptions& options) {
    require_size("dsgesv", "n", n);
    require_size("dsgesv", "nrhs", nrhs);
    require_columns("dsgesv", "a", n, lda, a, n == 0);
    require_columns("dsgesv", "b", n, ldb, b, n == 0 || nrhs == 0);
    require_columns("dsgesv", "x", n, ldx, x, n == 0 || nrhs == 0);
    require_gpu("dsgesv", runtime, options.arrays_on_gpu);
    const MixedOptions of_lapack = options_of_lapack(options, MixedMethod::lu);
    return detail::cancellable(runtime, [&] {
        const auto [tile, place] = conversion_for(runtime, of_lapack, n);
        Matrix<double> matrix(runtime, n, n, tile, "A");
        matrix.load(View<const double>::column_major(a, n, n, lda), place);
        RightHandSides sides(runtime, n, nrhs, tile, options.arrays_on_gpu);
        LuFactors<double> lu;
        const MixedResult result =
            sides.solve(matrix, View<const double>::column_major(b, n, nrhs, ldb), of_lapack, lu);
        if (result.fell_back() && sides.place().is_cpu()) bring_to_host(runtime, matrix);
        if (result.info == 0) sides.store(View<double>::column_major(x, n, nrhs, ldx));
        if (result.fell_back()) {
            matrix.store(View<double>::column_major(a, n, n, lda), sides.place());
            const std::vector<Index> pivots = lu.pivots();
            if (ipiv != nullptr) std::copy(pivots.begin(), pivots.end(), ipiv);
        }
        runtime.wait();
        return result;
    });
}

MixedResult dsposv(Runtime& runtime, Triangle triangle, Index n, Index nrhs, double* a, Index lda, const double* b,
                   Index ldb, double* x, Index ldx, const MixedOptions& options) {
    require_size("dsposv", "n", n);
    require_size("dsposv", "nrhs", nrhs);
    require_columns("dsposv", "a", n, lda, a, n == 0);
    require_columns("dsposv", "b", n, ldb, b, n == 0 || nrhs == 0);
    require_columns("dsposv", "x", n, ldx, x, n == 0 || nrhs == 0);
    require_gpu("dsposv", runtime, options.arrays_on_gpu);
    const MixedOptions of_lapack = options_of_lapack(options, MixedMethod::cholesky);
    return detail::cancellable(runtime, [&] {
        const auto [tile, place] = conversion_for(runtime, of_lapack, n);
        // the upper triangle of a column-major array is the lower one of the row-major array with the same elements
        const View<double> array = triangle == Triangle::lower ? View<double>::column_major(a, n, n, lda)
                                                               : View<double>::row_major(a, n, n, lda);
        Matrix<double> matrix(runtime, n, n, tile, "A");
        matrix.load_triangle(Triangle::lower, array, place);
        detail::mirror_lower_triangle(matrix, place.is_cpu() ? detail::ColumnsAt::cores : detail::ColumnsAt::gpus);
        RightHandSides sides(runtime, n, nrhs, tile, options.arrays_on_gpu);
        LuFactors<double> none;
        const MixedResult result =
            sides.solve(matrix, View<const double>::column_major(b, n, nrhs, ldb), of_lapack, none);
        if (result.fell_back() && sides.place().is_cpu()) bring_to_host(runtime, matrix);
        if (result.info == 0) sides.store(View<double>::column_major(x, n, nrhs, ldx));
        if (result.fell_back()) matrix.store_triangle(Triangle::lower, array, sides.place());
        runtime.wait();
        return result;
    });
}

}  // namespace basalt
