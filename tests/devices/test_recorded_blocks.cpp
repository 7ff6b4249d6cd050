// Recordings whose tasks use blocks of arrays, and memory with gaps between its columns, on cores and GPUs.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include "basalt/array.hpp"
#include "basalt/array2d.hpp"
#include "basalt/recording.hpp"
#include "basalt/runtime.hpp"
#include "tests/common/catch.hpp"
#include "tests/common/mentions.hpp"
#include "tests/common/runtime_settings.hpp"
#include "tests/common/watchdog.hpp"

using namespace basalt;
using basalt_tests::error_of;
using basalt_tests::mentions;
using basalt_tests::small_machine;
using basalt_tests::Watchdog;

namespace {

using Number = std::int64_t;

/// Column-major memory with gaps between the columns, which no task may touch.
struct Memory {
    static constexpr Index rows = 7, cols = 5, ld = 9;
    static constexpr Number gap = -1;
    std::vector<Number> values = std::vector<Number>(ld * cols, gap);

    Memory() {
        for (Index j = 0; j < cols; ++j) std::iota(column(j), column(j) + rows, 10 * j);
    }
    Number* column(Index j) { return values.data() + j * ld; }
    Array2D<Number> wrap(Runtime& runtime, const char* name) {
        return wrap2d(runtime, values.data(), rows, cols, ld, name);
    }
};

void mix(View<const Number> from, View<Number> to) {
    const Number shape = from.col_stride() >= from.rows() ? from.rows() + from.cols() : -1'000'000;
    for (Index j = 0; j < to.cols(); ++j) {
        for (Index i = 0; i < to.rows(); ++i) {
            to(i, j) = (3 * to(i, j) + from(i % from.rows(), j % from.cols()) + shape + i) % 1'000'003;
        }
    }
}
void add_one(View<Number> x) {
    for (Index j = 0; j < x.cols(); ++j) {
        for (Index i = 0; i < x.rows(); ++i) ++x(i, j);
    }
}

/// Each block takes in a part of the previous one. With GPUs they take turns among those and the cores.
void submit_blocks(Runtime& runtime, const Partition<Number>& blocks) {
    for (Index k = 0; k < blocks.size(); ++k) {
        const auto place_number = static_cast<int>(k) % (runtime.gpus() + 1);
        const Place place = place_number == runtime.gpus() ? Place::cpu() : Place::gpu(place_number);
        const Block<Number>& from = blocks[(k + blocks.size() - 1) % blocks.size()];
        runtime.submit({.name = "mix", .place = place}, read(from), readwrite(blocks[k]), mix,
                       cuda([](Stream, View<const Number>, View<Number>) {}));
        // a part of a block, and several blocks as one access
        runtime.submit({.name = "part"}, readwrite(blocks[k].part(0, 0, 1, blocks[k].cols())), add_one);
    }
    runtime.submit({.name = "all"}, readwrite(blocks), [](Views<Number> all) {
        for (const View<Number>& block : all) add_one(block);
    });
}

}  // namespace

TEST_CASE("recorded tasks on blocks give what they give when they are submitted, on cores and GPUs", "[sanitize]") {
    const Watchdog watchdog("recorded blocks");
    const int gpus = GENERATE(0, 2);
    Runtime runtime(small_machine(gpus));
    Memory first, second;
    {
        const auto x = first.wrap(runtime, "x"), y = second.wrap(runtime, "y");
        const auto blocks = x.split(2, 3), plain = y.split(2, 3);
        Recording recording(runtime, [&] { submit_blocks(runtime, blocks); });
        for (int run = 0; run < 4; ++run) {
            recording.run();
            submit_blocks(runtime, plain);
            // between runs the array is used as a whole, and cut in another way
            runtime.submit({}, readwrite(x), add_one);
            runtime.submit({}, readwrite(y), add_one);
            const auto columns = x.split(1, 5), plain_columns = y.split(1, 5);
            runtime.submit({}, read(columns[0]), readwrite(columns[run]), mix);
            runtime.submit({}, read(plain_columns[0]), readwrite(plain_columns[run]), mix);
            if (run == 2) runtime.wait();
        }
        runtime.wait();
        CHECK(first.values == second.values);
        CHECK(std::count(first.values.begin(), first.values.end(), Memory::gap) ==
              (Memory::ld - Memory::rows) * Memory::cols);
    }
}

TEST_CASE("a recording on blocks runs on other blocks that are bound", "[sanitize]") {
    const Watchdog watchdog("bound blocks");
    const int gpus = GENERATE(0, 2);
    Runtime runtime(small_machine(gpus));
    Memory memories[3];
    {
        const auto x = memories[0].wrap(runtime, "x"), y = memories[1].wrap(runtime, "y"),
                   plain = memories[2].wrap(runtime, "plain");
        const auto of_x = x.split(2, 3), of_y = y.split(2, 3), of_plain = plain.split(2, 3);
        Recording recording(runtime, [&] { submit_blocks(runtime, of_x); });
        for (int run = 0; run < 3; ++run) {
            recording.bind(of_x, of_y);
            recording.run();
            recording.bind(of_x, of_x);
            recording.run();
            submit_blocks(runtime, of_plain);
        }
        runtime.wait();
        CHECK(memories[0].values == memories[2].values);
        CHECK(memories[1].values == memories[2].values);
    }
}

TEST_CASE("a recording on an array with gaps between its columns runs on others, on cores and GPUs", "[sanitize]") {
    const Watchdog watchdog("gaps");
    const int gpus = GENERATE(0, 1);
    Runtime runtime(small_machine(gpus));
    Memory memories[3];
    {
        const auto x = memories[0].wrap(runtime, "x"), y = memories[1].wrap(runtime, "y"),
                   plain = memories[2].wrap(runtime, "plain");
        const auto work = [&](const Array2D<Number>& a) {
            const Place place = gpus > 0 ? Place::gpu(0) : Place::any();
            runtime.submit({.place = place}, read(a.part(0, 0, 3, 5)), readwrite(a.part(3, 1, 4, 4)), mix,
                           cuda([](Stream, View<const Number>, View<Number>) {}));
            runtime.submit({}, readwrite(a.part(1, 2, 2, 2)), add_one);
        };
        Recording recording(
            runtime, [&] { work(x); }, GENERATE(RecordedOnGpu::submitted, RecordedOnGpu::captured));
        for (int run = 0; run < 3; ++run) {
            recording.run();
            recording.bind(x, y);
            recording.run();
            recording.bind(x, x);
            work(plain);
        }
        runtime.wait();
        CHECK(memories[0].values == memories[2].values);
        CHECK(memories[1].values == memories[2].values);
    }
}

TEST_CASE("a captured recording uses blocks that lie in one piece", "[sanitize]") {
    const Watchdog watchdog("captured blocks");
    Runtime runtime(small_machine(1));
    Array<Number> x(runtime, 12), plain(runtime, 12);
    const auto blocks = x.split(3), of_plain = plain.split(3);
    const auto work = [&](const Partition<Number>& p) {
        for (Index k = 0; k < 6; ++k) {
            runtime.submit({.place = Place::gpu(0)}, read(p[k % 3]), readwrite(p[(k + 1) % 3]), mix,
                           cuda([](Stream, View<const Number>, View<Number>) {}));
        }
    };
    Recording recording(
        runtime, [&] { work(blocks); }, RecordedOnGpu::captured);
    for (int run = 0; run < 4; ++run) {
        recording.run();
        work(of_plain);
        runtime.submit({}, readwrite(x), add_one);  // the whole array, between runs
        runtime.submit({}, readwrite(plain), add_one);
    }
    const View<Number> found = x.host_view(), expected = plain.host_view();
    CHECK(recording.captured_runs() == 3);  // all but the first
    for (Index i = 0; i < 12; ++i) CHECK(found[i] == expected[i]);
}

TEST_CASE("an array that is cut after it was recorded is used as before", "[sanitize]") {
    const Watchdog watchdog("cut later");
    Runtime runtime(small_machine());
    Array<Number> x(runtime, 12);
    Recording recording(runtime, [&] { runtime.submit({}, readwrite(x), add_one); });
    recording.run();
    const auto blocks = x.split(3);
    for (int run = 0; run < 3; ++run) {
        runtime.submit({}, readwrite(blocks[1]), add_one);
        recording.run();
        runtime.submit({}, readwrite(blocks[2]), add_one);
        runtime.submit({}, [&] { static_cast<void>(0); });
    }
    const View<Number> found = x.host_view();
    CHECK((found[0] == 4 && found[4] == 7 && found[11] == 7));
    runtime.submit({.name = "outer"}, readwrite(x), [&](View<Number>) { recording.run(); });
    CHECK(x.host_view()[0] == 5);
}

TEST_CASE("data of a recording that have elements in common are refused, and blocks of other shapes") {
    const Watchdog watchdog("misuse of recorded blocks");
    Runtime runtime(small_machine());
    Memory memory, other;
    const auto x = memory.wrap(runtime, "x"), y = other.wrap(runtime, "y");
    const auto blocks = x.split(2, 3), columns = x.split(1, 5), of_y = y.split(2, 3);
    Array2D<Number> packed(runtime, Memory::rows, Memory::cols, "packed");
    const auto touch = [&](const auto& data) { runtime.submit({.name = "touch"}, readwrite(data), [] {}); };
    const auto refused = [&](const auto& what) { return error_of<UsageError>([&] { Recording(runtime, what); }); };
    CHECK(mentions(refused([&] {
                       touch(blocks(0, 0));
                       touch(columns[1]);
                   }),
                   "task 'touch' accesses 'x(0,1)' (rows [0, 7) columns [1, 2)), which has elements in common with "
                   "'x(0,0)' (rows [0, 4) columns [0, 2))"));
    CHECK(mentions(refused([&] {
                       touch(x);
                       touch(blocks(1, 2));
                   }),
                   "which has elements in common with 'x'"));
    Recording recording(runtime, [&] {
        touch(blocks(0, 0));
        touch(blocks(0, 1));
    });
    CHECK(mentions(error_of<UsageError>([&] { recording.bind(blocks(0, 0), blocks(1, 2)); }), "3 x 1 elements"));
    recording.bind(blocks(0, 0), of_y(0, 0));
    recording.run();
    // of the same shape, and it overlaps the second block
    const auto shifted = x.split_at({1, 5}, {1, 3});
    CHECK((shifted(1, 1).rows() == blocks(0, 0).rows() && shifted(1, 1).cols() == blocks(0, 0).cols()));
    recording.bind(blocks(0, 0), shifted(1, 1));
    CHECK(mentions(error_of<UsageError>([&] { recording.run(); }), "which have elements in common"));
    recording.bind(blocks(0, 0), blocks(0, 0));
    recording.run();
    Recording of_whole(runtime, [&] { touch(y); });
    CHECK(mentions(error_of<UsageError>([&] { of_whole.bind(y, packed); }), "with columns 9 apart"));
    runtime.wait();
}
