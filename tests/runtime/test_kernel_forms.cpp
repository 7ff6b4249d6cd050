// What kernels get: views, a Team only where they need one, the views of ranges, and the addresses of lists.
#include <array>
#include <cstddef>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "basalt/array.hpp"
#include "basalt/runtime.hpp"
#include "tests/common/catch.hpp"
#include "tests/common/mentions.hpp"
#include "tests/common/watchdog.hpp"

using namespace basalt;
using basalt_tests::error_of;
using basalt_tests::mentions;
using basalt_tests::Watchdog;

namespace {

Config workers_and_gpus(int gpus) {
    Config config;
    config.workers = 2;
    config.gpus = 0;
    config.emulation.gpus = gpus;
    return config;
}

template <class F, class... Argument>
constexpr bool gets_team(F) {
    return !std::is_invocable_v<F&, Argument...>;
}
constexpr auto generic = [](auto&&...) {};
constexpr auto two = [](auto, auto) {};
constexpr auto gang = [](const Team&, auto...) {};
static_assert(!gets_team<decltype(generic), View<int>>(generic), "a generic kernel gets the views alone");
static_assert(gets_team<decltype(two), View<int>>(two) && detail::is_cpu_kernel<decltype(two), View<int>>);
static_assert(gets_team<decltype(gang), View<int>>(gang) && detail::is_cpu_kernel<decltype(gang), View<int>>);

/// A kernel that does not compile for anything but views.
constexpr auto first_element = [](auto&&... view) { return (view[0] + ...); };
static_assert(detail::is_cpu_kernel<decltype(first_element), View<int>>);
static_assert(detail::takes_arguments<decltype(first_element), detail::NoKernel, View<int>>);

static_assert(RegionRange<std::vector<Array<int>>> && RegionRange<std::array<Region<int>, 2>>);
static_assert(RegionRange<std::span<const Region<int>>> && !RegionRange<std::vector<int>> && !RegionRange<Array<int>>);

std::vector<Array<int>> numbered(Runtime& runtime, int count) {
    std::vector<Array<int>> arrays;
    for (int i = 0; i < count; ++i) {
        arrays.emplace_back(runtime, 10);
        runtime.submit({}, write(arrays.back()), [i](View<int> v) {
            for (Index e = 0; e < v.size(); ++e) v[e] = 100 * i + static_cast<int>(e);
        });
    }
    return arrays;
}

}  // namespace

TEST_CASE("a view is the same after a task has stored it") {
    const auto is_same = [](const View<double>& view) {
        const View<double> stored = detail::StoredView<double>(view).view();
        return stored.data() == view.data() && stored.rows() == view.rows() && stored.cols() == view.cols() &&
               stored.row_stride() == view.row_stride() && stored.col_stride() == view.col_stride();
    };
    double element = 0;
    const Index most = (Index{1} << 47) - 1, wide = Index{1} << 32;
    for (const Index rows : {Index{0}, Index{1}, Index{2}, Index{65535}, Index{65536}, wide - 1, most}) {
        CHECK(is_same(View<double>(&element, rows)));
        for (const Index cols : {Index{0}, Index{1}, Index{3}, Index{65537}, wide - 1}) {
            for (const Index ld : {Index{1}, Index{7}, rows, most}) {
                INFO(rows << " x " << cols << ", leading dimension " << ld);
                CHECK(is_same(View<double>::column_major(&element, rows, cols, ld)));
                CHECK(is_same(View<double>::row_major(&element, cols, rows, ld)));
            }
        }
    }
    CHECK(is_same(View<double>(nullptr, 0)));
}

TEST_CASE("a kernel gets a Team only if it cannot be called without") {
    const Watchdog watchdog;
    Runtime rt(workers_and_gpus(0));
    Array<int> x(rt, 4);
    std::size_t arguments = 0;
    rt.submit({}, read(x), [&](auto&&... a) { arguments = sizeof...(a); });
    rt.wait();
    CHECK(arguments == 1);
    rt.submit({.threads = {2, 2}}, read(x), [&](const Team& team, auto... a) {
        if (team.rank() == 0) arguments = 10 * static_cast<std::size_t>(team.size()) + sizeof...(a);
    });
    rt.wait();
    CHECK(arguments == 21);
    rt.submit({}, [&](auto&&... a) { arguments = sizeof...(a); });
    rt.wait();
    CHECK(arguments == 0);
}

TEST_CASE("a range of arrays stands among the accesses and its views come in its order", "[sanitize]") {
    const Watchdog watchdog;
    const int count = GENERATE(0, 1, 3, 4, 5, 40);
    const bool on_gpu = GENERATE(false, true);
    CAPTURE(count, on_gpu);
    Runtime rt(workers_and_gpus(1));
    const std::vector<Array<int>> data = numbered(rt, count);
    Array<int> first(rt, 1), result(rt, 1, "result");
    rt.submit({}, write(first), [](View<int> v) { v[0] = 7; });
    int seen = 0;
    const auto add = [&seen](View<const int> a, Views<const int> parts, View<int> sum) {
        sum[0] = a[0];
        for (const View<const int>& part : parts) {
            if (part[3] != 100 * (&part - parts.data()) + 3) throw std::runtime_error("not in order");
            sum[0] += part[9];
        }
        seen = static_cast<int>(parts.size());
    };
    rt.submit({.place = on_gpu ? Place::gpu(0) : Place::cpu()}, read(first), read(data), write(result), add,
              cuda([](Stream) {}));
    rt.wait();
    CHECK(seen == count);
    CHECK(result.host_view()[0] == 7 + 9 * count + 100 * count * (count - 1) / 2);
}

TEST_CASE("ranges of regions are written, commuted on, and make dependencies", "[sanitize]") {
    const Watchdog watchdog;
    Runtime rt(workers_and_gpus(0));
    Array<int> x(rt, 8);
    const std::array<Region<int>, 2> halves{x.rows(0, 4), x.rows(4, 8)};
    rt.submit({}, write(halves), [](Views<int> parts) {
        for (const View<int>& part : parts) {
            for (Index i = 0; i < part.size(); ++i) part[i] = 1;
        }
    });
    for (int i = 0; i < 50; ++i) {
        rt.submit({}, commute(halves), [](std::span<const View<int>> parts) { ++parts[1][0]; });
        rt.submit({}, readwrite(std::span<const Region<int>>(halves).first(1)), [](auto parts) { ++parts[0][3]; });
        rt.submit({.threads = {2, 2}}, readwrite(halves), [](const Team& team, Views<int> parts) {
            if (team.rank() == 1) ++parts[0][0];
        });
    }
    const View<int> v = x.host_view();
    CHECK(std::array{v[0], v[1], v[3], v[4], v[5]} == std::array{51, 1, 51, 51, 1});
    AccessList list;
    list.read(halves).write(std::vector<Array<int>>());
    CHECK(list.records().size() == 2);
    const std::vector<Array<int>> with_an_empty_one(1);
    CHECK(mentions(error_of<UsageError>([&] { rt.submit({}, read(with_an_empty_one), [] {}); }), "empty"));
}

TEST_CASE("a list's address is that of its region's first element") {
    const Watchdog watchdog;
    const bool on_gpu = GENERATE(false, true);
    Runtime rt(workers_and_gpus(1));
    Array<int> x(rt, 100);
    rt.submit({}, write(x), [](View<int> v) {
        for (int i = 0; i < 100; ++i) v[i] = i;
    });
    AccessList list;
    list.read(x.rows(40, 50)).read(x.rows(3, 3)).read(x);
    std::array<int, 2> seen{};
    bool none = false;
    const auto look = [&](const Addresses& at) {
        seen = {*static_cast<int*>(at[0]), *static_cast<int*>(at[2])};
        none = at[1] == nullptr;
    };
    rt.submit({.place = on_gpu ? Place::gpu(0) : Place::cpu()}, list, look, cuda([](Stream) {}));
    rt.wait();
    CHECK(seen == std::array{40, 0});
    CHECK(none);
}
