#pragma once

// What the tests of arrays on the host that GPUs convert share, on emulated GPUs and on real ones.

#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "runtime/engine/runtime_access.hpp"
#include "runtime/memory/host_pool.hpp"
#include "runtime/storage/matrix_storage.hpp"
#include "tests/tasks/lu/hybrid_lu_cases.hpp"

namespace basalt_tests {

using basalt::Place;

/// The array's memory pinned as long as this lives, or not.
template <class T>
class PinnedArray {
  public:
    PinnedArray(Runtime& runtime, Dense<T>& array, bool pinned)
        : runtime_(runtime), memory_(pinned ? array.values.data() : nullptr) {
        if (pinned) basalt::detail::pinned_memory(runtime).pin(memory_, array.values.size() * sizeof(T));
    }
    ~PinnedArray() {
        if (memory_ != nullptr) basalt::detail::pinned_memory(runtime_).unpin(memory_);
    }
    PinnedArray(const PinnedArray&) = delete;
    PinnedArray& operator=(const PinnedArray&) = delete;

  private:
    Runtime& runtime_;
    T* memory_;
};

/// All that the tiles hold, padding included.
template <class T>
std::vector<T> stored(const Matrix<T>& a) {
    std::vector<T> all;
    const auto& storage = *a.share_storage();
    for (Index j = 0; j < a.tile_cols(); ++j) {
        a.host_view(j);
        const T* column = static_cast<const T*>(storage.column(j));
        all.insert(all.end(), column, column + storage.grid().tile_column_size());
    }
    return all;
}

template <class T>
bool equal(const Dense<T>& a, const Dense<T>& b) {
    for (Index j = 0; j < a.n; ++j) {
        if (a.m > 0 && std::memcmp(&a(0, j), &b(0, j), static_cast<std::size_t>(a.m) * sizeof(T)) != 0) return false;
    }
    return true;
}

inline std::string text(const GpuMachine& machine, const LuShape& shape, bool pinned) {
    return std::to_string(shape.m) + " x " + std::to_string(shape.n) + " in " + std::to_string(shape.tile.height) +
           " x " + std::to_string(shape.tile.width) + ", " + std::to_string(machine.gpus) + " GPUs, memory " +
           std::to_string(machine.memory) + (pinned ? ", pinned" : "");
}

/// An array goes to the tiles by GPUs as by cores, padding included, and comes back.
template <class T>
void check_round_trip(Runtime& rt, const GpuMachine& machine, const LuShape& shape, bool pinned) {
    INFO(text(machine, shape, pinned));
    Dense<T> a = random_dense<T>(shape.m, shape.n, 3, 5), back(shape.m, shape.n, 2);
    const PinnedArray<T> pinned_a(rt, a, pinned), pinned_back(rt, back, pinned);
    Matrix<T> by_cores(rt, shape.m, shape.n, shape.tile), by_gpus(rt, shape.m, shape.n, shape.tile);
    by_cores.load(a.view());
    by_gpus.load(a.view(), Place::any());
    by_gpus.store(back.view(), Place::any());
    rt.wait();
    CHECK(equal(a, back));
    CHECK(back.gap_untouched());
    CHECK(stored(by_gpus) == stored(by_cores));
}

/// Column-major and row-major arrays in a GPU's memory come to the tiles as by cores, padding included, and LU's
/// factors leave as they do there. `make_array(values)` makes one.
template <class T, class GpuArray>
void check_arrays_on_gpu(Runtime& rt, const LuShape& shape, GpuArray make_array) {
    const Index m = shape.m, n = shape.n;
    Dense<T> a = generated<T>("integer", m, n, 7);
    const auto view = [m, n](T* values, bool rows) {
        return rows ? View<T>::row_major(values, m, n, n) : View<T>::column_major(values, m, n, m);
    };
    Matrix<T> by_cores(rt, m, n, shape.tile);
    by_cores.load(a.view());
    const std::vector<T> loaded = stored(by_cores);
    const auto options = gpu_alone(shape.panel_width);
    const auto expected_pivots = lu_factor(rt, by_cores, options).pivots();
    Dense<T> expected(m, n);
    by_cores.store(expected.view());
    rt.wait();
    for (const bool from_rows : {false, true}) {
        for (const bool to_rows : {false, true}) {
            INFO(m << " x " << n << " in " << shape.tile.height << " x " << shape.tile.width
                   << (from_rows ? ", from rows" : ", from columns") << (to_rows ? " to rows" : " to columns"));
            std::vector<T> values(static_cast<std::size_t>(m * n));
            auto target = make_array(values);
            for (Index j = 0; j < n; ++j) {
                for (Index i = 0; i < m; ++i) view(values.data(), from_rows)(i, j) = a(i, j);
            }
            auto source = make_array(values);
            Matrix<T> tiles(rt, m, n, shape.tile);
            tiles.load(view(source.data(), from_rows), Place::gpu(0));
            CHECK(stored(tiles) == loaded);
            tiles.load(view(source.data(), from_rows), Place::gpu(0));
            const auto lu = lu_factor(rt, tiles, options);
            tiles.store(view(target.data(), to_rows), Place::gpu(0));
            rt.wait();
            CHECK(lu.pivots() == expected_pivots);
            values = target.read();
            Index wrong = 0;
            for (Index j = 0; j < n; ++j) {
                for (Index i = 0; i < m; ++i) wrong += view(values.data(), to_rows)(i, j) != expected(i, j) ? 1 : 0;
            }
            CHECK(wrong == 0);
        }
    }
}

/// One triangle of an array goes to the tiles by GPUs and comes back, as columns or as rows. NaN on the other side are
/// not read, and nothing is written there, or zeros on request.
template <class T>
void check_triangle(Runtime& rt, const GpuMachine& machine, const LuShape& shape, bool pinned) {
    using basalt::Triangle;
    const Index n = shape.n;
    for (const Triangle triangle : {Triangle::lower, Triangle::upper}) {
        for (const bool by_columns : {false, true}) {
            INFO(text(machine, shape, pinned)
                 << (triangle == Triangle::lower ? ", lower" : ", upper") << (by_columns ? "" : ", by rows"));
            Dense<T> a = random_dense<T>(n, n, 4, 5), back(n, n, 2);
            const auto view = [&](Dense<T>& array) {
                return by_columns ? array.view() : View<T>::row_major(array.values.data(), n, n, array.ld);
            };
            const View<T> source = view(a), target = view(back);
            const auto inside = [&](Index i, Index j) { return triangle == Triangle::lower ? i >= j : i <= j; };
            for (Index j = 0; j < n; ++j) {
                for (Index i = 0; i < n; ++i) {
                    target(i, j) = static_cast<T>(i - 2 * j);
                    if (!inside(i, j)) source(i, j) = std::numeric_limits<T>::quiet_NaN();
                }
            }
            const PinnedArray<T> pinned_a(rt, a, pinned), pinned_back(rt, back, pinned);
            Matrix<T> tiles(rt, n, n, shape.tile);
            tiles.load_triangle(triangle, source, Place::any());
            const auto wrong = [&](bool zeros) {
                Index count = 0;
                for (Index j = 0; j < n; ++j) {
                    for (Index i = 0; i < n; ++i) {
                        const T beyond = zeros ? T{0} : static_cast<T>(i - 2 * j);
                        if (target(i, j) != (inside(i, j) ? source(i, j) : beyond)) ++count;
                    }
                }
                return count;
            };
            tiles.store_triangle(triangle, target, Place::any());
            rt.wait();
            CHECK(wrong(false) == 0);
            tiles.store_triangle(triangle, target, Place::any(), basalt::OtherSide::zeros);
            rt.wait();
            CHECK(wrong(true) == 0);
            CHECK(back.gap_untouched());
            Dense<T> on_cores(n, n);
            tiles.store(on_cores.view());
            rt.wait();
            Index others = 0;
            for (Index j = 0; j < n; ++j) {
                for (Index i = 0; i < n; ++i) others += inside(i, j) && on_cores(i, j) != source(i, j) ? 1 : 0;
            }
            CHECK(others == 0);
        }
    }
}

/// Hybrid LU gives the same bits whether cores or GPUs convert its array.
inline void check_lu_of_array(const GpuMachine& machine, const LuShape& shape, bool pinned) {
    INFO(text(machine, shape, pinned));
    const Dense<double> a = generated<double>("integer", shape.m, shape.n, 7);
    Runtime rt(machine.config());
    const Factored<double> by_cores = factor(rt, a, shape, hybrid(shape.panel_width));
    Dense<double> array = a;
    const PinnedArray<double> memory_of_array(rt, array, pinned);
    Matrix<double> tiles(rt, shape.m, shape.n, shape.tile);
    tiles.load(array.view(), Place::any());
    const auto lu = lu_factor(rt, tiles, hybrid(shape.panel_width));
    tiles.store(array.view(), Place::any());
    rt.wait();
    CHECK(lu.pivots() == by_cores.pivots);
    CHECK(equal(array, by_cores.lu));
}

}  // namespace basalt_tests
