// What basalt.linalg calls: factorizations and solutions of arrays whose shapes and types Python has checked.
#include "python/src/module.hpp"
#include "python/src/operand.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

namespace basalt_python {

namespace {

using In = nb::ndarray<nb::ro>;
using Out = nb::ndarray<>;
using Pivots = nb::ndarray<int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Diagonal = nb::ndarray<double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

/// Objects of the C interface that end with their scope.
struct End {
    void operator()(basalt_matrix* matrix) const { basalt_matrix_destroy(matrix); }
    void operator()(basalt_factors* factors) const { basalt_factors_destroy(factors); }
};
using MatrixOwner = std::unique_ptr<basalt_matrix, End>;
using FactorsOwner = std::unique_ptr<basalt_factors, End>;

MatrixOwner empty_matrix(basalt_runtime* rt, basalt_type type, int64_t m, int64_t n, bool on_gpu = false) {
    basalt_matrix* made = nullptr;
    const basalt_matrix_options options{.tile_height = 0, .tile_width = 0, .name = nullptr, .on_gpu = on_gpu};
    check(basalt_matrix_create(rt, type, m, n, &options, &made));
    return MatrixOwner(made);
}
MatrixOwner loaded(basalt_runtime* rt, const Operand& a) {
    const bool on_gpu = a.place != BASALT_ANY && a.place != BASALT_CPU;
    MatrixOwner made = empty_matrix(rt, a.type, a.rows, a.cols, on_gpu);
    check(basalt_matrix_load(made.get(), a.data, a.row_stride, a.col_stride, a.place));
    return made;
}
/// Complete after wait().
void store(const MatrixOwner& matrix, const Operand& a) {
    check(basalt_matrix_store(matrix.get(), a.data, a.row_stride, a.col_stride, a.place));
}
template <class Factor>
FactorsOwner factored(const Factor& factor) {
    basalt_factors* made = nullptr;
    check(factor(&made));
    return FactorsOwner(made);
}
int64_t info_of(const FactorsOwner& factors) {
    int64_t info = 0;
    check(basalt_factors_info(factors.get(), &info));
    return info;
}
/// Waits for what the calculation submitted; what it stored is complete then.
void wait(basalt_runtime* rt) { check(basalt_wait(rt)); }

double product(int64_t a, int64_t b, int64_t c) {
    return static_cast<double>(a) * static_cast<double>(b) * static_cast<double>(c);
}
basalt_triangle triangle_of(bool lower) { return lower ? BASALT_LOWER : BASALT_UPPER; }

/// A = P L U into `out`. Returns INFO; pivots count from 0.
int64_t lu_factor(PyRuntime& runtime, const In& a, const Out& out, const Pivots& pivots) {
    const Operand from = operand(a), to = operand(out);
    int64_t info = 0;
    calculate(runtime, product(from.rows, from.cols, std::min(from.rows, from.cols)), [&] {
        basalt_runtime* const rt = runtime.handle();
        const MatrixOwner matrix = loaded(rt, from);
        const FactorsOwner lu = factored([&](auto f) { return basalt_lu_factor(matrix.get(), nullptr, f); });
        store(matrix, to);
        info = info_of(lu);
        check(basalt_factors_pivots(lu.get(), pivots.data()));
        wait(rt);
    });
    for (size_t k = 0; k < pivots.shape(0); ++k) --pivots.data()[k];
    return info;
}

/// The diagonal of U and the pivots of A = P L U, for determinants: the factors stay in tiles.
void lu_diagonal(PyRuntime& runtime, const In& a, const Diagonal& diagonal, const Pivots& pivots) {
    const Operand from = operand(a);
    calculate(runtime, product(from.rows, from.rows, from.rows), [&] {
        const MatrixOwner matrix = loaded(runtime.handle(), from);
        const FactorsOwner lu = factored([&](auto f) { return basalt_lu_factor(matrix.get(), nullptr, f); });
        check(basalt_factors_pivots(lu.get(), pivots.data()));
        for (int64_t k = 0; k < from.rows; ++k) check(basalt_matrix_at(matrix.get(), k, k, diagonal.data() + k));
    });
    for (size_t k = 0; k < pivots.shape(0); ++k) --pivots.data()[k];
}

/// The triangle of a positive definite A becomes its factor in `out`. Zeros become the other one on a GPU; on the host,
/// where new arrays of zeros cost next to nothing, it is not touched.
int64_t cholesky(PyRuntime& runtime, const In& a, const Out& out, bool lower) {
    const Operand from = operand(a), to = operand(out);
    int64_t info = 0;
    calculate(runtime, product(from.rows, from.rows, from.rows) / 2, [&] {
        basalt_runtime* const rt = runtime.handle();
        const basalt_triangle triangle = triangle_of(lower);
        const basalt_place place = from.place == BASALT_ANY ? BASALT_CPU : from.place;
        const MatrixOwner matrix = empty_matrix(rt, from.type, from.rows, from.rows);
        check(basalt_matrix_load_triangle(matrix.get(), triangle, from.data, from.row_stride, from.col_stride, place));
        const FactorsOwner l =
            factored([&](auto f) { return basalt_cholesky_factor(matrix.get(), triangle, nullptr, f); });
        const auto stored = place == BASALT_CPU ? basalt_matrix_store_triangle : basalt_matrix_store_triangular;
        check(stored(matrix.get(), triangle, to.data, to.row_stride, to.col_stride, place));
        info = info_of(l);
        wait(rt);
    });
    return info;
}

/// Which factorization solve() uses.
enum class Kind { general = 0, positive_lower = 1, positive_upper = 2 };

FactorsOwner factored_for(Kind kind, const MatrixOwner& matrix) {
    return factored([&](auto f) {
        if (kind == Kind::general) return basalt_lu_factor(matrix.get(), nullptr, f);
        return basalt_cholesky_factor(matrix.get(), triangle_of(kind == Kind::positive_lower), nullptr, f);
    });
}

/// X of A X = B or A^T X = B. Returns INFO and, if it is 0 and `condition`, the reciprocal condition number, otherwise
/// 1; X is written if INFO is 0.
std::pair<int64_t, double> solve(PyRuntime& runtime, const In& a, const In& b, const Out& x, int kind, bool transposed,
                                 bool condition) {
    const Operand matrix = operand(a), right = operand(b), solution = operand(x);
    std::pair<int64_t, double> outcome{0, 1};
    calculate(runtime, product(matrix.rows, matrix.rows, matrix.rows + right.cols), [&] {
        basalt_runtime* const rt = runtime.handle();
        const MatrixOwner tiles = loaded(rt, matrix);
        double norm = 0;
        if (condition) check(basalt_matrix_norm(tiles.get(), &norm));
        const FactorsOwner factors = factored_for(static_cast<Kind>(kind), tiles);
        outcome.first = info_of(factors);
        if (outcome.first != 0) return wait(rt);
        const MatrixOwner columns = loaded(rt, right);
        check(transposed ? basalt_factors_solve_transposed(factors.get(), columns.get())
                         : basalt_factors_solve(factors.get(), columns.get()));
        store(columns, solution);
        if (condition) check(basalt_factors_reciprocal_condition(factors.get(), norm, &outcome.second));
        wait(rt);
    });
    return outcome;
}

/// The view of an array in double precision, or of its transpose.
basalt::View<double> view_of(const Operand& a, basalt::MatrixOp op = basalt::MatrixOp::plain) {
    auto* const data = static_cast<double*>(a.data);
    if (op == basalt::MatrixOp::transposed) return {data, a.cols, a.rows, a.col_stride, a.row_stride};
    return {data, a.rows, a.cols, a.row_stride, a.col_stride};
}
basalt::Place cpp_place_of(const Operand& a) {
    return a.place < BASALT_GPU(0) ? basalt::Place::any() : basalt::Place::gpu(a.place - BASALT_GPU(0));
}

/// X of A X = B or A^T X = B by factors of lower precision and refinement; by Cholesky if A is positive definite, of
/// which both triangles are given. Returns INFO; X is written if it is 0.
int64_t solve_mixed(PyRuntime& runtime, const In& a, const In& b, const Out& x, bool positive, bool transposed) {
    const Operand matrix = operand(a), right = operand(b), solution = operand(x);
    int64_t info = 0;
    calculate(runtime, product(matrix.rows, matrix.rows, matrix.rows + right.cols) / 2, [&] {
        basalt::Runtime& rt = runtime.cpp();
        const int64_t n = matrix.rows;
        basalt::Matrix<double> tiles(rt, n, n);
        const auto op = transposed ? basalt::MatrixOp::transposed : basalt::MatrixOp::plain;
        tiles.load(view_of(matrix, op), cpp_place_of(matrix));
        const basalt::TileShape shape{tiles.tile_shape().height,
                                      std::clamp<int64_t>(right.cols, 1, tiles.tile_shape().width)};
        basalt::Matrix<double> sides(rt, n, right.cols, shape), solved(rt, n, right.cols, shape);
        sides.load(view_of(right), cpp_place_of(right));
        basalt::MixedOptions options;
        options.method = positive ? basalt::MixedMethod::cholesky : basalt::MixedMethod::lu;
        options.fallback = basalt::Fallback::in_place;  // of the tiles
        info = basalt::mixed_solve(rt, tiles, sides, solved, options).info;
        if (info == 0) solved.store(view_of(solution), cpp_place_of(solution));
        rt.wait();
    });
    return info;
}

/// B, in Fortran order, becomes the solution with factors in Fortran order.
void lu_solve(PyRuntime& runtime, const In& lu, const Pivots& pivots, const Out& b, bool transposed) {
    const Operand a = operand(lu), x = operand(b);
    std::vector<int64_t> from_one(pivots.data(), pivots.data() + pivots.shape(0));
    for (int64_t& pivot : from_one) ++pivot;
    calculate(runtime, product(a.rows, a.rows, x.cols), [&] {
        const basalt_op op = transposed ? BASALT_TRANSPOSED : BASALT_PLAIN;
        basalt_runtime* const rt = runtime.handle();
        if (a.type == BASALT_FLOAT) {
            check(basalt_sgetrs(rt, op, a.rows, x.cols, static_cast<float*>(a.data), a.ld(), from_one.data(),
                                static_cast<float*>(x.data), x.ld()));
        } else {
            check(basalt_dgetrs(rt, op, a.rows, x.cols, static_cast<double*>(a.data), a.ld(), from_one.data(),
                                static_cast<double*>(x.data), x.ld()));
        }
    });
}
void cholesky_solve(PyRuntime& runtime, const In& factor, bool lower, const Out& b) {
    const Operand a = operand(factor), x = operand(b);
    calculate(runtime, product(a.rows, a.rows, x.cols), [&] {
        basalt_runtime* const rt = runtime.handle();
        if (a.type == BASALT_FLOAT) {
            check(basalt_spotrs(rt, triangle_of(lower), a.rows, x.cols, static_cast<float*>(a.data), a.ld(),
                                static_cast<float*>(x.data), x.ld()));
        } else {
            check(basalt_dpotrs(rt, triangle_of(lower), a.rows, x.cols, static_cast<double*>(a.data), a.ld(),
                                static_cast<double*>(x.data), x.ld()));
        }
    });
}

/// A = Q R. `r`: LAPACK's factors, R on and above the diagonal; tau: min(m, n) numbers; `q`: columns of Q, or None.
void qr(PyRuntime& runtime, const In& a, const Out& r, const Out& tau, const std::optional<Out>& q) {
    const Operand from = operand(a), to = operand(r), reflectors = operand(tau);
    const std::optional<Operand> columns = q ? std::optional(operand(*q)) : std::nullopt;
    calculate(runtime, 2 * product(from.rows, from.cols, std::min(from.rows, from.cols)), [&] {
        basalt_runtime* const rt = runtime.handle();
        const MatrixOwner matrix = loaded(rt, from);
        const FactorsOwner factors = factored([&](auto f) { return basalt_qr_factor(matrix.get(), nullptr, f); });
        store(matrix, to);
        if (reflectors.place == BASALT_ANY) check(basalt_factors_tau(factors.get(), reflectors.data));
        MatrixOwner formed;
        if (columns) {
            basalt_matrix* made = nullptr;
            check(basalt_qr_form(factors.get(), columns->cols, &made));
            formed.reset(made);
            store(formed, *columns);
        }
        wait(rt);
    });
}

/// Least squares or least norm: B (max(m, n) rows) becomes the solution, see basalt_dgels(). Returns INFO and the
/// reciprocal condition number of the triangular factor.
std::pair<int64_t, double> least_squares(PyRuntime& runtime, const In& a, const Out& b) {
    const Operand from = operand(a), right = operand(b);
    std::pair<int64_t, double> outcome{0, 0};
    calculate(runtime, 2 * product(from.rows, from.cols, std::min(from.rows, from.cols)), [&] {
        basalt_runtime* const rt = runtime.handle();
        const MatrixOwner matrix = loaded(rt, from), columns = loaded(rt, right);
        const FactorsOwner factors =
            factored([&](auto f) { return basalt_least_squares(matrix.get(), columns.get(), nullptr, f); });
        outcome.first = info_of(factors);
        if (outcome.first == 0) {
            store(columns, right);
            check(basalt_factors_reciprocal_condition(factors.get(), 0, &outcome.second));
        }
        wait(rt);
    });
    return outcome;
}

/// basalt.Matrix and basalt.Factors: they stay in the runtime.
class PyMatrix {
  public:
    PyMatrix(PyRuntime& runtime, int type, int64_t m, int64_t n)
        : matrix(empty_matrix(runtime.handle(), static_cast<basalt_type>(type), m, n)) {}
    MatrixOwner matrix;
};
class PyFactors {
  public:
    explicit PyFactors(FactorsOwner made) : factors(std::move(made)) {}
    FactorsOwner factors;
};

/// Calls of the C interface that submit and return: the GIL is released, since they may run tasks.
template <class Call>
auto without_gil(const Call& call) {
    const nb::gil_scoped_release released;
    return call();
}

PyFactors factor_matrix(const PyMatrix& a, const std::string& kind) {
    return without_gil([&] {
        return PyFactors(factored([&](auto f) {
            if (kind == "lu") return basalt_lu_factor(a.matrix.get(), nullptr, f);
            if (kind == "qr") return basalt_qr_factor(a.matrix.get(), nullptr, f);
            return basalt_cholesky_factor(a.matrix.get(), triangle_of(kind == "lower"), nullptr, f);
        }));
    });
}

void bind_matrices(nb::module_& module) {
    nb::class_<PyFactors>(module, "Factors")
        .def_prop_ro("info", [](const PyFactors& f) { return without_gil([&] { return info_of(f.factors); }); })
        .def("pivots",
             [](const PyFactors& f, const Pivots& pivots) {
                 check(without_gil([&] { return basalt_factors_pivots(f.factors.get(), pivots.data()); }));
             })
        .def("solve",
             [](const PyFactors& f, const PyMatrix& b, bool transposed) {
                 check(without_gil([&] {
                     return transposed ? basalt_factors_solve_transposed(f.factors.get(), b.matrix.get())
                                       : basalt_factors_solve(f.factors.get(), b.matrix.get());
                 }));
             })
        .def("reciprocal_condition",
             [](const PyFactors& f, double norm) {
                 double condition = 0;
                 check(without_gil(
                     [&] { return basalt_factors_reciprocal_condition(f.factors.get(), norm, &condition); }));
                 return condition;
             })
        .def("form_q", [](const PyFactors& f, int64_t cols, PyMatrix& q) {
            basalt_matrix* made = nullptr;
            check(without_gil([&] { return basalt_qr_form(f.factors.get(), cols, &made); }));
            q.matrix.reset(made);
        });
    nb::class_<PyMatrix>(module, "Matrix")
        .def(nb::init<PyRuntime&, int, int64_t, int64_t>(), nb::keep_alive<1, 2>())
        .def("load",
             [](const PyMatrix& a, PyRuntime& rt, const In& array) {
                 const Operand from = operand(array);
                 without_gil([&] {
                     check(basalt_matrix_load(a.matrix.get(), from.data, from.row_stride, from.col_stride, from.place));
                     wait(rt.handle());
                 });
             })
        .def("store",
             [](const PyMatrix& a, PyRuntime& rt, const Out& array) {
                 const Operand to = operand(array);
                 without_gil([&] {
                     store(a.matrix, to);
                     wait(rt.handle());
                 });
             })
        .def_prop_ro("norm",
                     [](const PyMatrix& a) {
                         double norm = 0;
                         check(without_gil([&] { return basalt_matrix_norm(a.matrix.get(), &norm); }));
                         return norm;
                     })
        .def("factor", &factor_matrix);
}

}  // namespace

void bind_linalg(nb::module_& module) {
    module.def("lu_factor", &lu_factor);
    module.def("lu_diagonal", &lu_diagonal);
    module.def("cholesky", &cholesky);
    module.def("solve", &solve);
    module.def("solve_mixed", &solve_mixed);
    module.def("lu_solve", &lu_solve);
    module.def("cholesky_solve", &cholesky_solve);
    module.def("qr", &qr, nb::arg("runtime"), nb::arg("a"), nb::arg("r"), nb::arg("tau"), nb::arg("q").none());
    module.def("least_squares", &least_squares);
    bind_matrices(module);
}

}  // namespace basalt_python
