#pragma once

// Kernels against plain loops. `Kernels` calls the kernels of a GPU (cuda_kernels.hpp) or their CPU twins
// (cpu_twins.hpp); its Memory<T> holds their operands.

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "kernels/cuda/qr/workspace.hpp"
#include "kernels/on_stream.hpp"
#include "tests/common/catch.hpp"
#include "tests/kernels/host_columns.hpp"

namespace basalt_tests {

using namespace basalt;

/// V in LAPACK's form: ones on the diagonal, zeros above it.
template <class T>
T element_of_v(View<T> stored, Index i, Index j) {
    return i > j ? stored(i, j) : i == j ? T{1} : T{0};
}

template <class T, class Kernels>
void check_stored_reflectors(Kernels& kernels) {
    for (const auto& [m, k] : {std::array<Index, 2>{1, 1}, {5, 3}, {300, 70}}) {
        HostColumns<T> v(1, m, k, 1), r(1, k, k, 2), a(1, m, k, 3);
        typename Kernels::template Memory<T> device_v(kernels, v.values), device_r(kernels, r.values),
            device_a(kernels, a.values);
        kernels(on_stream::store_reflectors<T>, View<const T>(v.on(device_v.data()).column(0)),
                View<const T>(r.on(device_r.data()).column(0)), a.on(device_a.data()).column(0));
        for (Index i = 0; i < m; ++i) {
            for (Index j = 0; j < k; ++j) a.column(0)(i, j) = i <= j ? r.column(0)(i, j) : v.column(0)(i, j);
        }
        INFO(m << " x " << k);
        REQUIRE(device_a.read() == a.values);

        kernels(on_stream::explicit_reflectors<T>, View<const T>(a.on(device_a.data()).column(0)),
                v.on(device_v.data()).column(0));
        for (Index i = 0; i < m; ++i) {
            for (Index j = 0; j < k; ++j) v.column(0)(i, j) = element_of_v(a.column(0), i, j);
        }
        REQUIRE(device_v.read() == v.values);
    }
}

/// C - V S V^T C for each tile column, with sums in double precision; S is T^T or T.
template <class T>
void reflect(View<T> v, View<T> s, View<T> c) {
    const Index k = v.cols();
    for (Index j = 0; j < c.cols(); ++j) {
        std::vector<double> w(at(k)), x(at(k));
        for (Index p = 0; p < k; ++p) {
            for (Index i = 0; i < v.rows(); ++i) w[at(p)] += double{v(i, p)} * double{c(i, j)};
        }
        for (Index p = 0; p < k; ++p) {
            for (Index q = 0; q < k; ++q) x[at(p)] += double{s(p, q)} * w[at(q)];
        }
        for (Index i = 0; i < v.rows(); ++i) {
            double sum = c(i, j);
            for (Index p = 0; p < k; ++p) sum -= double{v(i, p)} * x[at(p)];
            c(i, j) = static_cast<T>(sum);
        }
    }
}

template <class T, class Kernels>
void check_reflected_columns(Kernels& kernels) {
    for (const auto& [m, k, columns, width] :
         {std::array<Index, 4>{4, 0, 1, 3}, {1, 1, 1, 1}, {40, 8, 3, 9}, {300, 32, 2, 64}}) {
        for (const bool transposed : {false, true}) {
            for (const Multiplication products : {Multiplication::plain, Multiplication::by_slices}) {
                const bool by_slices = products == Multiplication::by_slices;
                if (by_slices && sizeof(T) != sizeof(float)) continue;
                HostColumns<T> v(1, m, k, 1, 0), t(1, k, k, 2, 0), c(columns, m, width, 3, 0);
                for (Index j = 0; j < k; ++j) {
                    for (Index i = 0; i < m; ++i)
                        v.column(0)(i, j) = element_of_v(v.column(0), i, j) / (i == j ? 1 : 8);
                    for (Index i = 0; i < k; ++i) t.column(0)(i, j) = i <= j ? t.column(0)(i, j) / 4 : T{0};
                }
                const Index elements =
                    std::max<Index>(1, cuda_kernels::reflect_columns_workspace(m, k, columns * width,
                                                                               kernels.multiprocessors(), products));
                typename Kernels::template Memory<T> device_v(kernels, v.values), device_t(kernels, t.values),
                    device_c(kernels, c.values), workspace(kernels, std::vector<T>(at(elements)));
                const View<const T> as_stored = t.on(device_t.data()).column(0);
                kernels(on_stream::reflect_columns<T>, View<const T>(v.on(device_v.data()).column(0)),
                        transposed ? basalt::transposed(as_stored) : as_stored, c.on(device_c.data()), workspace.data(),
                        products);
                HostColumns<T> factor = t;  // T^T, or T where its transpose is given
                for (Index i = 0; i < k; ++i) {
                    for (Index j = 0; j < k && !transposed; ++j) factor.column(0)(i, j) = t.column(0)(j, i);
                }
                for (Index l = 0; l < columns; ++l) reflect<T>(v.column(0), factor.column(0), c.column(l));
                INFO(m << " x " << k << ", " << columns << " columns of " << width << (transposed ? ", T^T given" : "")
                       << (by_slices ? ", by slices" : ""));
                REQUIRE(distance(device_c.read(), c.values) <= 16 * tolerance<T>(m));
            }
        }
    }
}

template <class T, class Kernels>
void check_gram_matrices(Kernels& kernels) {
    for (const auto& [m, k] : {std::array<Index, 2>{1, 1}, {40, 8}, {300, 70}, {5000, 32}}) {
        HostColumns<T> v(1, m, k, 1, 0), gram(1, k, k, 2, 0);
        const Index elements = std::max<Index>(1, cuda_kernels::gram_matrix_workspace(k, kernels.multiprocessors()));
        typename Kernels::template Memory<T> device_v(kernels, v.values), device_gram(kernels, gram.values),
            workspace(kernels, std::vector<T>(at(elements)));
        kernels(on_stream::gram_matrix<T>, View<const T>(v.on(device_v.data()).column(0)),
                gram.on(device_gram.data()).column(0), workspace.data());
        for (Index p = 0; p < k; ++p) {
            for (Index q = 0; q < k; ++q) {
                double sum = 0;
                for (Index i = 0; i < m; ++i) sum += double{v.column(0)(i, p)} * double{v.column(0)(i, q)};
                gram.column(0)(p, q) = static_cast<T>(sum);
            }
        }
        INFO(m << " x " << k);
        REQUIRE(distance(device_gram.read(), gram.values) <= 16 * tolerance<T>(m));
    }
}

/// A = (I - V T V^T) (R, 0)^T, with V, R and T in their forms.
template <class T, class Kernels>
void check_qr_panels(Kernels& kernels) {
    for (const auto& [m, k] : {std::array<Index, 2>{1, 1}, {7, 7}, {200, 33}, {500, 64}}) {
        HostColumns<T> a(1, m, k, 1, 0), r(1, k, k, 2, 0), t(1, k, k, 3, 0);
        const std::size_t bytes = cuda_kernels::qr_panel_workspace<T>(m, k, Index{1} << 40, kernels.multiprocessors());
        typename Kernels::template Memory<T> device_a(kernels, a.values), device_r(kernels, r.values),
            device_t(kernels, t.values), workspace(kernels, std::vector<T>(bytes / sizeof(T) + 1));
        kernels(on_stream::qr_panel_factor<T>, a.on(device_a.data()).column(0), r.on(device_r.data()).column(0),
                t.on(device_t.data()).column(0), Index{1} << 40, static_cast<void*>(workspace.data()));
        HostColumns<T> v = a, product = a;
        v.values = device_a.read();
        r.values = device_r.read();
        t.values = device_t.read();
        for (Index i = 0; i < m; ++i) {
            for (Index j = 0; j < k; ++j) {
                REQUIRE((i > j || v.column(0)(i, j) == (i == j ? T{1} : T{0})));
                REQUIRE((i >= k || i <= j || (r.column(0)(i, j) == T{0} && t.column(0)(i, j) == T{0})));
                product.column(0)(i, j) = i < k ? r.column(0)(i, j) : T{0};
            }
        }
        reflect<T>(v.column(0), t.column(0), product.column(0));
        INFO(m << " x " << k);
        REQUIRE(distance(product.values, a.values) <= 16 * tolerance<T>(m));
    }
}

}  // namespace basalt_tests
