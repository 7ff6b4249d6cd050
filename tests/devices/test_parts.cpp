// Blocks of arrays: they are used at the same time on several GPUs and on cores, and arrays are cut in other ways while
// tasks are in flight.
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "basalt/array2d.hpp"
#include "tests/common/catch.hpp"
#include "tests/common/gate.hpp"
#include "tests/common/mentions.hpp"
#include "tests/common/runtime_settings.hpp"
#include "tests/common/watchdog.hpp"
#include "tests/devices/block_tasks.hpp"
#include "tests/devices/device_tasks.hpp"

using namespace basalt;
using namespace basalt_tests;

namespace {

/// Tasks that all begin before one of them ends, or the test fails.
class Meeting {
  public:
    explicit Meeting(int guests) : guests_(guests) {}
    void attend() {
        ++present_;
        if (!comes_true([this] { return present_ >= guests_; })) alone_ = true;
    }
    bool took_place() const { return !alone_ && present_ == guests_; }

  private:
    const int guests_;
    std::atomic<int> present_{0};
    std::atomic<bool> alone_{false};
};

/// The traced tasks of a name, each with its row.
std::vector<std::pair<TraceEvent, TraceRow>> events_of(const Trace& trace, const std::string& name) {
    std::vector<std::pair<TraceEvent, TraceRow>> found;
    for (const TraceEvent& event : trace.events) {
        if (event.name == name) found.emplace_back(event, trace.rows[static_cast<std::size_t>(event.row)]);
    }
    return found;
}

}  // namespace

TEST_CASE("two GPUs and a core work on blocks of one array at the same time, as the trace shows", "[sanitize]") {
    const Watchdog watchdog;
    const auto rt = DeviceSetting{.gpus = 2, .trace = true}.runtime();
    Array<int> x(*rt, 900);
    const Partition<int> thirds = x.split(3);
    for (int round = 0; round < 3; ++round) {
        Meeting meeting(3);
        for (Index k = 0; k < 3; ++k) {
            const Place place = k == 2 ? Place::cpu() : Place::gpu(static_cast<int>(k));
            rt->submit(
                {.name = "meet", .place = place}, readwrite(thirds[k]),
                [&meeting](View<int> v) {
                    meeting.attend();
                    ++v[0];
                },
                cuda(same_kernel));
        }
        rt->wait();
        CHECK(meeting.took_place());
    }
    const Trace trace = rt->take_trace();
    auto met = events_of(trace, "meet");
    REQUIRE(met.size() == 9);
    std::sort(met.begin(), met.end(), [](const auto& a, const auto& b) { return a.first.begin_ns < b.first.begin_ns; });
    for (auto round = met.begin(); round != met.end(); round += 3) {
        std::set<std::optional<int>> devices;
        for (int k = 0; k < 3; ++k) {
            devices.insert(round[k].second.device);
            CHECK(round[2].first.begin_ns < round[k].first.end_ns);  // the last one begins before any of them ends
        }
        CHECK(devices == std::set<std::optional<int>>{std::nullopt, 0, 1});
    }
    // each GPU's block went there once, and nothing else did
    const auto sent = events_of(trace, "to gpu");
    REQUIRE(sent.size() == 2);
    for (const auto& [event, row] : sent) CHECK(event.bytes == 300 * static_cast<std::int64_t>(sizeof(int)));
    CHECK(events_of(trace, "to host").empty());
    for (Index k = 0; k < 3; ++k) CHECK(thirds[k].host_view()[0] == 3);
}

TEST_CASE("with Place::any() tasks on blocks follow their blocks, on two GPUs and a core at the same time",
          "[sanitize]") {
    const Watchdog watchdog;
    const auto rt = DeviceSetting{.gpus = 2, .trace = true}.runtime();
    Array<int> x(*rt, 900);
    const Partition<int> thirds = x.split(3);
    for (int gpu = 0; gpu < 2; ++gpu) rt->prefetch(thirds[gpu], Place::gpu(gpu));
    for (int round = 0; round < 3; ++round) {
        Meeting meeting(3);
        const auto meet = [&meeting](View<int> v) {
            meeting.attend();
            ++v[0];
        };
        for (Index k = 0; k < 2; ++k) rt->submit({.name = "any"}, readwrite(thirds[k]), meet, cuda(same_kernel));
        rt->submit({.name = "core"}, readwrite(thirds[2]), meet);
        rt->wait();
        CHECK(meeting.took_place());
    }
    std::multiset<std::optional<int>> devices;
    const Trace trace = rt->take_trace();
    for (const auto& [event, row] : events_of(trace, "any")) devices.insert(row.device);
    CHECK(devices == std::multiset<std::optional<int>>{0, 0, 0, 1, 1, 1});
    CHECK(events_of(trace, "to gpu").size() == 2);  // each block stays where it is
    for (Index k = 0; k < 3; ++k) CHECK(thirds[k].host_view()[0] == 3);
}

TEST_CASE("kernels get blocks in place on cores and packed on GPUs, with the leading dimension", "[sanitize]") {
    const Watchdog watchdog;
    const auto rt = DeviceSetting{.gpus = 2}.runtime();
    constexpr Index rows = 5, cols = 4, ld = 8;
    constexpr int between = -7;
    std::vector<int> memory(ld * cols, between);
    auto x = wrap2d(*rt, memory.data(), rows, cols, ld);
    number(x);
    const Partition<int> blocks = x.split_at({3}, {1});
    CHECK((blocks.block_rows() == 2 && blocks.block_cols() == 2 && blocks.size() == 4));
    const Block<int>& block = blocks(0, 1);
    CHECK((block.row() == 0 && block.col() == 1 && block.rows() == 3 && block.cols() == 3));

    struct Seen {
        const int* data;
        Index rows, cols, ld;
        int last;
    };
    const auto seen_on = [&](Place place, const Region<int>& region) {
        Seen seen{};
        rt->submit(
            {.place = place}, readwrite(region),
            [&](View<int> v) {
                seen = {v.data(), v.rows(), v.cols(), v.col_stride(), v(v.rows() - 1, v.cols() - 1)};
                v(0, 0) += 1000;
            },
            cuda(same_kernel));
        rt->wait();
        return seen;
    };
    const Seen home = seen_on(Place::cpu(), block.region());
    CHECK((home.data == &memory[ld] && home.rows == 3 && home.cols == 3 && home.ld == ld && home.last == 203));
    const Seen away = seen_on(Place::gpu(1), block.region());
    CHECK((away.rows == 3 && away.cols == 3 && away.ld == 3 && away.last == 203));
    const Seen part = seen_on(Place::gpu(0), block.part(1, 1, 2, 2));
    CHECK((part.rows == 2 && part.cols == 2 && part.ld == 3 && part.last == 203));
    const Seen whole = seen_on(Place::gpu(0), x.region());
    CHECK((whole.rows == rows && whole.cols == cols && whole.ld == rows && whole.last == 403));
    const Seen window = seen_on(Place::gpu(1), x.part(2, 1, 3, 2));
    CHECK((window.rows == 3 && window.cols == 2 && window.ld == rows && window.last == 402));

    for (Index j = 0; j < cols; ++j) {
        for (Index i = 0; i < ld; ++i) {
            const bool twice = i == 0 && j == 1, once = (i == 1 && j == 2) || (i == 0 && j == 0) || (i == 2 && j == 1);
            const int expected = i >= rows ? between : static_cast<int>(100 * i + j + (twice ? 2000 : once ? 1000 : 0));
            CHECK(memory[static_cast<std::size_t>(i + j * ld)] == expected);
        }
    }
}

TEST_CASE("an array is cut in another way behind the uses of its old blocks, without wait()", "[sanitize]") {
    const Watchdog watchdog;
    const auto rt = DeviceSetting{.gpus = 2}.runtime();
    Array2D<int> x(*rt, 12, 12);
    number(x);
    Gate gate;
    rt->submit({.name = "gate", .place = Place::cpu()}, readwrite(x), [&](View<int>) { gate.pass(); });
    gate.await_arrival();
    // from here on nothing of x runs until the gate opens, and all of it is submitted
    for (int round = 0; round < 3; ++round) {
        {
            const Partition<int> strips = x.split(4, 1);
            for (Index k = 0; k < 4; ++k) {
                rt->submit({.place = k == 3 ? Place::cpu() : Place::gpu(static_cast<int>(k % 2))}, readwrite(strips[k]),
                           triple, cuda(same_kernel));
            }
        }  // the partition ends while its tasks are in flight
        const Partition<int> columns = x.split_at({}, {1, 6});
        for (Index k = 0; k < 3; ++k) {
            rt->submit({.place = Place::gpu(static_cast<int>(k % 2))}, readwrite(columns[k]), triple,
                       cuda(same_kernel));
        }
        rt->submit({.place = round == 1 ? Place::gpu(1) : Place::cpu()}, readwrite(x), triple, cuda(same_kernel));
    }
    gate.open();
    const View<int> result = x.host_view();
    constexpr int all = 19683;  // 3^9
    for (Index j = 0; j < 12; ++j) {
        for (Index i = 0; i < 12; ++i) REQUIRE(result(i, j) == all * static_cast<int>(100 * i + j));
    }
    rt->wait();
}

TEST_CASE("blocks wait for the earlier blocks that they overlap, and for no others", "[sanitize]") {
    const Watchdog watchdog;
    const auto rt = DeviceSetting{.gpus = 1, .workers = 3}.runtime();
    Array<int> x(*rt, 100);
    const Partition<int> halves = x.split(2), quarters = x.split(4);
    Gate gate;
    rt->submit({.place = Place::cpu()}, readwrite(halves[0]), [&](View<int> v) {
        gate.pass();
        v[0] = 1;
    });
    gate.await_arrival();
    std::atomic<int> seen{-1};
    rt->submit({.place = Place::cpu()}, read(quarters[0]), [&](View<const int> v) { seen = v[0]; });
    for (const Place place : {Place::cpu(), Place::gpu(0)}) {
        rt->submit(
            {.place = place}, readwrite(quarters[2]), [](View<int> v) { ++v[0]; }, cuda(same_kernel));
    }
    CHECK(quarters[2].host_view()[0] == 2);  // although halves[0] is in use
    CHECK(seen == -1);
    gate.open();
    rt->wait();
    CHECK(seen == 1);
}

TEST_CASE("a range of blocks is one access, and lists take blocks without gaps") {
    const Watchdog watchdog;
    const auto rt = DeviceSetting{.gpus = 1}.runtime();
    Array<int> x(*rt, 10);
    const Partition<int> blocks = x.split(3);
    rt->submit(
        {.place = Place::gpu(0)}, write(blocks),
        [](Views<int> all) {
            for (std::size_t k = 0; k < all.size(); ++k) {
                for (Index i = 0; i < all[k].size(); ++i) all[k][i] = static_cast<int>(k);
            }
        },
        cuda(same_kernel));
    const View<int> result = x.host_view();
    const std::vector<int> expected{0, 0, 0, 0, 1, 1, 1, 2, 2, 2};
    CHECK(std::equal(expected.begin(), expected.end(), result.data()));

    AccessList list;
    list.readwrite(blocks[1]).readwrite(blocks[2].part(1, 0, 1, 1));
    rt->submit({}, list, [](const Addresses& at) {
        *static_cast<int*>(at[0]) = 11;
        *static_cast<int*>(at[1]) = 22;
    });
    CHECK(x.host_view()[4] == 11);
    CHECK(x.host_view()[8] == 22);
    Array2D<int> y(*rt, 4, 4);
    const Partition<int> squares = y.split(2, 2);
    CHECK(mentions(error_of<UsageError>([&] { list.read(squares(0, 0)); }), "allowed among the accesses of submit()"));
    rt->wait();
}

TEST_CASE("the host sees and overwrites one block while another is in use", "[sanitize]") {
    const Watchdog watchdog;
    const auto rt = DeviceSetting{.gpus = 1}.runtime();
    Array2D<int> x(*rt, 4, 6);
    number(x);
    const Partition<int> blocks = x.split(2, 2);
    Gate gate;
    rt->submit(
        {.place = Place::gpu(0)}, readwrite(blocks(1, 1)),
        [&](View<int> v) {
            gate.pass();
            triple(v);
        },
        cuda(same_kernel));
    gate.await_arrival();
    rt->submit({.place = Place::gpu(0)}, readwrite(blocks(0, 1)), triple, cuda(same_kernel));
    const View<int> seen = blocks(0, 1).host_view();
    CHECK((seen(1, 2) == 3 * 105 && seen.col_stride() == 4));
    const View<int> written = blocks(1, 0).host_overwrite();
    written(0, 0) = -5;
    gate.open();
    CHECK(x.host_view()(2, 0) == -5);
    CHECK(x.host_view()(3, 5) == 3 * 305);
    rt->wait();
}

TEST_CASE("blocks are sent ahead and broadcast", "[sanitize]") {
    const Watchdog watchdog;
    const auto rt = DeviceSetting{.gpus = 3}.runtime();
    Array2D<int> x(*rt, 6, 6);
    number(x);
    const Partition<int> blocks = x.split(2, 2);
    rt->prefetch(blocks(1, 0), Place::gpu(2));
    rt->broadcast(blocks(0, 1).region());
    rt->wait();
    const std::uint64_t before = copies(*rt);
    CHECK(before >= 4);
    std::atomic<int> sum{0};
    for (int gpu = 0; gpu < 3; ++gpu) {
        rt->submit(
            {.place = Place::gpu(gpu)}, read(blocks(0, 1)), [&](View<const int> v) { sum += v(2, 2); },
            cuda(same_kernel));
    }
    rt->submit(
        {.place = Place::gpu(2)}, read(blocks(1, 0)), [&](View<const int> v) { sum += v(0, 1); }, cuda(same_kernel));
    rt->wait();
    CHECK(sum == 3 * 205 + 301);
    CHECK(copies(*rt) == before);
    CHECK(mentions(error_of<UsageError>([&] { rt->prefetch(blocks(0, 0), Place::any()); }), "Place::any()"));
}

TEST_CASE("blocks that are overwritten bring nothing home", "[sanitize]") {
    const Watchdog watchdog;
    const auto rt = DeviceSetting{.gpus = 2}.runtime();
    Array<int> x(*rt, 100);
    const Partition<int> halves = x.split(2);
    for (int gpu = 0; gpu < 2; ++gpu) {
        rt->submit(
            {.place = Place::gpu(gpu)}, write(halves[gpu]), [](View<int> v) { v[0] = 1; }, cuda(same_kernel));
    }
    rt->submit(
        {.place = Place::gpu(0)}, write(x),
        [](View<int> v) {
            for (Index i = 0; i < v.size(); ++i) v[i] = 2;
        },
        cuda(same_kernel));
    rt->wait();
    CHECK(copies(*rt) == 0);
    CHECK(x.host_view()[99] == 2);
}

TEST_CASE("errors say which rows and columns a task used", "[sanitize]") {
    const Watchdog watchdog;
    Runtime rt(basalt_tests::small_machine(1));
    const Array2D<double> a(rt, 3, 5, "a");
    rt.submit({.name = "t"}, write(a.part(1, 0, 2, 4)), [](View<double>) { throw std::runtime_error("odd"); });
    CHECK(mentions(error_of<TaskError>([&] { rt.wait(); }), "[write a rows [1, 3) columns [0, 4)]"));
    CHECK(mentions(error_of<DataError>([&] { a.host_view(); }), "'a' rows [1, 3) columns [0, 4)"));
    a.host_overwrite();
    const auto rows = a.split(3, 1), columns = a.split(1, 5);
    const auto both = [&] { rt.submit({.name = "t"}, read(rows[0]), read(columns[0]), [] {}); };
    CHECK(mentions(error_of<UsageError>(both), "'a(0,0)' (rows [0, "));
}

TEST_CASE("an array that is cut is not renamed", "[sanitize]") {
    const auto rt = DeviceSetting{.gpus = 0}.runtime();
    Array<int> x(*rt, 10);
    const Partition<int> halves = x.split(2);
    Gate gate;
    int seen = 0;
    rt->submit({}, read(x), [&](View<const int>) { gate.pass(); });
    rt->submit({}, write(x), [](View<int> v) { std::fill(v.data(), v.data() + v.size(), 4); });
    rt->submit({}, write(halves[0]), [](View<int> v) { std::fill(v.data(), v.data() + v.size(), 5); });
    rt->submit({}, read(x), [&](View<const int> v) { seen = 10 * v[4] + v[5]; });
    CHECK(rt->statistics().renamed == 0);
    gate.open();
    rt->wait();
    CHECK(seen == 54);
}

TEST_CASE("tasks reduce into blocks, whose results are there in another partition", "[sanitize]") {
    const Watchdog watchdog;
    const auto rt = DeviceSetting{.gpus = 1, .workers = 3}.runtime();
    std::vector<int> memory(40, 1);
    const auto x = wrap2d(*rt, memory.data(), 8, 4, 10);
    const Partition<int> strips = x.split(2, 1), columns = x.split(1, 4);
    const auto add_one = [](View<int> v) {
        for (Index j = 0; j < v.cols(); ++j) {
            for (Index i = 0; i < v.rows(); ++i) ++v(i, j);
        }
    };
    for (int round = 0; round < 5; ++round) {
        for (int task = 0; task < 6; ++task) {
            rt->submit({}, reduce(strips[task % 2], 0, std::plus<>()), add_one);
        }
        for (Index j = 0; j < 4; ++j) {
            rt->submit({.place = j < 2 ? Place::gpu(0) : Place::cpu()}, readwrite(columns[j]), add_one,
                       cuda(same_kernel));
        }
    }
    rt->wait();
    for (int i = 0; i < 40; ++i) REQUIRE(memory[static_cast<std::size_t>(i)] == (i % 10 < 8 ? 21 : 1));
}
