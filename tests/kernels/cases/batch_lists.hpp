#pragma once

// Batches of different shapes against the CPU twins on those that may be treated, which are tested against LAPACK.
// `Kernels` calls the kernels of a GPU (cuda_kernels.hpp) or the CPU twins (cpu_twins.hpp).

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
#include <vector>

#include "kernels/on_stream/batch.hpp"
#include "kernels/on_stream/batch_lu.hpp"
#include "tests/common/catch.hpp"
#include "tests/tasks/batch/factor_cases.hpp"

namespace basalt_tests {

using namespace basalt;

struct Extent {
    Index rows, cols;
};

/// Matrices with gaps, in the memory of a GPU and, for the CPU twin, in that of the host.
template <class T, class Kernels>
class MatrixList {
  public:
    /// Filled with values(k, i, j). The twin sees the `used` parts of the matrices.
    template <class Values>
    MatrixList(Kernels& kernels, const std::vector<Extent>& extents, const Values& values,
               const std::vector<Extent>& used)
        : extents_(extents),
          used_(used),
          host_(fill(values)),
          device_(kernels, host_),
          list_(kernels, views(device_.data(), extents_)) {}
    template <class Values>
    MatrixList(Kernels& kernels, const std::vector<Extent>& extents, const Values& values)
        : MatrixList(kernels, extents, values, extents) {}

    BatchView<T> on_device(const Extent& bounds) {
        const std::span<const View<T>> list(list_.data(), extents_.size());
        return BatchView<T>::matrices(list, bounds.rows, bounds.cols);
    }
    /// Those that the GPU is to treat. The list lives until the next call.
    BatchView<T> on_host(const std::vector<bool>& treated) {
        const std::vector<View<T>> all = views(host_.data(), used_);
        treated_.clear();
        for (std::size_t k = 0; k < all.size(); ++k) {
            if (treated[k]) treated_.push_back(all[k]);
        }
        return BatchView<T>::matrices(treated_);
    }
    /// max |device - host| / max(1, |host|), gaps included.
    double difference() const {
        const std::vector<T> found = device_.read();
        double worst = 0;
        for (std::size_t i = 0; i < found.size(); ++i) {
            const double wanted = static_cast<double>(host_[i]);
            const double delta = std::abs(static_cast<double>(found[i]) - wanted) / std::max(1.0, std::abs(wanted));
            if (!(delta <= worst)) worst = delta;
        }
        return worst;
    }

  private:
    Index ld(std::size_t k) const { return std::max<Index>(1, extents_[k].rows) + static_cast<Index>(k % 3); }

    std::vector<View<T>> views(T* first, const std::vector<Extent>& parts) const {
        std::vector<View<T>> views;
        for (std::size_t k = 0; k < extents_.size(); ++k) {
            views.push_back(View<T>::column_major(first, parts[k].rows, parts[k].cols, ld(k)));
            first += ld(k) * extents_[k].cols + 1;
        }
        return views;
    }
    template <class Values>
    std::vector<T> fill(const Values& values) const {
        Index size = 1;
        for (std::size_t k = 0; k < extents_.size(); ++k) size += ld(k) * extents_[k].cols + 1;
        std::vector<T> memory(static_cast<std::size_t>(size), T{-77});
        const std::vector<View<T>> all = views(memory.data(), extents_);
        for (std::size_t k = 0; k < all.size(); ++k) {
            for (Index j = 0; j < all[k].cols(); ++j) {
                for (Index i = 0; i < all[k].rows(); ++i) all[k](i, j) = values(static_cast<Index>(k), i, j);
            }
        }
        return memory;
    }

    std::vector<Extent> extents_, used_;
    std::vector<T> host_;
    typename Kernels::template Memory<T> device_;
    typename Kernels::template Memory<View<T>> list_;
    std::vector<View<T>> treated_;
};

/// Orders of all classes, and matrices that calls refuse.
struct ListedOrders {
    std::vector<Extent> extents;
    std::vector<bool> treated;
    Extent bounds;

    ListedOrders(Index most, bool square) : bounds{most, most} {
        for (const Index n : {0, 1, 3, 4, 5, 8, 13, 16, 17, 24, 31, 32, 33, 48, 64, 65, 96, 100, 128, 130, 200, 300}) {
            if (n > most) continue;
            add({n, n}, true);
            add({n, n / 2}, !square);
            add({n / 3, n}, !square);
            if (n == 33) add({most + 1, most + 1}, false);
        }
    }
    void add(const Extent& extent, bool allowed) {
        extents.push_back(extent);
        treated.push_back(allowed || (extent.rows == extent.cols && extent.rows <= bounds.rows));
    }
    template <class Of>
    std::vector<Extent> companions(const Of& of) const {
        std::vector<Extent> result;
        for (const Extent& extent : extents) result.push_back(of(extent));
        return result;
    }
    /// Of what belongs to matrices: the used parts, or `room` for that of the largest matrix.
    static std::vector<Extent> with_room(const std::vector<Extent>& used, const Extent& room, bool roomy) {
        return roomy ? std::vector<Extent>(used.size(), room) : used;
    }
    /// INFO of matrices that the calls treat, and -1.
    std::vector<Index> all_info(const std::vector<Index>& of_treated) const {
        std::vector<Index> info;
        std::size_t next = 0;
        for (const bool is : treated) info.push_back(is ? of_treated[next++] : -1);
        return info;
    }
    std::vector<Index> room() const { return std::vector<Index>(extents.size(), -7); }
    double tolerance(double eps) const { return 50 * static_cast<double>(bounds.rows + 4) * eps; }
};

/// Well conditioned; the large elements are not on the diagonal, so that rows are exchanged.
template <class T>
T listed_value(Index k, Index i, Index j, const Extent& extent) {
    const Index larger = std::max<Index>(1, std::max(extent.rows, extent.cols));
    const bool large = i == (j + k) % std::max<Index>(1, extent.rows) && j <= extent.rows;
    return static_cast<T>(scattered(i, j, k) + (large ? 2.0 * static_cast<double>(larger) : 0.0));
}

template <class T>
auto listed_values(const ListedOrders& p) {
    return [&p](Index k, Index i, Index j) { return listed_value<T>(k, i, j, p.extents[static_cast<std::size_t>(k)]); };
}
/// What belongs to the matrices.
template <class T>
T listed_noise(Index k, Index i, Index j) {
    return static_cast<T>(scattered(i, j, k + 99));
}

template <class T, class Kernels>
void check_cholesky_lists(Kernels& kernels, Index most, Triangle triangle, Index cols, bool roomy) {
    INFO("Cholesky, orders up to " << most << ", " << cols << " right-hand sides");
    const ListedOrders p(most, true);
    const auto positive = [&](Index, Index i, Index j) {
        return static_cast<T>(scattered(std::min(i, j), std::max(i, j), 1) + (i == j ? 2.0 * most : 0.0));
    };
    const auto sides = p.companions([&](const Extent& a) { return Extent{a.rows, cols}; });
    constexpr auto noise = listed_noise<T>;
    const on_stream::BatchPlan plan;
    std::vector<Index> expected = p.room();
    typename Kernels::template Memory<Index> info(kernels, p.room());

    const auto room = p.with_room(sides, {most + 1, cols}, roomy);
    MatrixList<T, Kernels> a(kernels, p.extents, positive), b(kernels, room, noise, sides);
    kernels(on_stream::batch_potrf<T>, Triangle{triangle}, a.on_device(p.bounds), info.data(),
            on_stream::BatchPlan(plan));
    on_stream::batch_potrf<T>.on_cpu(triangle, a.on_host(p.treated), expected.data(), plan);
    REQUIRE(info.read() == p.all_info(expected));
    REQUIRE(a.difference() <= p.tolerance(eps<T>()));
    kernels(on_stream::batch_potrs<T>, Triangle{triangle}, BatchView<const T>(a.on_device(p.bounds)),
            b.on_device({most, cols}));
    on_stream::batch_potrs<T>.on_cpu(triangle, BatchView<const T>(a.on_host(p.treated)), b.on_host(p.treated));
    REQUIRE(b.difference() <= p.tolerance(eps<T>()));

    MatrixList<T, Kernels> again(kernels, p.extents, positive), x(kernels, room, noise, sides);
    kernels(on_stream::batch_posv<T>, Triangle{triangle}, again.on_device(p.bounds), x.on_device({most, cols}),
            info.data(), BatchFactor{BatchFactor::keep}, on_stream::BatchPlan(plan));
    on_stream::batch_posv<T>.on_cpu(triangle, again.on_host(p.treated), x.on_host(p.treated), expected.data(),
                                    BatchFactor::keep, plan);
    REQUIRE(info.read() == p.all_info(expected));
    REQUIRE(again.difference() <= p.tolerance(eps<T>()));
    REQUIRE(x.difference() <= p.tolerance(eps<T>()));
}

template <class T, class Kernels>
void check_lu_lists(Kernels& kernels, Index most, Index cols, bool roomy) {
    INFO("LU, orders up to " << most << ", " << cols << " right-hand sides");
    const ListedOrders p(most, true);
    const auto value = listed_values<T>(p);
    const auto sides = p.companions([&](const Extent& a) { return Extent{a.rows, cols}; });
    const auto orders = p.companions([&](const Extent& a) { return Extent{a.rows, 1}; });
    constexpr auto noise = listed_noise<T>;
    const auto none = [](Index, Index, Index) { return Index{-7}; };
    const on_stream::BatchLuPlan plan;
    std::vector<Index> expected = p.room();
    typename Kernels::template Memory<Index> info(kernels, p.room());
    using Order = std::optional<BatchView<const Index>>;

    const auto room = p.with_room(sides, {most + 1, cols}, roomy),
               square = p.with_room(p.extents, {most + 1, most + 1}, roomy);
    const auto longest = p.with_room(orders, {most + 1, 1}, roomy);
    MatrixList<T, Kernels> a(kernels, p.extents, value), b(kernels, room, noise, sides),
        inverse(kernels, square, noise, p.extents);
    MatrixList<Index, Kernels> pivots(kernels, longest, none, orders), others(kernels, longest, none, orders);
    kernels(on_stream::batch_getrf<T>, a.on_device(p.bounds),
            std::optional<BatchView<Index>>(pivots.on_device({most, 1})), info.data(), on_stream::BatchLuPlan(plan));
    on_stream::batch_getrf<T>.on_cpu(a.on_host(p.treated), pivots.on_host(p.treated), expected.data(), plan);
    REQUIRE(info.read() == p.all_info(expected));
    REQUIRE(pivots.difference() == 0);
    REQUIRE(a.difference() <= p.tolerance(eps<T>()));
    const BatchView<const T> factors(a.on_device(p.bounds)), same(a.on_host(p.treated));
    const BatchView<const Index> order(pivots.on_device({most, 1})), order_here(pivots.on_host(p.treated));
    kernels(on_stream::batch_getrs<T>, factors, Order(order), b.on_device({most, cols}));
    on_stream::batch_getrs<T>.on_cpu(same, Order(order_here), b.on_host(p.treated));
    REQUIRE(b.difference() <= p.tolerance(eps<T>()));
    kernels(on_stream::batch_getri<T>, factors, order, inverse.on_device(p.bounds), info.data());
    on_stream::batch_getri<T>.on_cpu(same, order_here, inverse.on_host(p.treated), expected.data());
    REQUIRE(info.read() == p.all_info(expected));
    REQUIRE(inverse.difference() <= p.tolerance(eps<T>()));

    MatrixList<T, Kernels> again(kernels, p.extents, value), x(kernels, room, noise, sides);
    kernels(on_stream::batch_gesv<T>, again.on_device(p.bounds), others.on_device({most, 1}), x.on_device({most, cols}),
            info.data(), on_stream::BatchLuPlan(plan));
    on_stream::batch_gesv<T>.on_cpu(again.on_host(p.treated), others.on_host(p.treated), x.on_host(p.treated),
                                    expected.data(), plan);
    REQUIRE(info.read() == p.all_info(expected));
    REQUIRE(others.difference() == 0);
    REQUIRE(again.difference() <= p.tolerance(eps<T>()));
    REQUIRE(x.difference() <= p.tolerance(eps<T>()));
}

template <class T, class Kernels>
void check_qr_lists(Kernels& kernels, Index most, Index cols, bool roomy) {
    INFO("QR, orders up to " << most << ", " << cols << " right-hand sides");
    const ListedOrders p(most, false);
    const auto value = listed_values<T>(p);
    constexpr auto noise = listed_noise<T>;
    const auto none = [](Index, Index, Index) { return T{-7}; };
    const auto scales = p.companions([&](const Extent& a) { return Extent{std::min(a.rows, a.cols), 1}; });
    const auto sides = p.companions([&](const Extent& a) { return Extent{std::max(a.rows, a.cols), cols}; });
    const on_stream::BatchLuPlan plan;
    std::vector<Index> expected = p.room();
    typename Kernels::template Memory<Index> info(kernels, p.room());

    const auto room = p.with_room(sides, {most + 1, cols}, roomy), all = p.with_room(scales, {most + 1, 1}, roomy);
    MatrixList<T, Kernels> a(kernels, p.extents, value), tau(kernels, all, none, scales);
    kernels(on_stream::batch_geqrf<T>, a.on_device(p.bounds), tau.on_device({most, 1}), on_stream::BatchLuPlan(plan));
    on_stream::batch_geqrf<T>.on_cpu(a.on_host(p.treated), tau.on_host(p.treated), plan);
    REQUIRE(a.difference() <= p.tolerance(eps<T>()));
    REQUIRE(tau.difference() <= p.tolerance(eps<T>()));
    std::vector<bool> tall = p.treated;
    for (std::size_t k = 0; k < tall.size(); ++k) tall[k] = tall[k] && p.extents[k].cols <= p.extents[k].rows;
    kernels(on_stream::batch_orgqr<T>, a.on_device(p.bounds), BatchView<const T>(tau.on_device({most, 1})));
    on_stream::batch_orgqr<T>.on_cpu(a.on_host(tall), BatchView<const T>(tau.on_host(tall)));
    REQUIRE(a.difference() <= p.tolerance(eps<T>()));

    MatrixList<T, Kernels> c(kernels, p.extents, value), x(kernels, room, noise, sides);
    kernels(on_stream::batch_gels<T>, c.on_device(p.bounds), x.on_device({most, cols}), info.data());
    on_stream::batch_gels<T>.on_cpu(c.on_host(p.treated), x.on_host(p.treated), expected.data());
    REQUIRE(info.read() == p.all_info(expected));
    REQUIRE(c.difference() <= p.tolerance(eps<T>()));
    REQUIRE(x.difference() <= p.tolerance(eps<T>()));
}

template <class T, class Kernels>
void check_batch_lists(Kernels& kernels, Index most) {
    const Index largest_cholesky = std::min(most, largest_gpu_batch_order);
    for (const Index cols : {1, 3}) {
        const bool roomy = cols == 3;
        check_cholesky_lists<T>(kernels, largest_cholesky, cols == 1 ? Triangle::lower : Triangle::upper, cols, roomy);
        check_lu_lists<T>(kernels, most, cols, roomy);
        check_qr_lists<T>(kernels, most, cols, roomy);
    }
}

}  // namespace basalt_tests
