// Blocks of arrays: what is refused, what failures leave, little memory, and ends in any order.
#include <algorithm>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "basalt/array.hpp"
#include "basalt/graph.hpp"
#include "basalt/recording.hpp"
#include "tests/common/catch.hpp"
#include "tests/common/mentions.hpp"
#include "tests/common/watchdog.hpp"
#include "tests/devices/block_tasks.hpp"
#include "tests/devices/device_tasks.hpp"

using namespace basalt;
using namespace basalt_tests;

TEST_CASE("blocks take turns in a GPU's memory that holds only some of them", "[sanitize]") {
    const Watchdog watchdog;
    const auto rt = DeviceSetting{.gpus = 1, .gpu_memory = 12'288}.runtime();  // three blocks of 4096 bytes
    Array2D<int> x(*rt, 64, 128);
    number(x);
    const Partition<int> blocks = x.split(2, 4);
    for (int round = 0; round < 2; ++round) {
        for (const Block<int>& block : blocks) {
            rt->submit({.place = Place::gpu(0)}, readwrite(block), triple, cuda(same_kernel));
        }
    }
    CHECK(mentions(error_of<DeviceError>([&] {
                       rt->submit({.name = "whole", .place = Place::gpu(0)}, readwrite(x), triple, cuda(same_kernel));
                   }),
                   "task whole needs 32768 bytes"));
    const View<int> result = x.host_view();
    for (Index j = 0; j < x.cols(); ++j) {
        for (Index i = 0; i < x.rows(); ++i) REQUIRE(result(i, j) == 9 * static_cast<int>(100 * i + j));
    }
    rt->wait();
}

TEST_CASE("a task that fails spoils its block, and what overlaps it, until that is written again", "[sanitize]") {
    const bool on_gpu = GENERATE(false, true);
    const Watchdog watchdog;
    const auto rt = DeviceSetting{.gpus = 2}.runtime();
    Array2D<int> x(*rt, 4, 4, "field");
    const Partition<int> blocks = x.split(2, 2), columns = x.split(1, 4);
    Graph other(*rt), failing(*rt);
    const Place place = on_gpu ? Place::gpu(0) : Place::cpu();
    failing.submit(
        {.name = "bad", .place = place}, readwrite(blocks(1, 1)), [](View<int>) { throw std::runtime_error("no"); },
        cuda(same_kernel));
    CHECK_THROWS_AS(failing.wait(), TaskError);
    for (const Index sound : {0, 1}) {
        other.submit({.place = Place::gpu(1)}, readwrite(columns[sound]), triple, cuda(same_kernel));
    }
    other.wait();
    CHECK(blocks(0, 1).host_view()(0, 0) == 0);
    CHECK(columns[0].host_view()(3, 0) == 0);
    const std::string why = "'field' rows [2, 4) columns [2, 4) has no valid contents: ";
    CHECK(mentions(error_of<DataError>([&] { blocks(1, 1).host_view(); }), why));
    CHECK(mentions(error_of<DataError>([&] { columns[2].host_view(); }), why));
    CHECK(mentions(error_of<DataError>([&] { x.host_view(); }), why));
    other.submit(
        {.name = "reader", .place = Place::gpu(1)}, read(columns[3]), write(blocks(0, 0)),
        [](View<const int>, View<int>) {}, cuda(same_kernel));
    CHECK(mentions(error_of<DataError>([&] { other.wait(); }), why));
    // a column of the spoilt block is written again, then the rest of it by the host
    other.submit(
        {.place = place}, write(columns[3]),
        [](View<int> v) {
            for (Index i = 0; i < v.rows(); ++i) v(i, 0) = 8;
        },
        cuda(same_kernel));
    other.wait();
    CHECK(columns[3].host_view()(3, 0) == 8);
    CHECK(mentions(error_of<DataError>([&] { blocks(1, 1).host_view(); }),
                   "'field' rows [2, 4) columns [2, 3) has no valid contents: "));
    const View<int> rest = columns[2].host_overwrite();
    for (Index i = 0; i < 4; ++i) rest(i, 0) = 9;
    blocks(0, 0).host_overwrite();
    CHECK(x.host_view()(2, 2) == 9);
    CHECK(x.host_view()(2, 3) == 8);
}

TEST_CASE("misuse of blocks is refused, saying what is allowed") {
    const Watchdog watchdog;
    const auto rt = DeviceSetting{.gpus = 1}.runtime();
    const auto another = DeviceSetting{.gpus = 0}.runtime();
    Array<int> x(*rt, 10, "x");
    Array2D<int> y(*rt, 4, 6, "y");
    const auto why = [](auto call) { return error_of<UsageError>(call); };

    CHECK(why([&] { x.split(0); }) == "Array::split: blocks = 0; allowed is 1 <= blocks <= 10");
    CHECK(why([&] { x.split(11); }) == "Array::split: blocks = 11; allowed is 1 <= blocks <= 10");
    CHECK(why([&] { y.split(5, 1); }) == "Array2D::split: block_rows = 5; allowed is 1 <= block_rows <= 4");
    CHECK(why([&] { y.split(1, 0); }) == "Array2D::split: block_cols = 0; allowed is 1 <= block_cols <= 6");
    CHECK(why([&] {
              x.split_at({3, 3});
          }) == "Array::split_at: cuts with 3, 3 in succession; allowed are ascending cuts between 0 and 10");
    CHECK(mentions(why([&] { x.split_at({10}); }), "cuts with 10, 10"));
    CHECK(mentions(why([&] { y.split_at({}, {-1}); }), "col_cuts with 0, -1"));
    std::vector<int> memory(24);
    CHECK(mentions(why([&] { wrap2d(*rt, memory.data(), 4, 6, 3); }), "ld = 3; allowed are"));
    CHECK(mentions(why([&] { Array2D<int>(*rt, -1, 6, "z"); }), "z: -1 rows"));
    CHECK(mentions(why([&] { Array2D<int>(*rt, 4, -6, "z"); }), "z: 4 x -6 elements"));
    CHECK(mentions(why([&] { wrap2d<int>(*rt, nullptr, 4, 6, 4, "z"); }), "z: the pointer is null"));
    CHECK(mentions(why([&] { y.part(2, 2, 3, 1); }), "Array2D::part(2, 2, 3, 1): allowed are windows inside 4 x 6"));

    const Partition<int> halves = x.split(2), thirds = x.split(3), squares = y.split(2, 3);
    CHECK(why([&] { squares(2, 0); }) == "block (2, 0) of a partition that has 2 x 3 blocks");
    CHECK(mentions(why([&] { halves[2]; }), "block (2, 0)"));
    CHECK(mentions(why([&] { squares(0, 0).part(0, 0, 1, 3); }), "Block::part(0, 0, 1, 3)"));
    const auto nothing = [](View<const int>, View<int>) {};
    CHECK(why([&] { rt->submit({.name = "odd"}, read(halves[0]), write(thirds[1]), nothing); }) ==
          "task 'odd' accesses 'x[0]' (rows [0, 5)) and 'x[1]' (rows [4, 7)), which have elements in common; allowed "
          "are blocks of one array that "
          "do not overlap, such as those of one partition");
    CHECK(mentions(why([&] { rt->submit({.name = "odd"}, read(y), write(squares(1, 2)), nothing); }),
                   "task 'odd' accesses 'y' and 'y(1,2)'"));
    rt->submit({.name = "even"}, read(halves[0]), write(thirds[2]), nothing);  // these do not overlap
    CHECK(mentions(why([&] { another->submit({}, read(halves[0]), write(halves[1]), nothing); }),
                   "'x[0]', which belongs to another Runtime"));

    std::string inside;
    rt->submit({.name = "parent"}, readwrite(x), [&](View<int>) { inside = why([&] { x.split(2); }); });
    rt->wait();
    CHECK(mentions(inside, "'x' is split inside a task that did not create it"));
    rt->submit({.name = "parent"}, readwrite(x), [&](View<int>) {
        inside = why([&] { rt->submit({.name = "child"}, readwrite(halves[0]), [](View<int>) {}); });
    });
    rt->wait();
    CHECK(mentions(inside, "does not hold"));

    x.release();
    CHECK(mentions(why([&] { rt->submit({}, read(halves[0]), [](View<const int>) {}); }),
                   "was released, or whose Runtime has ended: 'x[0]'"));
    CHECK(why([&] { halves[1].host_view(); }) == "block 'x[1]': its array was released or its Runtime has ended");
    CHECK(mentions(why([&] { thirds[1].host_overwrite(); }), "its array was released"));
    check_usable(*rt);
}

TEST_CASE("blocks, partitions, arrays and the runtime may end in any order, with tasks in flight", "[sanitize]") {
    const Watchdog watchdog;
    std::vector<int> memory(60, 1);
    for (int round = 0; round < 20; ++round) {
        auto rt = DeviceSetting{.gpus = 2}.runtime();
        std::optional<Array2D<int>> x(std::in_place, wrap2d(*rt, memory.data(), 5, 10, 6));
        std::optional<Partition<int>> strips(x->split(1, 5)), squares(x->split(2, 2));
        for (Index k = 0; k < 5; ++k) {
            rt->submit({.place = Place::gpu(static_cast<int>(k % 2))}, readwrite((*strips)[k]), triple,
                       cuda(same_kernel));
        }
        rt->submit({.place = Place::gpu(0)}, readwrite((*squares)(1, 0)), triple, cuda(same_kernel));
        for (int end = 0; end < 4; ++end) {
            switch ((end + round) % 4) {
                case 0: strips.reset(); break;
                case 1: rt.reset(); break;
                case 2: x.reset(); break;
                case 3: squares.reset(); break;
            }
        }
        for (int j = 0; j < 10; ++j) {
            for (int i = 0; i < 6; ++i) {
                REQUIRE(memory[static_cast<std::size_t>(i + 6 * j)] == (i == 5 ? 1 : i >= 3 && j < 5 ? 9 : 3));
            }
        }
        std::fill(memory.begin(), memory.end(), 1);
    }
}

TEST_CASE("a task cuts an array of its own, and its children share the parts of a block that it holds", "[sanitize]") {
    const Watchdog watchdog;
    const auto rt = DeviceSetting{.gpus = 1, .workers = 3}.runtime();
    Array2D<int> x(*rt, 4, 8);
    number(x);
    const Partition<int> halves = x.split(1, 2);
    rt->submit({.place = Place::gpu(0)}, readwrite(halves[1]), triple, cuda(same_kernel));
    rt->submit({.name = "parent", .place = Place::cpu()}, readwrite(halves[1]), [&](View<int>) {
        for (Index j = 0; j < 4; ++j) rt->submit({}, readwrite(halves[1].part(0, j, 4, 1)), triple);
        Array<int> own(*rt, 12);
        const Partition<int> thirds = own.split(3), quarters = own.split(4);
        for (Index k = 0; k < 3; ++k)
            rt->submit({}, write(thirds[k]), [k](View<int> v) { v[3] = static_cast<int>(k); });
        for (Index k = 0; k < 4; ++k) rt->submit({}, readwrite(quarters[k]), [](View<int> v) { v[0] += 100; });
        if (own.host_view()[3] != 100 || own.host_view()[11] != 2) throw std::runtime_error("wrong contents");
    });
    rt->submit({.place = Place::gpu(0)}, readwrite(x), triple, cuda(same_kernel));  // later in program order
    rt->wait();
    CHECK(x.host_view()(3, 7) == 27 * 307);
    CHECK(x.host_view()(3, 3) == 3 * 303);
}

TEST_CASE("a task that submit() refuses leaves the contents of the blocks that it would have overwritten") {
    const Watchdog watchdog;
    const auto rt = DeviceSetting{.gpus = 1}.runtime();
    Array<int> x(*rt, 8);
    const Partition<int> halves = x.split(2);
    const auto fill = [](View<int> v) { std::fill(v.data(), v.data() + v.size(), 7); };
    for (const Block<int>& half : halves) {
        rt->submit({.place = Place::gpu(0)}, write(half), fill, cuda(same_kernel));
    }
    rt->wait();
    CHECK_THROWS_AS(rt->submit({.place = Place::gpu(7)}, write(x), fill, cuda(same_kernel)), UsageError);
    CHECK_THROWS_AS(rt->submit({}, write(x), cuda(same_kernel)), UsageError);
    CHECK_THROWS_AS(rt->submit({}, write(x), read(halves[0]), [] {}), UsageError);
    CHECK(halves[1].host_view()[0] == 7);
    CHECK(x.host_view()[0] == 7);
}

namespace {

struct ThrowsWhenMoved {
    ThrowsWhenMoved() = default;
    ThrowsWhenMoved(const ThrowsWhenMoved&) {}
    ThrowsWhenMoved(ThrowsWhenMoved&&) noexcept(false) { throw std::runtime_error("cannot be moved"); }
};

}  // namespace

TEST_CASE("blocks whose overwriting task fails to enter the graph have no contents, rather than old ones") {
    const Watchdog watchdog;
    const auto rt = DeviceSetting{.gpus = 1}.runtime();
    Array<int> x(*rt, 8, "x");
    const Partition<int> halves = x.split(2);
    const auto fill = [](View<int> v) { std::fill(v.data(), v.data() + v.size(), 7); };
    for (const Block<int>& half : halves) {
        rt->submit({.place = Place::gpu(0)}, write(half), fill, cuda(same_kernel));
    }
    rt->wait();
    struct Kernel {
        ThrowsWhenMoved member;
        void operator()(View<int>) const {}
    };
    const Kernel kernel;
    CHECK_THROWS_WITH(rt->submit({}, write(x), kernel), "cannot be moved");
    CHECK_THROWS_AS(x.host_view(), DataError);
    CHECK_THROWS_AS(halves[1].host_view(), DataError);
    rt->submit({}, write(halves[1]), fill);
    rt->wait();
    CHECK(halves[1].host_view()[0] == 7);
}
