// Arrays, matrices, regions and lists that outlive what they refer to, or belong to another runtime: nothing reads
// freed memory, and errors name the array.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "basalt/array.hpp"
#include "basalt/matrix.hpp"
#include "basalt/runtime.hpp"
#include "tests/common/catch.hpp"
#include "tests/common/gate.hpp"
#include "tests/common/mentions.hpp"
#include "tests/common/runtime_settings.hpp"
#include "tests/common/watchdog.hpp"

using namespace basalt;
using basalt_tests::error_of;
using basalt_tests::Gate;
using basalt_tests::mentions;
using basalt_tests::small_machine;
using basalt_tests::Watchdog;

TEST_CASE("an array of another runtime is refused by name", "[sanitize]") {
    const Watchdog watchdog;
    Runtime a(small_machine());
    Runtime b(small_machine());
    Array<long> x(a, 4, "mine");
    bool ran = false;
    const std::string why =
        error_of<UsageError>([&] { b.submit({.name = "inc"}, readwrite(x), [&](View<long>) { ran = true; }); });
    CHECK(mentions(why, "'mine'"));
    CHECK(mentions(why, "another Runtime"));
    CHECK(mentions(error_of<UsageError>([&] { b.prefetch(x, Place::cpu()); }), "another Runtime"));
    CHECK(mentions(error_of<UsageError>([&] { b.broadcast(x.region()); }), "another Runtime"));
    b.wait();
    CHECK_FALSE(ran);
    a.submit({.name = "inc"}, readwrite(x), [](View<long> v) { ++v[0]; });
    CHECK(x.host_view()[0] == 1);
}

TEST_CASE("an array may outlive its runtime, which waits for its tasks", "[sanitize]") {
    const Watchdog watchdog;
    const int gpus = GENERATE(0, 1);
    std::vector<int> memory(4, 1);
    Array<int> owned;
    Array<int> wrapped;
    Array<int> moved;
    AccessList list;
    {
        Runtime rt(small_machine(gpus));
        owned = Array<int>(rt, 4, "owned by the first");
        wrapped = Array<int>::wrap(rt, memory.data(), 4);
        moved = Array<int>(rt, 4);
        list.readwrite(owned);
        const auto kernel = [](View<int> x, View<int> y, View<int>) { x[0] = y[0] = 5; };
        rt.submit({}, write(owned), readwrite(wrapped), write(moved), kernel, cuda([](Stream) {}));
    }
    Runtime other(small_machine());
    CHECK(mentions(error_of<UsageError>([&] { owned.host_view(); }), "has ended"));
    CHECK(mentions(error_of<UsageError>([&] { other.submit({}, readwrite(owned), [](View<int>) {}); }), "released"));
    CHECK(mentions(error_of<UsageError>([&] { other.submit({}, list, [] {}); }), "released"));
    CHECK(memory[0] == 5);
    const Array<int> taken = std::move(moved);
    CHECK(taken.size() == 4);
    owned = Array<int>(other, 2);
    CHECK(owned.host_view()[0] == 0);
}

TEST_CASE("a matrix may outlive its runtime", "[sanitize]") {
    const Watchdog watchdog;
    const int gpus = GENERATE(0, 1);
    std::vector<double> memory(64, 1);
    std::optional<Runtime> rt(small_machine(gpus));
    Matrix<double> own(*rt, 8, 8, {4, 4}, "A");
    const Matrix<double> wrapped = Matrix<double>::wrap(*rt, memory.data(), 8, 8, 8, {4, 4});
    const Region<double> tile = own.tile(0, 0);
    rt->submit({.name = "set"}, readwrite(wrapped.tile(0, 0)), [](View<double> a) { a(0, 0) = 7; });
    rt->submit(
        {.name = "set"}, write(own.column(0)), [](View<double> a) { a(0, 0) = 7; }, cuda([](Stream) {}));
    rt.reset();

    CHECK(memory[0] == 7);
    CHECK(own.rows() == 8);
    CHECK(mentions(error_of<UsageError>([&] { own.tile(0, 0); }), "'A'"));
    CHECK_THROWS_AS(own.host_view(0), UsageError);
    CHECK_THROWS_AS(own.runtime(), UsageError);
    Runtime other(small_machine());
    CHECK_THROWS_AS(other.submit({}, readwrite(tile), [](View<double>) {}), UsageError);
    own = Matrix<double>(other, 3, 3);
    CHECK(own.at(0, 0) == 0);
}

TEST_CASE("a region and a list that outlive their array are refused, whatever took the array's place", "[sanitize]") {
    const Watchdog watchdog;
    Runtime rt(small_machine());
    AccessList list;
    Region<int> region{};
    {
        Array<int> x(rt, 100, "the first");
        list.readwrite(x);
        region = x.region();
    }
    CHECK(mentions(error_of<UsageError>([&] { rt.submit({}, list, [] {}); }), "'the first'"));
    Array<int> other(rt, 100, "other");
    other.host_view()[0] = 5;
    CHECK(mentions(error_of<UsageError>([&] { rt.submit({}, list, [] {}); }), "released"));
    CHECK(mentions(error_of<UsageError>([&] { rt.submit({}, write(region), [](View<int>) {}); }), "released"));
    CHECK(mentions(error_of<UsageError>([&] { rt.prefetch(region, Place::cpu()); }), "released"));
    rt.wait();
    CHECK(other.host_view()[0] == 5);
}

TEST_CASE("a task's children use what it holds even while the program gives that up", "[sanitize]") {
    const Watchdog watchdog;
    Runtime rt(small_machine());
    int memory = 0;
    Gate given_up;
    std::thread opens;
    {
        Array<int> x = Array<int>::wrap(rt, &memory, 1);
        const Region<int> region = x.region();
        rt.submit({.name = "parent"}, readwrite(x), [&, region](View<int>) {
            given_up.pass();
            for (int i = 0; i < 100; ++i) {
                rt.submit({.name = "child"}, readwrite(region), [](View<int> v) { ++v[0]; });
                std::this_thread::yield();
            }
        });
        given_up.await_arrival();
        opens = std::thread([&] { given_up.open(); });
    }
    opens.join();
    CHECK(memory == 100);
    rt.wait();
}

TEST_CASE("an array ends behind the users of its former contents", "[sanitize]") {
    const Watchdog watchdog;
    Runtime rt(small_machine());
    Array<int> x(rt, 1);
    Gate reader;
    int read_value = 0;
    rt.submit({}, write(x), [](View<int> v) { v[0] = 1; });
    rt.submit({}, read(x), [&](View<const int> v) {
        reader.pass();
        read_value = v[0];
    });
    reader.await_arrival();
    rt.submit({}, write(x), [](View<int> v) { v[0] = 2; }).wait();  // overtakes the reader
    std::atomic<bool> ended{false};
    std::thread ends([&, given = std::move(x)]() mutable {
        given = {};
        ended = true;
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    CHECK_FALSE(ended);
    reader.open();
    ends.join();
    CHECK(ended);
    CHECK(read_value == 1);
}

TEST_CASE("arrays that no task uses end while another thread needs their room on a GPU", "[sanitize]") {
    const Watchdog watchdog;
    constexpr Index size = 8192, small = size / 16;
    constexpr int rounds = 150, kept = 4;
    basalt::Config config = small_machine(1);
    config.gpu_memory = 3 * size * sizeof(long);  // so that either thread's arrays leave
    Runtime rt(config);
    const TaskOptions on_gpu{.place = Place::gpu(0)};
    std::vector<Array<long>> arrays;
    for (int i = 0; i < kept; ++i) {
        arrays.emplace_back(rt, size);
        std::fill_n(arrays.back().host_overwrite().data(), size, 0L);
    }
    std::atomic<bool> done{false};
    std::atomic<long> added{0};
    std::thread ends([&] {
        for (int i = 0; i < rounds; ++i) {
            std::vector<Array<long>> end;
            TaskHandle last;
            for (int k = 0; k < 24; ++k) {
                end.emplace_back(rt, small);
                last = rt.submit(
                    on_gpu, write(end.back()), [](View<long> v) { std::fill_n(v.data(), v.size(), 7L); },
                    cuda([](Stream, View<long>) {}));
            }
            last.wait();
            // then they have been used longer ago than those of the other thread, whose next tasks need their room
            for (const long before = added; added == before;) std::this_thread::yield();
        }
        done = true;
    });
    for (; !done || added < kept; ++added) {
        rt.submit(
              on_gpu, readwrite(arrays[static_cast<std::size_t>(added % kept)]), [](View<long> v) { ++v[size - 1]; },
              cuda([](Stream, View<long>) {}))
            .wait();
    }
    ends.join();
    rt.wait();
    long sum = 0;
    for (const Array<long>& array : arrays) {
        CHECK(array.host_view()[0] == 0);
        sum += array.host_view()[size - 1];
    }
    CHECK(sum == added);
}

TEST_CASE("what is given up inside a task that uses it is refused from then on", "[sanitize]") {
    const Watchdog watchdog;
    Runtime rt(small_machine());
    for (int round = 0; round < 20; ++round) {
        auto x = std::make_shared<Array<int>>(rt, 3, "short-lived");
        const Region<int> region = x->region();
        Gate gate;
        rt.submit({}, readwrite(*x), [&gate, x = x.get()](View<int>) {
            x->release();
            gate.pass();
        });
        gate.await_arrival();
        CHECK(mentions(error_of<UsageError>([&] { rt.submit({}, readwrite(region), [](View<int>) {}); }), "released"));
        gate.open();
        rt.wait();
    }
}

TEST_CASE("an array keeps a copy of its name") {
    Runtime rt(small_machine());
    const auto make = [&](int i) {
        const std::string name = "a block with a long name, number " + std::to_string(i);
        return Array<int>(rt, 4, name.c_str());
    };
    const Array<int> x = make(1), y = make(2);
    const auto matrix = [&] {
        const std::string name = "a matrix with a name that is long enough to be allocated";
        return Matrix<double>(rt, 4, 4, {}, name.c_str());
    }();
    rt.submit({.name = "t"}, readwrite(x), [](View<int>) { throw std::runtime_error("no"); });
    CHECK(
        mentions(error_of<TaskError>([&] { rt.wait(); }), "readwrite a block with a long name, number 1 rows [0, 4)"));
    CHECK(mentions(error_of<UsageError>([&] { matrix.block(7, 0, 1, 0, 1); }),
                   "a matrix with a name that is long enough"));
    rt.submit({.name = "t"}, readwrite(matrix.tile(0, 0)), [](View<double>) { throw std::runtime_error("no"); });
    CHECK(mentions(error_of<TaskError>([&] { rt.wait(); }), "a matrix with a name that is long enough"));
}

TEST_CASE("a moved-from array is empty") {
    Runtime rt(small_machine());
    Array<int> x(rt, 4);
    Array<int> y = std::move(x);
    CHECK(x.size() == 0);  // NOLINT(bugprone-use-after-move): that is the point
    CHECK(y.size() == 4);
    CHECK_THROWS_AS(x.host_view(), UsageError);
    CHECK_THROWS_AS(x.rows(0, 1), UsageError);
    CHECK_THROWS_AS(rt.submit({}, read(x), [](View<const int>) {}), UsageError);
    x = std::move(y);
    CHECK(y.size() == 0);  // NOLINT(bugprone-use-after-move)
    CHECK(x.host_view().size() == 4);
    x.release();
    CHECK(x.size() == 0);
}

namespace {

struct alignas(256) Line {
    char bytes[256];
};

}  // namespace

TEST_CASE("elements are aligned as their type demands, on cores and on GPUs") {
    Runtime rt(small_machine(1));
    std::vector<Array<Line>> lines;
    bool aligned = true;
    const auto check = [&](View<Line> v) {
        aligned = aligned && reinterpret_cast<std::uintptr_t>(v.data()) % alignof(Line) == 0;
    };
    for (int i = 0; i < 8; ++i) {
        lines.emplace_back(rt, 3);
        check(lines.back().host_view());
        rt.submit({.place = Place::gpu(0)}, readwrite(lines.back()), check, cuda([](Stream) {}));
        rt.wait();
    }
    CHECK(aligned);
}
