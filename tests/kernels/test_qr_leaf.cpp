// What a block of the GPU's QR panel does with a leaf, thread by thread on the host, against Householder's
// method in plain loops.
#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>
#include <vector>

#include "kernels/cuda/qr/rows_block.hpp"
#include "kernels/reference/gemm.hpp"
#include "kernels/reference/geqrf.hpp"
#include "kernels/triangle.hpp"
#include "tests/common/catch.hpp"
#include "tests/kernels/emulated_block.hpp"
#include "tests/kernels/qr_leaf_cases.hpp"

using namespace basalt;
using namespace basalt_tests;
using cuda_detail::leaf_order;
using cuda_detail::leaf_threads;
using cuda_detail::QrLeafWay;
using cuda_detail::Square;
using cuda_detail::wide_order;

namespace {

/// A thread of an emulated block, as leaf_block.hpp wants it.
struct LeafThread {
    const EmulatedBlock::Thread& thread;
    std::vector<char>& votes;
    int number;

    LeafThread(const EmulatedBlock::Thread& t, std::vector<char>& v)
        : thread(t), votes(v), number(t.warp * 32 + t.lane) {}
    void sync() const { thread.sync(); }
    bool all(bool yes) const {
        votes[static_cast<std::size_t>(number)] = yes ? 1 : 0;
        sync();
        const bool agreed = std::all_of(votes.begin(), votes.end(), [](char vote) { return vote == 1; });
        sync();
        return agreed;
    }
};

template <class T>
struct Leaf {
    explicit Leaf(Index w)
        : size(static_cast<std::size_t>(w * w)),
          gram(size),
          r1(size),
          x(size),
          r(size),
          t(size),
          shared_memory(3 * leaf_order * cuda_detail::square_ld, std::numeric_limits<T>::quiet_NaN()) {}

    cuda_detail::QrLeafData<T> data() { return {gram.data(), r1.data(), x.data(), r.data(), t.data(), &way}; }
    Square<T> square(int number) { return {shared_memory.data() + number * leaf_order * cuda_detail::square_ld}; }

    std::size_t size;
    std::vector<T> gram, r1, x, r, t, shared_memory;
    cuda_detail::LeafShared<T> shared;
    QrLeafWay way{-1};
};

template <class T>
View<T> rows(std::vector<T>& a, Index w) {
    return View<T>::row_major(a.data(), std::ssize(a) / w, w, w);
}

template <class T>
View<T> below_top(std::vector<T>& a, Index w) {
    return rows(a, w).block(w, 0, rows(a, w).rows() - w, w);
}

/// The shared memory of a block with this number of warps.
struct RowMemory {
    alignas(16) double memory[2 * cuda_detail::triangle_fragments(wide_order)];
    Square<double> square() { return {memory}; }
    cuda_detail::Pair<double>* triangle() { return reinterpret_cast<cuda_detail::Pair<double>*>(memory); }
};

/// gram = A^T A as one block makes it.
template <class T>
void make_gram(View<const T> a, bool backwards, std::vector<T>& gram) {
    RowMemory shared;
    EmulatedBlock(4, backwards).run([&](const EmulatedBlock::Thread& thread) {
        if (a.cols() <= leaf_order) {
            cuda_detail::gram_block<false, T>(thread, a, gram.data(), shared.square());
        } else {
            cuda_detail::wide_gram_block<false, T>(thread, a, gram.data(),
                                                   cuda_detail::WideStage<T>{reinterpret_cast<T*>(shared.memory)});
        }
    });
}

/// The Gram matrix of a wide leaf's rows, r1, x and the way.
template <class T>
void factor_wide_gram(View<T> a, bool backwards, Leaf<T>& leaf) {
    make_gram<T>(a, backwards, leaf.gram);
    std::vector<char> votes(leaf_threads);
    std::vector<T> squares(wide_order);
    EmulatedBlock(leaf_threads / 32, backwards).run([&](const EmulatedBlock::Thread& thread) {
        cuda_detail::factor_wide_gram_block<T>(LeafThread(thread, votes), static_cast<int>(a.cols()), T{32},
                                               leaf.data(), leaf.shared, squares.data(), leaf.square(0), leaf.square(1),
                                               leaf.square(2));
    });
}

/// C = A Y as one block makes it.
template <class T>
void multiply_rows(View<const T> a, const std::vector<T>& y, bool backwards, View<T> c) {
    RowMemory shared;
    EmulatedBlock(4, backwards).run([&](const EmulatedBlock::Thread& thread) {
        const auto multiply = [&](auto order) {
            cuda_detail::load_triangle<order>(thread, static_cast<int>(a.cols()), y.data(), shared.triangle());
            cuda_detail::multiply_block<order, false, T>(thread, a, shared.triangle(), c);
        };
        if (a.cols() <= leaf_order) {
            multiply(std::integral_constant<int, leaf_order>());
        } else {
            multiply(std::integral_constant<int, wide_order>());
        }
    });
}

/// The leaf as the kernels of the panel compute it; it overwrites `a` (m x w).
template <class T>
void factor(std::vector<T>& a, int w, bool backwards, Leaf<T>& leaf) {
    std::vector<char> votes(leaf_threads);
    const View<T> av = rows(a, w);
    make_gram<T>(av, backwards, leaf.gram);
    EmulatedBlock(leaf_threads / 32, backwards).run([&](const EmulatedBlock::Thread& thread) {
        cuda_detail::factor_gram_block<T>(LeafThread(thread, votes), w, T{32}, leaf.data(), leaf.shared,
                                          leaf.square(0));
    });
    std::vector<T> q1(a.size());
    if (leaf.way == QrLeafWay::twice) {
        multiply_rows<T>(av, leaf.x, backwards, rows(q1, w));
        make_gram<T>(rows(q1, w), backwards, leaf.gram);
    }
    EmulatedBlock(leaf_threads / 32, backwards).run([&](const EmulatedBlock::Thread& thread) {
        cuda_detail::reconstruct_block<T>(LeafThread(thread, votes), w, av.block(0, 0, w, w),
                                          rows(q1, w).block(0, 0, w, w), leaf.data(), leaf.shared, leaf.square(0),
                                          leaf.square(1));
    });
    if (leaf.way == QrLeafWay::householder) return;
    const View<T> below = below_top(a, w);
    multiply_rows<T>(leaf.way == QrLeafWay::twice ? below_top(q1, w) : below, leaf.x, backwards, below);
}

/// A wide leaf as far as its compressed form; Q1's rows below the top where it is done twice.
template <class T>
void compress(std::vector<T>& a, int w, Leaf<T>& leaf, std::vector<T>& q1, std::vector<T>& compressed) {
    const View<T> below = below_top(a, w);
    factor_wide_gram(below, false, leaf);
    q1.resize(static_cast<std::size_t>(below.size()));
    if (leaf.way == QrLeafWay::twice) {
        multiply_rows<T>(below, leaf.x, false, rows(q1, w));
        make_gram<T>(rows(q1, w), false, leaf.gram);
    }
    compressed.resize(2 * leaf.size);
    for (int n = 0; n < w * w; ++n) {
        cuda_detail::compress_element<T>(n / w, n % w, rows(a, w).block(0, 0, w, w), rows(compressed, w), leaf.data());
    }
}

template <class T>
QrLeafWay way_of(std::vector<T> a, Index w) {
    Leaf<T> leaf(w);
    if (w <= leaf_order) {
        factor(a, static_cast<int>(w), false, leaf);
    } else {
        std::vector<T> q1, compressed;
        compress(a, static_cast<int>(w), leaf, q1, compressed);
    }
    return leaf.way;
}

template <class T>
double distance(const std::vector<T>& a, const std::vector<T>& b) {
    double largest = 0;
    for (std::size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::abs(double(a[i]) - double(b[i])));
    return largest;
}

struct Case {
    int m, w;
    double distance;  // of columns
    QrLeafWay way;
};

}  // namespace

TEMPLATE_TEST_CASE("a leaf's reflectors out of its Gram matrices are Householder's", "", float, double) {
    using T = TestType;
    constexpr double roundoff = std::numeric_limits<T>::epsilon();
    for (const auto& [m, w, distance, way] : {Case{300, 64, 1, QrLeafWay::once},
                                              {129, 64, 1, QrLeafWay::once},
                                              {100, 17, 1, QrLeafWay::once},
                                              {40, 1, 1, QrLeafWay::once},
                                              {300, 64, 0.3, QrLeafWay::twice},
                                              {70, 33, 0.3, QrLeafWay::twice}}) {
        for (const bool backwards : {false, true}) {
            std::vector<T> a = leaf_columns<T>(m, w, distance), expected = a, tau(static_cast<std::size_t>(w));
            Leaf<T> leaf(w);
            factor(a, w, backwards, leaf);
            reference::geqrf<T>(rows(expected, w), tau.data());
            double v = 0, r = 0, t = 0;
            for (Index i = 0; i < m; ++i) {
                for (Index j = 0; j < w; ++j) {
                    const double wanted = rows(expected, w)(i, j);
                    if (i > j) v = std::max(v, std::abs(rows(a, w)(i, j) - wanted));
                    if (i <= j) r = std::max(r, std::abs(rows(leaf.r, w)(i, j) - wanted));
                    if (i == j)
                        t = std::max(
                            t, std::abs(double(rows(leaf.t, w)(i, j)) - double(tau[static_cast<std::size_t>(j)])));
                    if (i <= j) CHECK(rows(a, w)(i, j) == (i == j ? T{1} : T{0}));
                    if (i > j && i < w) CHECK(rows(leaf.t, w)(i, j) == T{0});
                }
            }
            INFO(m << " x " << w << (backwards ? ", backwards" : ""));
            CHECK(leaf.way == way);
            CHECK(v < 100 * roundoff);
            CHECK(r < 300 * roundoff);
            CHECK(t < 30 * roundoff);
            // T V^T V T^T = T + T^T, or H would not be orthogonal
            const auto size = static_cast<std::size_t>(w * w);
            std::vector<T> gram(size), product(size), whole(size);
            reference::gemm<T>(1, transposed(rows(a, w)), rows(a, w), 0, rows(gram, w));
            reference::gemm<T>(1, rows(leaf.t, w), rows(gram, w), 0, rows(product, w));
            reference::gemm<T>(1, rows(product, w), transposed(rows(leaf.t, w)), 0, rows(whole, w));
            double error = 0;
            for (Index i = 0; i < w; ++i) {
                for (Index j = 0; j < w; ++j) {
                    error = std::max(error, std::abs(double(rows(whole, w)(i, j)) - double(rows(leaf.t, w)(i, j)) -
                                                     double(rows(leaf.t, w)(j, i))));
                }
            }
            CHECK(error < 100 * roundoff);
        }
    }
}

TEMPLATE_TEST_CASE("a block's Gram matrix and product with a triangle are those of plain loops", "", float, double) {
    using T = TestType;
    constexpr double roundoff = std::numeric_limits<T>::epsilon();
    for (const auto& [m, w] :
         {std::array<int, 2>{301, 64}, {64, 64}, {77, 31}, {5, 3}, {1, 1}, {203, 128}, {65, 65}, {90, 101}}) {
        std::vector<T> a = leaf_columns<T>(m, w, 1), y = leaf_columns<T>(w, w, 1), expected(a.size());
        for (Index i = 1; i < w; ++i) std::fill_n(&rows(y, w)(i, 0), i, T{0});
        const auto size = static_cast<std::size_t>(w * w);
        std::vector<T> gram(size), expected_gram(size);
        reference::gemm<T>(1, transposed(rows(a, w)), rows(a, w), 0, rows(expected_gram, w));
        reference::gemm<T>(1, rows(a, w), rows(y, w), 0, rows(expected, w));
        for (const bool backwards : {false, true}) {
            std::vector<T> product = a;  // overwrites A
            make_gram<T>(rows(a, w), backwards, gram);
            multiply_rows<T>(rows(product, w), y, backwards, rows(product, w));
            INFO(m << " x " << w);
            CHECK(distance(gram, expected_gram) < m * roundoff);
            CHECK(distance(product, expected) < w * roundoff);
        }
    }
}

TEMPLATE_TEST_CASE("a wide leaf's reflectors are those of its compressed form", "", float, double) {
    using T = TestType;
    constexpr double roundoff = std::numeric_limits<T>::epsilon();
    for (const auto& [m, w, near, way] :
         {Case{700, 128, 1, QrLeafWay::once}, {300, 70, 1, QrLeafWay::once}, {700, 100, 0.3, QrLeafWay::twice}}) {
        std::vector<T> a = leaf_columns<T>(m, w, near), expected = a, tau(static_cast<std::size_t>(w));
        reference::geqrf<T>(rows(expected, w), tau.data());
        Leaf<T> leaf(w);
        const View<T> below = below_top(a, w);
        std::vector<T> q1, compressed, z(leaf.size);
        compress(a, w, leaf, q1, compressed);
        CHECK(leaf.way == way);
        reference::geqrf<T>(rows(compressed, w), tau.data());
        reference::gemm<T>(1, rows(leaf.x, w), below_top(compressed, w), 0, rows(z, w));
        multiply_rows<T>(way == QrLeafWay::twice ? rows(q1, w) : below, z, false, below);
        std::copy_n(compressed.begin(), leaf.size, a.begin());  // R, and V's first rows
        INFO(m << " x " << w << ", columns " << near << " apart");
        CHECK(distance(a, expected) < 1000 * roundoff);
    }
}

TEMPLATE_TEST_CASE("the Gram matrix of a wide leaf is factored and inverted", "", float, double) {
    using T = TestType;
    constexpr double roundoff = std::numeric_limits<T>::epsilon();
    for (const auto& [m, w, near, way] : {Case{1000, 128, 1, QrLeafWay::once},
                                          {500, 70, 1, QrLeafWay::once},
                                          {1000, 128, 0.3, QrLeafWay::twice},
                                          {300, 65, 1e-3, QrLeafWay::householder},
                                          {100, 128, 1, QrLeafWay::householder}}) {
        for (const bool backwards : {false, true}) {
            std::vector<T> a = leaf_columns<T>(m, w, near);
            Leaf<T> leaf(w);
            factor_wide_gram(rows(a, w), backwards, leaf);
            INFO(m << " x " << w << ", columns " << near << " apart" << (backwards ? ", backwards" : ""));
            CHECK(leaf.way == way);
            if (way == QrLeafWay::householder) continue;
            std::vector<T> gram(leaf.size), unit(leaf.size), expected(leaf.size);
            reference::gemm<T>(1, transposed(rows(leaf.r1, w)), rows(leaf.r1, w), 0, rows(gram, w));
            reference::gemm<T>(1, rows(leaf.r1, w), rows(leaf.x, w), 0, rows(unit, w));
            for (Index i = 0; i < w; ++i) rows(expected, w)(i, i) = 1;
            CHECK(distance(gram, leaf.gram) < m * roundoff);
            CHECK(distance(unit, expected) < 1000 * roundoff);
        }
    }
}

TEMPLATE_TEST_CASE("leaves go by Cholesky QR, once or twice, or where that cannot be trusted by Householder's method",
                   "", float, double) {
    using T = TestType;
    for (const auto& [m, w] : leaf_shapes) check_leaf_ways<T>(m, w, way_of<T>);
}
