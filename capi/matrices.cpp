// Matrices in tiles.
#include <cstddef>
#include <memory>

#include "basalt/generator.hpp"
#include "basalt/lu.hpp"
#include "basalt/products.hpp"
#include "basalt/tuning.hpp"
#include "capi/objects.hpp"

namespace basalt::capi {

namespace {

TileShape tile_of(const basalt_matrix_options* options) {
    return options != nullptr ? TileShape{options->tile_height, options->tile_width} : TileShape{};
}
/// The tile of an m x n matrix of T.
template <class T>
TileShape tile_for(const Runtime& runtime, Index m, Index n, const basalt_matrix_options* options) {
    const TileShape given = tile_of(options);
    if (given != TileShape{} || options == nullptr || options->on_gpu == 0) return given;
    return fitting_tile(runtime, default_lu_tile(runtime.tuning(), m, n, runtime.gpus(), true), m, n, sizeof(T));
}
const char* name_of_matrix(const basalt_matrix_options* options) {
    return options != nullptr && options->name != nullptr ? options->name : "matrix";
}

/// visit(matrix) for the matrix of whatever type.
template <class M, class F>
auto with_matrix(M* matrix, const F& visit) {
    return std::visit(visit, required(matrix, "matrix").matrix);
}

/// The user's array that takes part in a load or store of a matrix.
template <class Element, class T>
View<Element> array_of(const Matrix<T>& matrix, Element* a, Index row_stride, Index col_stride) {
    if (matrix.rows() > 0 && matrix.cols() > 0) required(a, "a");
    return {a, matrix.rows(), matrix.cols(), row_stride, col_stride};
}

basalt_status store_triangle(const char* caller, const basalt_matrix* matrix, basalt_triangle triangle, void* a,
                             Index row_stride, Index col_stride, basalt_place place, OtherSide other) {
    return guarded(caller, [&] {
        with_matrix(matrix, [&]<class T>(const Matrix<T>& source) {
            source.store_triangle(triangle_of(triangle), array_of(source, static_cast<T*>(a), row_stride, col_stride),
                                  place_of(place), other);
        });
    });
}

/// ||A||_oo = || |A| (1, 1, ...) ||_oo. NaN where there is one.
template <class T>
double infinity_norm(const Matrix<T>& a) {
    if (a.rows() == 0 || a.cols() == 0) return 0;
    const Array<double> ones(a.runtime(), a.cols(), "ones"), sums(a.runtime(), a.rows(), "row sums");
    const View<double> one = ones.host_overwrite();
    for (Index j = 0; j < one.rows(); ++j) one[j] = 1;
    subtract_product(a.runtime(), a, MatrixPart::magnitudes, ones, sums);
    const View<double> sum = sums.host_view();
    double norm = 0;
    for (Index i = 0; i < sum.rows(); ++i) {
        if (!(-sum[i] <= norm)) norm = -sum[i];
    }
    return norm;
}

template <class T>
Matrix<T> generated(Runtime& runtime, Index m, Index n, const char* name, std::uint64_t seed, Place place,
                    const basalt_matrix_options* options) {
    std::shared_ptr<const Generator<T>> generator = make_generator<T>(&required(name, "name"), m, n, seed);
    Matrix<T> matrix(runtime, m, n, tile_of(options), name_of_matrix(options));
    matrix.fill(generator, place);
    return matrix;
}

}  // namespace

}  // namespace basalt::capi

namespace capi = basalt::capi;
using basalt::Matrix;
using basalt::Runtime;
using capi::array_of;
using capi::guarded;
using capi::place_of;
using capi::required;
using capi::with_matrix;
using capi::with_type;

basalt_status basalt_matrix_create(basalt_runtime* runtime, basalt_type type, int64_t m, int64_t n,
                                   const basalt_matrix_options* options, basalt_matrix** matrix) {
    return guarded(__func__, [&] {
        auto& made = required(matrix, "matrix");
        with_type(type, [&]<class T>(T) {
            Runtime& rt = required(runtime, "runtime").runtime;
            made = new basalt_matrix{runtime->life, Matrix<T>(rt, m, n, capi::tile_for<T>(rt, m, n, options),
                                                              capi::name_of_matrix(options))};
        });
    });
}

basalt_status basalt_matrix_wrap(basalt_runtime* runtime, basalt_type type, int64_t m, int64_t n, void* a, int64_t lda,
                                 basalt_place place, const basalt_matrix_options* options, basalt_matrix** matrix) {
    return guarded(__func__, [&] {
        auto& made = required(matrix, "matrix");
        if (m > 0 && n > 0) required(static_cast<std::byte*>(a), "a");
        with_type(type, [&]<class T>(T) {
            required(runtime, "runtime");
            made = new basalt_matrix{runtime->life, Matrix<T>::wrap(runtime->runtime, static_cast<T*>(a), m, n, lda,
                                                                    capi::tile_of(options), place_of(place))};
        });
    });
}

basalt_status basalt_matrix_generate(basalt_runtime* runtime, basalt_type type, int64_t m, int64_t n, const char* name,
                                     uint64_t seed, basalt_place place, const basalt_matrix_options* options,
                                     basalt_matrix** matrix) {
    return guarded(__func__, [&] {
        auto& made = required(matrix, "matrix");
        with_type(type, [&]<class T>(T) {
            made = new basalt_matrix{runtime->life, capi::generated<T>(required(runtime, "runtime").runtime, m, n, name,
                                                                       seed, place_of(place), options)};
        });
    });
}

void basalt_matrix_destroy(basalt_matrix* matrix) { delete matrix; }

int64_t basalt_matrix_rows(const basalt_matrix* matrix) {
    return matrix != nullptr ? with_matrix(matrix, [](const auto& a) { return a.rows(); }) : 0;
}
int64_t basalt_matrix_cols(const basalt_matrix* matrix) {
    return matrix != nullptr ? with_matrix(matrix, [](const auto& a) { return a.cols(); }) : 0;
}

basalt_status basalt_matrix_load(basalt_matrix* matrix, const void* a, int64_t row_stride, int64_t col_stride,
                                 basalt_place place) {
    return guarded(__func__, [&] {
        with_matrix(matrix, [&]<class T>(Matrix<T>& target) {
            target.load(array_of(target, static_cast<const T*>(a), row_stride, col_stride), place_of(place));
        });
    });
}
basalt_status basalt_matrix_store(const basalt_matrix* matrix, void* a, int64_t row_stride, int64_t col_stride,
                                  basalt_place place) {
    return guarded(__func__, [&] {
        with_matrix(matrix, [&]<class T>(const Matrix<T>& source) {
            source.store(array_of(source, static_cast<T*>(a), row_stride, col_stride), place_of(place));
        });
    });
}
basalt_status basalt_matrix_load_triangle(basalt_matrix* matrix, basalt_triangle triangle, const void* a,
                                          int64_t row_stride, int64_t col_stride, basalt_place place) {
    return guarded(__func__, [&] {
        with_matrix(matrix, [&]<class T>(Matrix<T>& target) {
            target.load_triangle(capi::triangle_of(triangle),
                                 array_of(target, static_cast<const T*>(a), row_stride, col_stride), place_of(place));
        });
    });
}
basalt_status basalt_matrix_store_triangle(const basalt_matrix* matrix, basalt_triangle triangle, void* a,
                                           int64_t row_stride, int64_t col_stride, basalt_place place) {
    return capi::store_triangle(__func__, matrix, triangle, a, row_stride, col_stride, place,
                                basalt::OtherSide::untouched);
}
basalt_status basalt_matrix_store_triangular(const basalt_matrix* matrix, basalt_triangle triangle, void* a,
                                             int64_t row_stride, int64_t col_stride, basalt_place place) {
    return capi::store_triangle(__func__, matrix, triangle, a, row_stride, col_stride, place, basalt::OtherSide::zeros);
}
basalt_status basalt_matrix_at(const basalt_matrix* matrix, int64_t i, int64_t j, double* value) {
    return guarded(__func__, [&] {
        double& element = required(value, "value");
        with_matrix(matrix, [&]<class T>(const Matrix<T>& a) {
            capi::require_range("i", i, 0, a.rows() - 1);
            capi::require_range("j", j, 0, a.cols() - 1);
            element = static_cast<double>(a.at(i, j));
        });
    });
}
basalt_status basalt_matrix_norm(const basalt_matrix* matrix, double* norm) {
    return guarded(__func__, [&] {
        double& found = required(norm, "norm");
        found = with_matrix(matrix, [](const auto& a) { return capi::infinity_norm(a); });
    });
}
