#include <array>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "kernels/cpu/blas/blas.hpp"
#include "kernels/cpu/products/gemm.hpp"
#include "kernels/cpu/rows/row_swap.hpp"
#include "kernels/cpu/simd/kernels.hpp"
#include "kernels/reference/gemm.hpp"
#include "kernels/reference/laswp.hpp"
#include "kernels/reference/trsm.hpp"
#include "tests/common/catch.hpp"
#include "tiles/copy.hpp"

using namespace basalt;

namespace {

/// A matrix of its own storage, row- or column-major, with padding that nothing may touch.
template <class T>
struct Matrix {
    Matrix(Index rows, Index cols, unsigned seed, bool row_major = true, Index padding = 3)
        : values(static_cast<std::size_t>((rows + padding) * (cols + padding)) + 1), row_major(row_major) {
        std::mt19937 random(seed);
        for (T& x : values) x = static_cast<T>(static_cast<double>(random()) * 0x1p-32 - 0.5);
        const Index ld = (row_major ? cols : rows) + padding;
        view = row_major ? View<T>::row_major(values.data(), rows, cols, ld)
                         : View<T>::column_major(values.data(), rows, cols, ld);
    }
    Matrix(const Matrix& other) : values(other.values), row_major(other.row_major) {
        const View<T> v = other.view;
        view = View<T>(values.data(), v.rows(), v.cols(), v.row_stride(), v.col_stride());
    }
    Matrix& operator=(const Matrix&) = delete;

    std::vector<T> values;
    bool row_major;
    View<T> view;
};

/// Largest difference over all of the storage, padding included.
template <class T>
double distance(const Matrix<T>& a, const Matrix<T>& b) {
    double largest = 0;
    for (std::size_t i = 0; i < a.values.size(); ++i) {
        largest = std::max(largest, static_cast<double>(std::abs(a.values[i] - b.values[i])));
    }
    return largest;
}

/// Largest difference of two matrices' elements.
template <class T>
double distance(View<const T> a, View<const T> b) {
    double largest = 0;
    for (Index i = 0; i < a.rows(); ++i) {
        for (Index j = 0; j < a.cols(); ++j) {
            largest = std::max(largest, static_cast<double>(std::abs(a(i, j) - b(i, j))));
        }
    }
    return largest;
}

template <class T>
double tolerance(Index terms) {
    return static_cast<double>(std::numeric_limits<T>::epsilon()) * static_cast<double>(terms + 4);
}

/// Unit lower triangular with small multipliers, so that solves stay well conditioned.
template <class T>
Matrix<T> triangle(Index n, bool row_major = true) {
    Matrix<T> l(n, n, 77, row_major);
    for (Index i = 0; i < n; ++i) {
        for (Index j = 0; j < n; ++j) l.view(i, j) = i == j ? T{2} : l.view(i, j) / static_cast<T>(n);
    }
    return l;
}

template <class T>
std::vector<const simd::Kernels<T>*> all_kernels() {
    std::vector<const simd::Kernels<T>*> found;
    for (const char* name : {"generic", "avx2", "avx512"}) {
        if (const auto* table = simd::find_kernels<T>(name)) found.push_back(table);
    }
    return found;
}

std::vector<Index> random_pivots(Index rows, Index count, unsigned seed) {
    std::mt19937 random(seed);
    std::vector<Index> pivots;
    for (Index k = 0; k < count; ++k) pivots.push_back(k + static_cast<Index>(random()) % (rows - k));
    return pivots;
}

}  // namespace

TEMPLATE_TEST_CASE("BLAS wrappers agree with the reference in every mix of layouts", "[kernels]", float, double) {
    using T = TestType;
    for (int layout = 0; layout < 8; ++layout) {
        for (const auto& [m, n, k] :
             {std::array<Index, 3>{5, 7, 3}, {1, 4, 2}, {4, 1, 1}, {0, 3, 2}, {3, 0, 2}, {3, 2, 0}}) {
            const Matrix<T> a(m, k, 1, layout & 1), b(k, n, 2, layout & 2);
            Matrix<T> c(m, n, 3, layout & 4), expected(c);
            blas::gemm<T>(T(-2), a.view, b.view, T(0.5), c.view);
            reference::gemm<T>(T(-2), a.view, b.view, T(0.5), expected.view);
            CHECK(distance(c, expected) <= tolerance<T>(k));
        }
        for (const Side side : {Side::left, Side::right}) {
            for (const Triangle part : {Triangle::lower, Triangle::upper}) {
                for (const Diagonal diagonal : {Diagonal::unit, Diagonal::stored}) {
                    const Matrix<T> t = triangle<T>(side == Side::left ? 6 : 4, layout & 1);
                    Matrix<T> b(6, 4, 5, layout & 2), expected(b);
                    blas::trsm<T>(side, part, diagonal, T{1}, t.view, b.view);
                    reference::trsm<T>(side, part, diagonal, t.view, expected.view);
                    CHECK(distance(b, expected) <= tolerance<T>(6));
                }
            }
        }
    }
}

TEST_CASE("a BLAS dimension beyond 32 bits is refused", "[kernels]") {
    CHECK(blas::blas_int(std::numeric_limits<int>::max()) == std::numeric_limits<int>::max());
    CHECK_THROWS_AS(blas::blas_int(Index{1} << 31), std::length_error);
}

TEMPLATE_TEST_CASE("a transposed triangle solves the transposed system", "[kernels]", float, double) {
    using T = TestType;
    const Matrix<T> l = triangle<T>(5);
    Matrix<T> b(5, 3, 9), x(b);
    reference::trsm<T>(Side::left, Triangle::upper, Diagonal::stored, transposed(View<const T>(l.view)), x.view);
    for (Index j = 0; j < 3; ++j) {
        for (Index i = 0; i < 5; ++i) {
            T sum{};
            for (Index k = i; k < 5; ++k) sum += l.view(k, i) * x.view(k, j);
            CHECK(std::abs(sum - b.view(i, j)) <= tolerance<T>(5));
        }
    }
}

TEMPLATE_TEST_CASE("every instruction set's packed GEMM agrees with the reference", "[kernels]", float, double) {
    using T = TestType;
    for (const simd::Kernels<T>* kernels : all_kernels<T>()) {
        INFO(kernels->name);
        for (const Index m : {0, 1, 2, 5, 11, 12, 13, 31, 300}) {
            for (const Index n : {0, 1, 3, 4, 8, 15, 16, 17, 33, 65, 260}) {
                for (const Index k : {0, 1, 3, 4, 16, 37, 300}) {
                    const Matrix<T> a(m, k, 1), b(k, n, 2);
                    Matrix<T> c(m, n, 3), expected(c);
                    const Index width = (n + kernels->strip - 1) / kernels->strip * kernels->strip;
                    std::vector<T> packed(static_cast<std::size_t>(k * width));
                    kernels->pack_b(k, n, b.view.data(), b.view.row_stride(), packed.data());
                    kernels->gemm_minus(m, n, k, c.view.data(), c.view.row_stride(), a.view.data(), a.view.row_stride(),
                                        packed.data());
                    reference::gemm<T>(T{-1}, a.view, b.view, T{1}, expected.view);
                    INFO(m << " x " << n << " x " << k);
                    REQUIRE(distance(c, expected) <= tolerance<T>(k));
                }
            }
        }
    }
}

TEMPLATE_TEST_CASE("every instruction set's strip solve agrees with the reference and packs its result", "[kernels]",
                   float, double) {
    using T = TestType;
    for (const simd::Kernels<T>* kernels : all_kernels<T>()) {
        INFO(kernels->name);
        for (const Index k : {0, 1, 2, 11, 12, 13, 40, 129}) {
            for (Index n = 1; n <= kernels->strip; ++n) {
                for (const Diagonal diagonal : {Diagonal::unit, Diagonal::stored}) {
                    const Matrix<T> l = triangle<T>(k);
                    const std::vector<T> inverses(static_cast<std::size_t>(k), T{0.5});  // of its diagonal
                    const T* const scale = diagonal == Diagonal::unit ? nullptr : inverses.data();
                    Matrix<T> b(k, n, 5), expected(b);
                    const Index width = n <= kernels->half_strip ? kernels->half_strip : kernels->strip;
                    std::vector<T> packed(static_cast<std::size_t>(k * width), T{7}), in_place(packed);
                    kernels->pack_b(k, n, b.view.data(), b.view.row_stride(), in_place.data());
                    for (const auto& [done, rows] : {std::pair{Index{0}, k / 2}, {k / 2, k}}) {  // as the panel does
                        kernels->solve_strip(done, rows, n, l.view.data(), l.view.row_stride(), scale, b.view.data(),
                                             b.view.row_stride(), packed.data());
                    }
                    reference::trsm<T>(Side::left, Triangle::lower, diagonal, l.view, expected.view);
                    REQUIRE(distance(b, expected) <= tolerance<T>(k));
                    std::vector<T> repacked(packed);
                    kernels->pack_b(k, n, b.view.data(), b.view.row_stride(), repacked.data());
                    REQUIRE(packed == repacked);
                    kernels->solve_strip(0, k, width, l.view.data(), l.view.row_stride(), scale, in_place.data(), width,
                                         in_place.data());
                    REQUIRE(distance<T>(View<T>::row_major(in_place.data(), k, n, width), expected.view) <=
                            tolerance<T>(k));
                }
            }
        }
    }
}

TEMPLATE_TEST_CASE("a block loaded into columns is updated on the way, unpacked it comes back", "[kernels]", float,
                   double) {
    using T = TestType;
    for (const simd::Kernels<T>* kernels : all_kernels<T>()) {
        INFO(kernels->name);
        for (const Index rows : {0, 1, 7, 24, 25, 100, 131}) {
            for (const Index cols : {1, 8, 13, 33, 64}) {
                for (const Index depth : {0, 1, 64, 259}) {
                    const Matrix<T> a(rows, depth + cols, 1), b(depth + 2, cols, 2);
                    const View<const T> left = a.view.block(0, 0, rows, depth), c = a.view.block(0, depth, rows, cols);
                    const Index strips = (cols + kernels->strip - 1) / kernels->strip;
                    std::vector<T> packed(static_cast<std::size_t>(strips * kernels->strip * (depth + 2)));
                    kernels->pack_b(depth + 2, cols, b.view.data(), b.view.row_stride(), packed.data());
                    Matrix<T> loaded(rows, cols, 3, false), expected(loaded), back(rows, cols, 4), home(back);
                    for (Index i = 0; i < rows; ++i) {
                        for (Index j = 0; j < cols; ++j) expected.view(i, j) = c(i, j);
                    }
                    reference::gemm<T>(T{-1}, left, b.view.block(0, 0, depth, cols), T{1}, expected.view);
                    kernels->load_block(rows, cols, depth, c.data(), left.data(), a.view.row_stride(), packed.data(),
                                        depth + 2, loaded.view.data(), loaded.view.col_stride());
                    REQUIRE(distance(loaded, expected) <= tolerance<T>(depth));
                    kernels->unpack_columns(rows, cols, loaded.view.data(), loaded.view.col_stride(), back.view.data(),
                                            back.view.row_stride());
                    for (Index i = 0; i < rows; ++i) {
                        for (Index j = 0; j < cols; ++j) home.view(i, j) = loaded.view(i, j);
                    }
                    REQUIRE(back.values == home.values);
                }
            }
        }
    }
}

TEMPLATE_TEST_CASE("a column sweep scales, updates and finds the first largest magnitude", "[kernels]", float, double) {
    using T = TestType;
    for (const simd::Kernels<T>* kernels : all_kernels<T>()) {
        INFO(kernels->name);
        for (const Index rows : {0, 1, 9, 63, 64, 65, 200}) {
            for (Index rank = 0; rank <= simd::max_rank; ++rank) {
                for (const simd::Scaling scaling :
                     {simd::Scaling::none, simd::Scaling::multiply, simd::Scaling::divide}) {
                    Matrix<T> l(rows, simd::max_rank + 1, 1, false), expected(l);
                    const std::vector<T> u{T(0.5), T(-0.25), T(0.75), T(1.5)};
                    const T scale(4);  // a power of two: both ways of scaling are exact
                    T* x = &l.values[static_cast<std::size_t>(rank * l.view.col_stride())];
                    const auto found = kernels->update_column(rows, rank, l.view.data(), l.view.col_stride(), scaling,
                                                              scale, u.data(), x);
                    simd::Candidate<T> best{T{-1}, -1};
                    for (Index i = 0; i < rows; ++i) {
                        if (rank > 0) {
                            T& last = expected.view(i, rank - 1);
                            if (scaling == simd::Scaling::multiply) last *= scale;
                            if (scaling == simd::Scaling::divide) last /= scale;
                        }
                        for (Index q = 0; q < rank; ++q) {
                            expected.view(i, rank) -= expected.view(i, q) * u[static_cast<std::size_t>(q)];
                        }
                        const T size = std::abs(l.view(i, rank));
                        if (size > best.magnitude) best = {size, i};
                    }
                    REQUIRE(distance(l, expected) <= tolerance<T>(rank));
                    REQUIRE(found.row == best.row);
                    REQUIRE(found.magnitude == best.magnitude);
                }
            }
        }
    }
}

TEMPLATE_TEST_CASE("the search takes the first of equals and never a NaN", "[kernels]", float, double) {
    using T = TestType;
    constexpr T nan = std::numeric_limits<T>::quiet_NaN(), inf = std::numeric_limits<T>::infinity();
    for (const simd::Kernels<T>* kernels : all_kernels<T>()) {
        INFO(kernels->name);
        const auto search = [kernels](std::vector<T> x) {
            return kernels->update_column(static_cast<Index>(x.size()), 0, nullptr, 0, simd::Scaling::none, T{},
                                          nullptr, x.data());
        };
        for (const Index size : {1, 5, 64, 131, 300}) {
            std::vector<T> x(static_cast<std::size_t>(size), nan);
            CHECK(search(x).row == -1);
            x.back() = T{0};
            CHECK(search(x).row == size - 1);
            for (Index i = 0; i < size; i += 3) x[static_cast<std::size_t>(i)] = i % 2 ? T{-3} : T{3};
            CHECK(search(x).row == 0);
            x[static_cast<std::size_t>(size / 2)] = -inf;
            CHECK(search(x).row == size / 2);
        }
    }
}

TEMPLATE_TEST_CASE("a block update subtracts every rank from every column", "[kernels]", float, double) {
    using T = TestType;
    for (const simd::Kernels<T>* kernels : all_kernels<T>()) {
        INFO(kernels->name);
        for (const Index rows : {0, 1, 31, 64, 70, 259}) {
            for (Index rank = 1; rank <= simd::max_rank; ++rank) {
                for (const Index cols : {1, 3, 12}) {
                    const Matrix<T> l(rows, rank, 1, false), u(rank, cols, 2);
                    Matrix<T> x(rows, cols, 3, false), expected(x);
                    kernels->update_block(rows, cols, rank, l.view.data(), l.view.col_stride(), u.view.data(),
                                          u.view.row_stride(), x.view.data(), x.view.col_stride());
                    reference::gemm<T>(T{-1}, l.view, u.view, T{1}, expected.view);
                    REQUIRE(distance(x, expected) <= tolerance<T>(rank));
                }
            }
        }
    }
}

TEMPLATE_TEST_CASE("a row is updated in the columns asked for and no others", "[kernels]", float, double) {
    using T = TestType;
    constexpr Index width = simd::max_block_cols;
    for (const simd::Kernels<T>* kernels : all_kernels<T>()) {
        INFO(kernels->name);
        const Matrix<T> u(width, width, 1, true, 0);
        for (const auto& [from, to, first, last] : std::vector<std::array<Index, 4>>{
                 {0, 0, 0, 1}, {0, 1, 1, 2}, {0, 16, 16, 64}, {4, 7, 8, 16}, {32, 45, 45, 48}, {0, 63, 63, 64}}) {
            Matrix<T> row(1, width, 2, true, 0), expected(row);
            for (Index k = first; k < last; ++k) {
                for (Index q = from; q < to; ++q) expected.view(0, k) -= row.view(0, q) * u.view(q, k);
            }
            kernels->update_row(first, last, from, to, u.view.data(), width, row.view.data());
            REQUIRE(distance(row, expected) <= tolerance<T>(to - from));
        }
    }
}

TEMPLATE_TEST_CASE("solve_and_pack leaves the operand of the trailing update", "[kernels]", float, double) {
    using T = TestType;
    const Index k = 50, m = 90;
    for (const Index n : {70, 80, 100}) {
        for (const bool row_major : {true, false}) {
            for (const Diagonal diagonal : {Diagonal::unit, Diagonal::stored}) {
                const Matrix<T> l = triangle<T>(k), a(m, k, 2);
                const std::vector<T> scale(static_cast<std::size_t>(k), T{0.5});
                Matrix<T> b(k, n, 3, row_major), c(m, n, 4), b_expected(b), c_expected(c), rows(k, n, 5);
                std::vector<T> packed(static_cast<std::size_t>(packed_size<T>(k, n))), repacked(packed);
                solve_and_pack<T>(l.view, diagonal == Diagonal::unit ? nullptr : scale.data(), b.view, packed.data());
                gemm_minus<T>(c.view, a.view, packed.data());
                reference::trsm<T>(Side::left, Triangle::lower, diagonal, l.view, b_expected.view);
                reference::gemm<T>(T{-1}, a.view, b_expected.view, T{1}, c_expected.view);
                CHECK(distance(b, b_expected) <= tolerance<T>(k));
                CHECK(distance(c, c_expected) <= 4 * tolerance<T>(k));
                copy_elements<T>(b.view, rows.view);
                pack_b<T>(rows.view, repacked.data());
                CHECK(packed == repacked);
            }
        }
    }
}

TEMPLATE_TEST_CASE("row interchanges and their composition move rows as laswp does", "[kernels]", float, double) {
    using T = TestType;
    for (const Index rows : {1, 2, 17, 100}) {
        const Index first = (rows + 1) / 2, second = rows / 3;
        const std::vector<Index> p = random_pivots(rows, first, 1), q = random_pivots(rows - second, rows - second, 2);
        Matrix<T> a(rows, 9, 3), expected(a), permuted(a);
        const View<T> a_columns = a.view.block(0, 2, rows, 5), expected_columns = expected.view.block(0, 2, rows, 5);
        swap_rows(a_columns, p.data(), first);
        swap_rows(a_columns.block(second, 0, rows - second, 5), q.data(), rows - second);
        reference::laswp(expected_columns, p.data(), first);
        reference::laswp(expected_columns.block(second, 0, rows - second, 5), q.data(), rows - second);
        CHECK(a.values == expected.values);

        const RowPermutation permutation(rows, {{0, p.data(), first}, {second, q.data(), rows - second}});
        std::vector<T> scratch(5);
        permutation.apply(permuted.view.block(0, 2, rows, 5), scratch.data());
        CHECK(permuted.values == expected.values);
        CHECK(permutation.moved() <= rows);
    }
}

TEST_CASE("a permutation of rows that stay moves nothing and one out of range is refused", "[kernels]") {
    const std::vector<Index> still{0, 1, 2}, outside{0, 7};
    CHECK(RowPermutation(3, {{0, still.data(), 3}}).moved() == 0);
    CHECK(RowPermutation(0, {}).moved() == 0);
    CHECK_THROWS_AS(RowPermutation(5, {{0, outside.data(), 2}}), std::out_of_range);
}
