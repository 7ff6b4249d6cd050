// Results of the kernels for cores that have the same bits however the work is split: by the members of a gang, whose
// number follows the load, and by a kernel into whole registers and the rows that are left. Compilers put that to the
// test, so it is checked with every instruction set of this machine.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "kernels/cpu/panel/member.hpp"
#include "kernels/cpu/simd/kernels.hpp"
#include "kernels/reference/thread_gang.hpp"
#include "tests/common/catch.hpp"

using namespace basalt;

namespace {

template <class T>
std::vector<T> random_values(Index count, unsigned seed = 1) {
    std::mt19937 random(seed);
    std::vector<T> values(static_cast<std::size_t>(count));
    for (T& x : values) x = static_cast<T>(random() * 0x1p-32 - 0.5);
    return values;
}

/// Elements whose bits differ: a number, because to print the values of a panel would take minutes.
template <class T>
Index differences(const std::vector<T>& a, const std::vector<T>& b) {
    Index count = a.size() == b.size() ? 0 : 1;
    for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
        count += std::memcmp(&a[i], &b[i], sizeof(T)) != 0;
    }
    return count;
}

template <class T>
std::vector<const simd::Kernels<T>*> tables() {
    std::vector<const simd::Kernels<T>*> found;
    for (const char* name : {"generic", "avx2", "avx512"}) {
        if (const auto* table = simd::find_kernels<T>(name)) found.push_back(table);
    }
    return found;
}

/// Column-major operands of a kernel, `rows` rows, and row-major ones.
constexpr Index rows = 203;

/// Stretches of the rows, from every place in a register on: shorter than a register, around the sizes of which kernels
/// take several, and all the rows.
template <class Check>
void for_stretches(const Check& check) {
    for (Index begin = 0; begin <= 17; ++begin) {
        for (const Index count :
             {1, 2, 3, 5, 7, 8, 9, 12, 15, 16, 17, 24, 31, 33, 48, 49, 63, 64, 65, 100, 127, 128, 144}) {
            check(begin, count);
        }
        check(begin, rows - begin);
    }
}

/// The stretches' largest number of different elements. apply(begin, count, values) changes those rows of `values`,
/// whose columns are `rows` elements apart.
template <class T, class Apply>
Index differences_by_stretch(const std::vector<T>& values, const Apply& apply) {
    std::vector<T> alone(values);
    for (Index i = 0; i < rows; ++i) apply(i, Index{1}, alone.data());
    const Index cols = static_cast<Index>(values.size()) / rows;
    Index worst = 0;
    for_stretches([&](Index begin, Index count) {
        std::vector<T> found(values), expected(values);
        apply(begin, count, found.data());
        for (Index j = 0; j < cols; ++j) {
            std::copy_n(alone.begin() + j * rows + begin, count, expected.begin() + j * rows + begin);
        }
        worst = std::max(worst, differences(found, expected));
    });
    return worst;
}

template <class T>
struct Factored {
    std::vector<T> values;
    std::vector<Index> pivots;
};

template <class T>
Factored<T> factor(const std::vector<T>& a, Index m, Index n, int members, const simd::Kernels<T>& kernels) {
    Factored<T> result{a, std::vector<Index>(static_cast<std::size_t>(std::min(m, n)))};
    PanelWorkspace<T> workspace(members, m, n);
    const Index ld = static_cast<Index>(a.size()) / m;
    reference::run_gang(members, [&](Team& team) {
        NoPanelClock clock;
        factor_timed<T>(team, View<T>::row_major(result.values.data(), m, n, ld), result.pivots.data(), workspace,
                        clock, kernels);
    });
    return result;
}

template <class T>
void check_gangs(Index m, Index n, const std::vector<int>& gangs) {
    const std::vector<T> a = random_values<T>(m * (n + 3));
    for (const simd::Kernels<T>* kernels : tables<T>()) {
        const Factored<T> alone = factor(a, m, n, 1, *kernels);
        for (const int members : gangs) {
            const Factored<T> found = factor(a, m, n, members, *kernels);
            CAPTURE(kernels->name, m, n, members);
            CHECK(found.pivots == alone.pivots);
            CHECK(differences(found.values, alone.values) == 0);
        }
    }
}

}  // namespace

TEMPLATE_TEST_CASE("a panel has the same bits whatever the size of its gang", "[panel]", float, double) {
    std::vector<int> all;
    for (int members = 2; members <= 16; ++members) all.push_back(members);
    for (const auto& [m, n] : {std::pair<Index, Index>{37, 5}, {56, 56}, {100, 64}, {184, 128}}) {
        check_gangs<TestType>(m, n, all);
    }
    // with more than 256 columns on the left of a block, too
    for (const auto& [m, n] : {std::pair<Index, Index>{203, 203}, {568, 128}, {1001, 100}, {700, 400}}) {
        check_gangs<TestType>(m, n, {2, 3, 7, 12});
    }
    for (const auto& [m, n] : {std::pair<Index, Index>{2872, 128}, {3000, 128}}) {
        check_gangs<TestType>(m, n, {2, 5, 16});
    }
}

TEMPLATE_TEST_CASE("a column is swept with the same bits in any stretch of rows", "[kernels]", float, double) {
    using T = TestType;
    const std::vector<T> u = random_values<T>(simd::max_rank, 2), values = random_values<T>(5 * rows);
    for (const simd::Kernels<T>* kernels : tables<T>()) {
        for (Index rank = 0; rank <= simd::max_rank; ++rank) {
            for (const simd::Scaling scaling : {simd::Scaling::none, simd::Scaling::multiply, simd::Scaling::divide}) {
                CAPTURE(kernels->name, rank, static_cast<int>(scaling));
                CHECK(differences_by_stretch<T>(values, [&](Index begin, Index count, T* at) {
                          kernels->update_column(count, rank, at + begin, rows, scaling, T(0.3), u.data(),
                                                 at + rank * rows + begin);
                      }) == 0);
                CHECK(differences_by_stretch<T>(values, [&](Index begin, Index count, T* at) {
                          kernels->scale_column(count, scaling, T(0.3), at + begin);
                      }) == 0);
            }
        }
    }
}

TEMPLATE_TEST_CASE("a block of columns is updated with the same bits in any stretch of rows and columns", "[kernels]",
                   float, double) {
    using T = TestType;
    constexpr Index most = 21, depth = 48;
    const std::vector<T> l = random_values<T>(depth * rows, 2), u = random_values<T>(depth * most, 3);
    const std::vector<T> x = random_values<T>(most * rows);
    for (const simd::Kernels<T>* kernels : tables<T>()) {
        for (const Index rank : {Index{0}, Index{1}, Index{4}, depth}) {
            const auto update = [&](Index begin, Index count, Index from, Index cols, T* at) {
                kernels->update_block(count, cols, rank, l.data() + begin, rows, u.data() + from, most,
                                      at + from * rows + begin, rows);
            };
            CAPTURE(kernels->name, rank);
            CHECK(differences_by_stretch<T>(
                      x, [&](Index begin, Index count, T* at) { update(begin, count, 0, most, at); }) == 0);
            std::vector<T> whole(x);
            update(0, rows, 0, most, whole.data());
            for (const Index width : {1, 2, 3, 5, 8, 11, 16}) {
                std::vector<T> parts(x);
                for (Index from = 0; from < most; from += width) {
                    update(0, rows, from, std::min(width, most - from), parts.data());
                }
                CHECK(differences(parts, whole) == 0);
            }
        }
    }
}

TEMPLATE_TEST_CASE("a reflector changes columns with the same bits in any stretch of rows", "[kernels]", float,
                   double) {
    using T = TestType;
    constexpr Index most = 11;  // a sweep's columns and a few
    const std::vector<T> w = random_values<T>(most, 2), values = random_values<T>((most + 1) * rows);
    for (const simd::Kernels<T>* kernels : tables<T>()) {
        for (const Index cols : {Index{0}, Index{1}, Index{2}, Index{7}, Index{8}, most}) {
            CAPTURE(kernels->name, cols);
            CHECK(differences_by_stretch<T>(values, [&](Index begin, Index count, T* at) {
                      std::vector<T> sums(most);
                      kernels->reflect(count, cols, T(0.3), at + begin, w.data(), at + rows + begin, rows, sums.data());
                  }) == 0);
        }
    }
}

TEMPLATE_TEST_CASE("rows are multiplied and taken into columns with the same bits in any stretch", "[kernels]", float,
                   double) {
    using T = TestType;
    constexpr Index most = simd::max_block_cols;
    for (const simd::Kernels<T>* kernels : tables<T>()) {
        for (const Index depth : {1, 7, 64, 256, 300}) {
            for (const Index cols : {Index{1}, Index{9}, Index{33}, most}) {
                const std::vector<T> a = random_values<T>(rows * depth), b = random_values<T>(depth * cols, 2);
                const std::vector<T> c = random_values<T>(rows * cols, 3);
                std::vector<T> packed(static_cast<std::size_t>(depth * (cols + kernels->strip)));
                kernels->pack_b(depth, cols, b.data(), cols, packed.data());
                CAPTURE(kernels->name, depth, cols);
                std::vector<T> alone(c);
                for (Index i = 0; i < rows; ++i) {
                    kernels->gemm_minus(1, cols, depth, alone.data() + i * cols, cols, a.data() + i * depth, depth,
                                        packed.data());
                }
                for (const Index count : {2, 3, 5, 6, 7, 12, 13, 29}) {
                    std::vector<T> found(c);
                    for (Index i = 0; i < rows; i += count) {
                        kernels->gemm_minus(std::min(count, rows - i), cols, depth, found.data() + i * cols, cols,
                                            a.data() + i * depth, depth, packed.data());
                    }
                    CHECK(differences(found, alone) == 0);
                }
                if (depth > kernels->depth_block) continue;
                // load_block's operands share a leading dimension
                const Index ld = depth + cols;
                const std::vector<T> panel = random_values<T>(rows * ld, 4), to(static_cast<std::size_t>(rows * cols));
                CHECK(differences_by_stretch<T>(to, [&](Index begin, Index count, T* at) {
                          const T* const from = panel.data() + begin * ld;
                          kernels->load_block(count, cols, depth, from + depth, from, ld, packed.data(), depth,
                                              at + begin, rows);
                      }) == 0);
            }
        }
    }
}

TEMPLATE_TEST_CASE("a strip is solved with the same bits however many rows and columns it has", "[kernels]", float,
                   double) {
    using T = TestType;
    constexpr Index size = 41;
    std::vector<T> l = random_values<T>(size * size);
    for (T& x : l) x /= 8;
    const std::vector<T> scale = random_values<T>(size, 2);
    for (const simd::Kernels<T>* kernels : tables<T>()) {
        const Index strip = kernels->strip;
        const std::vector<T> b = random_values<T>(size * strip, 3);
        for (const T* factors : {static_cast<const T*>(nullptr), scale.data()}) {
            const auto solve = [&](Index count, Index from, Index cols, std::vector<T>& x) {
                std::vector<T> packed(static_cast<std::size_t>(size * strip));
                kernels->solve_strip(0, count, cols, l.data(), size, factors, x.data() + from, strip, packed.data());
            };
            std::vector<T> whole(b);
            solve(size, 0, strip, whole);
            for (Index count = 1; count < size; ++count) {
                std::vector<T> upper(b), expected(b);
                solve(count, 0, strip, upper);
                std::copy_n(whole.begin(), count * strip, expected.begin());
                CAPTURE(kernels->name, count);
                CHECK(differences(upper, expected) == 0);
            }
            for (Index width = 1; width < strip; ++width) {
                std::vector<T> parts(b);
                for (Index j = 0; j < strip; j += width) solve(size, j, std::min(width, strip - j), parts);
                CAPTURE(kernels->name, width);
                CHECK(differences(parts, whole) == 0);
            }
        }
    }
}

TEMPLATE_TEST_CASE("a row is updated with the same bits in any stretch of columns", "[kernels]", float, double) {
    using T = TestType;
    constexpr Index width = simd::max_block_cols;
    const std::vector<T> u = random_values<T>(width * width), values = random_values<T>(width, 2);
    for (const simd::Kernels<T>* kernels : tables<T>()) {
        for (const Index to : {1, 2, 4, 15}) {
            std::vector<T> alone(values);
            for (Index k = to; k < width; ++k) kernels->update_row(k, k + 1, 0, to, u.data(), width, alone.data());
            for (Index first = to; first < width; ++first) {
                for (Index last = first + 1; last <= width; ++last) {
                    std::vector<T> found(values), expected(values);
                    kernels->update_row(first, last, 0, to, u.data(), width, found.data());
                    std::copy(alone.begin() + first, alone.begin() + last, expected.begin() + first);
                    CAPTURE(kernels->name, to, first, last);
                    REQUIRE(differences(found, expected) == 0);
                }
            }
        }
    }
}

TEMPLATE_TEST_CASE("instruction sets that multiply and add at once round a product and its sum once", "[kernels]",
                   float, double) {
    using T = TestType;
    constexpr Index cols = 11, rank = 9;
    const std::vector<T> l = random_values<T>(rank * rows, 2), u = random_values<T>(rank * cols, 3);
    const std::vector<T> x = random_values<T>(cols * rows);
    std::vector<T> expected(x), swept(x);
    const auto at = [](Index i) { return static_cast<std::size_t>(i); };
    for (Index i = 0; i < rows; ++i) {
        for (Index c = 0; c < cols; ++c) {
            T sum{};
            for (Index q = 0; q < rank; ++q) sum = std::fma(l[at(q * rows + i)], u[at(q * cols + c)], sum);
            expected[at(c * rows + i)] -= sum;
        }
        T& last = swept[at(simd::max_rank * rows + i)];
        for (Index q = 0; q < simd::max_rank; ++q) last = std::fma(-x[at(q * rows + i)], u[at(q)], last);
    }
    for (const char* name : {"avx2", "avx512"}) {
        const auto* kernels = simd::find_kernels<T>(name);
        if (kernels == nullptr) continue;
        CAPTURE(name);
        std::vector<T> found(x);
        kernels->update_block(rows, cols, rank, l.data(), rows, u.data(), cols, found.data(), rows);
        CHECK(differences(found, expected) == 0);
        found = x;
        kernels->update_column(rows, simd::max_rank, found.data(), rows, simd::Scaling::none, T{}, u.data(),
                               found.data() + simd::max_rank * rows);
        CHECK(differences(found, swept) == 0);
    }
}
