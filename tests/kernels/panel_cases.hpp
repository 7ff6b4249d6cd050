#pragma once

// Cases of the GPU panel and of its CPU twin: `Kernels` calls the one or the other, as in kernel_cases/, for
// the plans that it is given and that fit.

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "kernels/on_stream/panel.hpp"
#include "kernels/reference/row_moves.hpp"
#include "tests/common/catch.hpp"
#include "tests/common/lapack_oracle.hpp"

namespace basalt_tests {

using basalt::cuda_kernels::PanelDesign;
using basalt::cuda_kernels::PanelPlan;

using PanelPlans = std::vector<PanelPlan>;
using Shapes = std::vector<std::array<Index, 2>>;

inline std::string text_of(PanelPlan plan) {
    static constexpr std::array<const char*, 4> names{"cluster", "grid", "fused", "steps"};
    return std::string(names[static_cast<std::size_t>(plan.design)]) + ", " + std::to_string(plan.blocks) +
           " blocks, leaf " + std::to_string(plan.leaf_width) + ", at most " + std::to_string(plan.tallest_leaf) +
           " high, " + std::to_string(plan.rows_a_block) + " rows a block";
}

/// A matrix as the panel takes it: row-major, with a gap right of its rows.
template <class T>
struct RowMajor {
    RowMajor(const Dense<T>& a, Index gap) : m(a.m), n(a.n), ld(a.n + gap), values(at(a.m * ld) + 1, T(gap_mark)) {
        for (Index j = 0; j < n; ++j) {
            for (Index i = 0; i < m; ++i) values[at(i * ld + j)] = a(i, j);
        }
    }

    View<T> on(T* data) const { return View<T>::row_major(data, m, n, ld); }

    Dense<T> dense() const {
        Dense<T> a(m, n);
        for (Index j = 0; j < n; ++j) {
            for (Index i = 0; i < m; ++i) a(i, j) = values[at(i * ld + j)];
        }
        return a;
    }

    bool gap_untouched() const {
        for (Index i = 0; i < m; ++i) {
            for (Index j = n; j < ld; ++j) {
                if (values[at(i * ld + j)] != T(gap_mark)) return false;
            }
        }
        return values.back() == T(gap_mark);
    }

    static std::size_t at(Index i) { return static_cast<std::size_t>(i); }

    Index m, n, ld;
    std::vector<T> values;
};

/// Elements between rows of n, after which the next one begins at a multiple of 16 bytes.
inline Index aligned_gap(Index n) { return 4 + (4 - n % 4) % 4; }

/// What the panel makes of `a`, in LAPACK's arrangement. Workspace and results hold rubbish before.
template <class T, class Kernels>
Factored<T> factor_panel(Kernels& kernels, const Dense<T>& a, PanelPlan plan, Index gap = -1, basalt::PanelLog log = {},
                         basalt::on_stream::PanelProducts products = {}) {
    RowMajor<T> panel(a, gap < 0 ? aligned_gap(a.n) : gap);
    const auto steps = static_cast<std::size_t>(std::min(a.m, a.n));
    typename Kernels::template Memory<T> memory(kernels, panel.values);
    typename Kernels::template Memory<Index> pivots(kernels, std::vector<Index>(steps, -7)),
        info(kernels, std::vector<Index>(1, -7)), moves(kernels, std::vector<Index>(2 * steps, -7));
    const auto count = static_cast<Index>(steps);
    typename Kernels::template Memory<unsigned char> workspace(
        kernels, std::vector<unsigned char>(basalt::cuda_kernels::panel_workspace(a.m, a.n), 0xb5));
    kernels(basalt::on_stream::panel_factor<T>, panel.on(memory.data()), pivots.data(), info.data(),
            static_cast<void*>(workspace.data()), plan, products, log, basalt::RowMoves(moves.data(), count));
    panel.values = memory.read();
    CHECK(panel.gap_untouched());
    Factored<T> result{panel.dense(), pivots.read(), info.read()[0]};
    std::vector<Index> expected(2 * steps);
    basalt::reference::find_row_moves(a.m, result.pivots.data(), {expected.data(), count});
    CHECK(moves.read() == expected);
    for (Index& pivot : result.pivots) ++pivot;
    return result;
}

/// A log in the memory of the kernels, where rubbish was before.
template <class Kernels>
class KernelLog {
  public:
    KernelLog(Kernels& kernels, int blocks, int capacity)
        : memory_(kernels, std::vector<basalt::PanelLogEntry>(
                               static_cast<std::size_t>(blocks) * static_cast<std::size_t>(capacity + 1), {77, 77})),
          log_{memory_.data(), blocks, capacity} {}

    basalt::PanelLog log() const { return log_; }
    std::vector<basalt::PanelLogSpan> spans() {
        entries_ = memory_.read();
        return spans_of(basalt::PanelLog{entries_.data(), log_.blocks, log_.capacity});
    }
    std::int64_t lost() {
        entries_ = memory_.read();
        return lost_entries(basalt::PanelLog{entries_.data(), log_.blocks, log_.capacity});
    }

  private:
    typename Kernels::template Memory<basalt::PanelLogEntry> memory_;
    const basalt::PanelLog log_;
    std::vector<basalt::PanelLogEntry> entries_;
};

/// The spans of a log as they have to be: each block's without gaps between its first and its last kernel's end, all
/// within the time that the factorization took.
inline void check_spans(const std::vector<basalt::PanelLogSpan>& spans, int most_blocks,
                        std::chrono::nanoseconds taken) {
    REQUIRE_FALSE(spans.empty());
    std::int64_t begin = spans.front().begin_ns, end = spans.front().end_ns;
    std::vector<std::int64_t> last(static_cast<std::size_t>(most_blocks), 0);
    bool in_order = true;
    int meetings = 0;
    for (const basalt::PanelLogSpan& span : spans) {
        std::int64_t& before = last.at(static_cast<std::size_t>(span.block));
        in_order = in_order && span.begin_ns <= span.end_ns && before <= span.begin_ns;
        before = span.end_ns;
        begin = std::min(begin, span.begin_ns);
        end = std::max(end, span.end_ns);
        meetings += span.state == basalt::PanelState::meet ? 1 : 0;
    }
    CHECK(in_order);
    CHECK(meetings > 0);
    CHECK(end > begin);
    CHECK(end - begin <= taken.count());
}

template <class T>
bool pivots_in_range(const Factored<T>& factored) {
    for (std::size_t k = 0; k < factored.pivots.size(); ++k) {
        if (factored.pivots[k] <= static_cast<Index>(k) || factored.pivots[k] > factored.lu.m) return false;
    }
    return true;
}

/// Calls check(plan) for each plan that fits such a panel.
template <class T, class Kernels, class Check>
void for_fitting(Kernels& kernels, const PanelPlans& plans, Index m, Index n, Check&& check) {
    for (const PanelPlan plan : plans) {
        if (!kernels(basalt::on_stream::panel_fits<T>, m, plan)) continue;
        INFO(m << " x " << n << ", " << text_of(plan));
        check(plan);
    }
}

/// A panel that is recorded has the factors of one that is not; a log without room counts what it leaves out.
template <class Kernels>
void check_panel_log(Kernels& kernels, const PanelPlans& plans, const Shapes& shapes) {
    for (const auto& [m, n] : shapes) {
        const Dense<double> a = random_dense<double>(m, n, static_cast<unsigned>(m + n));
        for_fitting<double>(kernels, plans, m, n, [&, m = m, n = n](PanelPlan plan) {
            const Factored<double> expected = factor_panel<double>(kernels, a, plan);
            constexpr int blocks = 132;
            KernelLog<Kernels> enough(kernels, blocks, basalt::PanelLog::enough_for(n));
            const auto start = std::chrono::steady_clock::now();
            const Factored<double> found = factor_panel<double>(kernels, a, plan, -1, enough.log());
            const auto taken = std::chrono::steady_clock::now() - start;
            CHECK(found.pivots == expected.pivots);
            CHECK(found.lu.values == expected.lu.values);
            CHECK(enough.lost() == 0);
            check_spans(enough.spans(), blocks, taken);

            KernelLog<Kernels> short_one(kernels, 1, 10);
            factor_panel<double>(kernels, a, plan, -1, short_one.log());
            CHECK(short_one.lost() > 0);
            CHECK(short_one.spans().size() == 8);  // between the readings at both ends
        });
    }
}

/// Random matrices: LAPACK's ratio.
template <class T, class Kernels>
void check_panel_ratios(Kernels& kernels, const PanelPlans& plans, const Shapes& shapes) {
    for (const auto& [m, n] : shapes) {
        const Dense<T> a = random_dense<T>(m, n, static_cast<unsigned>(m + 7 * n));
        for_fitting<T>(kernels, plans, m, n, [&, n = n](PanelPlan plan) {
            const Index gap = n % 8 == 0 ? 0 : n % 2 == 0 ? 3 : aligned_gap(n);
            const Factored<T> found = factor_panel<T>(kernels, a, plan, gap);
            CHECK(found.info == 0);
            REQUIRE(pivots_in_range(found));
            CHECK(factor_ratio(a, found.lu, found.pivots) < 30);
            CHECK(largest_multiplier(found.lu) <= 1);
        });
    }
}

/// Pivots and INFO of LAPACK, where rounding cannot change them.
template <class T, class Kernels>
void check_panel_pivots(Kernels& kernels, const PanelPlans& plans, const Dense<T>& a) {
    const Factored<T> expected = lapack_getrf(a);
    for_fitting<T>(kernels, plans, a.m, a.n, [&](PanelPlan plan) {
        const Factored<T> found = factor_panel<T>(kernels, a, plan);
        CHECK(found.info == expected.info);
        REQUIRE(found.pivots == expected.pivots);
        CHECK(factor_ratio(a, found.lu, found.pivots) < 30);
    });
}

template <class T, class Kernels>
void check_separated_panel_pivots(Kernels& kernels, const PanelPlans& plans, const Shapes& shapes) {
    for (const auto& [m, n] : shapes) {
        check_panel_pivots<T>(kernels, plans, well_separated<T>(m, n, static_cast<unsigned>(m + n)));
    }
}

/// Exact integers with ties at every step, and of less than full rank: also with repeated columns.
template <class T, class Kernels>
void check_tied_panel_pivots(Kernels& kernels, const PanelPlans& plans, const Shapes& shapes) {
    for (const auto& [m, n] : shapes) {
        Dense<T> a = incidence<T>(m, n, static_cast<unsigned>(m + n));
        check_panel_pivots<T>(kernels, plans, a);
        for (Index j = 0; j + 3 < n; j += 5) {
            for (Index i = 0; i < m; ++i) a(i, j + 3) = a(i, j);
        }
        check_panel_pivots<T>(kernels, plans, a);
    }
}

template <class T, class Kernels>
void check_panel_of_equal_magnitudes(Kernels& kernels, const PanelPlans& plans, Index m) {
    Dense<T> a(m, 1);
    for (const Index first : {Index{0}, Index{1}, m / 2, m - 1}) {
        for (Index i = 0; i < m; ++i) a(i, 0) = i < first ? T{1} : i % 2 == 0 ? T{2} : T{-2};
        for_fitting<T>(kernels, plans, m, 1, [&](PanelPlan plan) {
            REQUIRE(factor_panel<T>(kernels, a, plan).pivots == std::vector<Index>{first + 1});
        });
    }
}

template <class T, class Kernels>
void check_panel_with_zero_columns(Kernels& kernels, const PanelPlans& plans, Index m, Index n) {
    for (const Index zero : {Index{0}, Index{1}, n / 3, n - 1}) {
        Dense<T> a = random_dense<T>(m, n, static_cast<unsigned>(m + zero));
        for (Index i = 0; i < m; ++i) a(i, zero) = a(i, n - 1) = T{0};
        for_fitting<T>(kernels, plans, m, n, [&](PanelPlan plan) {
            const Factored<T> found = factor_panel<T>(kernels, a, plan);
            INFO("column " << zero << " is zero");
            CHECK(found.info == zero + 1);
            REQUIRE(pivots_in_range(found));
            CHECK(found.pivots[static_cast<std::size_t>(zero)] == zero + 1);
            CHECK(factor_ratio(a, found.lu, found.pivots) < 30);
        });
    }
    Dense<T> all_zero(m, n);
    std::fill(all_zero.values.begin(), all_zero.values.end(), T{0});
    for_fitting<T>(kernels, plans, m, n, [&](PanelPlan plan) {
        const Factored<T> found = factor_panel<T>(kernels, all_zero, plan);
        CHECK(found.info == 1);
        CHECK(one_norm(found.lu) == 0);
    });
}

/// Quotients by a denormal pivot are exact here; its reciprocal would overflow.
template <class T, class Kernels>
void check_panel_with_denormal_pivot(Kernels& kernels, const PanelPlans& plans, Index m) {
    Dense<T> a = random_dense<T>(m, 3, 11);
    const Index largest = 2 * m / 3;
    for (Index i = 0; i < m; ++i) a(i, 0) = std::numeric_limits<T>::denorm_min() * (i == largest ? T{8} : T{4});
    for_fitting<T>(kernels, plans, m, 3, [&](PanelPlan plan) {
        const Factored<T> found = factor_panel<T>(kernels, a, plan);
        CHECK(found.info == 0);
        REQUIRE(pivots_in_range(found));
        CHECK(found.pivots[0] == largest + 1);
        for (Index i = 1; i < m; ++i) REQUIRE(std::abs(found.lu(i, 0)) == T(0.5));
        CHECK(factor_ratio(a, found.lu, found.pivots) < 30);
    });
}

/// Wherever they are, the panel ends and its pivots are rows of it.
template <class T, class Kernels>
void check_panel_with_nonfinite_elements(Kernels& kernels, const PanelPlans& plans, Index m, Index n) {
    for (const T bad : {std::numeric_limits<T>::quiet_NaN(), std::numeric_limits<T>::infinity(),
                        -std::numeric_limits<T>::infinity()}) {
        for (int where = 0; where < 4; ++where) {
            Dense<T> a = random_dense<T>(m, n, 3);
            for (Index j = 0; j < n; ++j) {
                for (Index i = 0; i < m; ++i) {
                    const bool hit = where == 0 || (where == 1 && j == n / 2) || (where == 2 && i == m / 2) ||
                                     (where == 3 && i == j);
                    if (hit) a(i, j) = bad;
                }
            }
            for_fitting<T>(kernels, plans, m, n,
                           [&](PanelPlan plan) { REQUIRE(pivots_in_range(factor_panel<T>(kernels, a, plan))); });
        }
    }
}

/// As BLAS's idamax: on the diagonal it stays the pivot, below it is never chosen.
template <class T, class Kernels>
void check_panel_pivots_beside_nan(Kernels& kernels, const PanelPlans& plans, Index m) {
    for (const Index row : {Index{0}, Index{1}, m / 2, m - 1}) {
        Dense<T> a(m, 2);
        const Index largest = m / 3;
        for (Index i = 0; i < m; ++i)
            a(i, 0) = i == row ? std::numeric_limits<T>::quiet_NaN() : i == largest ? T{-9} : T{1};
        for (Index i = 0; i < m; ++i) a(i, 1) = T{1};
        for_fitting<T>(kernels, plans, m, 2, [&](PanelPlan plan) {
            const Factored<T> found = factor_panel<T>(kernels, a, plan);
            CHECK(found.pivots[0] == (row == 0 ? 1 : largest + 1));
            REQUIRE(pivots_in_range(found));
        });
    }
}

/// What is no number stays in its row: one of NaN below all others is never a pivot, and they are factored as without
/// it. m > n.
template <class T, class Kernels>
void check_panel_above_row_of_nan(Kernels& kernels, const PanelPlans& plans, Index m, Index n) {
    const Dense<T> above = well_separated<T>(m - 1, n, 31);
    Dense<T> a(m, n);
    for (Index j = 0; j < n; ++j) {
        for (Index i = 0; i < m - 1; ++i) a(i, j) = above(i, j);
        a(m - 1, j) = std::numeric_limits<T>::quiet_NaN();
    }
    for_fitting<T>(kernels, plans, m, n, [&](PanelPlan plan) {
        const Factored<T> with = factor_panel<T>(kernels, a, plan);
        Dense<T> factors(m - 1, n);
        for (Index j = 0; j < n; ++j) {
            for (Index i = 0; i < m - 1; ++i) factors(i, j) = with.lu(i, j);
            REQUIRE(std::isnan(with.lu(m - 1, j)));
        }
        CHECK(factor_ratio(above, factors, with.pivots) < 30);  // of NaN it would not be
        CHECK(with.pivots == lapack_getrf(above).pivots);
    });
}

/// The same input gives the same bits, `times` times.
template <class T, class Kernels>
void check_repeated_panel(Kernels& kernels, const PanelPlans& plans, Index m, Index n, int times) {
    const Dense<T> a = random_dense<T>(m, n, 23);
    for_fitting<T>(kernels, plans, m, n, [&](PanelPlan plan) {
        const Factored<T> first = factor_panel<T>(kernels, a, plan);
        CHECK(factor_ratio(a, first.lu, first.pivots) < 30);
        for (int run = 1; run < times; ++run) {
            const Factored<T> again = factor_panel<T>(kernels, a, plan);
            REQUIRE(again.pivots == first.pivots);
            REQUIRE(again.lu.values == first.lu.values);
        }
    });
}

}  // namespace basalt_tests
