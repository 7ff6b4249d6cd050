// Parts of data that GPUs fetch out of the host's memory, and data that leave a GPU before others need their place.
#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <thread>

#include "runtime/device/gpus.hpp"
#include "runtime/engine/gpu_data.hpp"
#include "runtime/engine/gpu_memory.hpp"
#include "runtime/engine/host_copies.hpp"
#include "runtime/engine/runtime_access.hpp"
#include "runtime/graph/datum.hpp"
#include "runtime/storage/matrix_storage.hpp"
#include "tests/common/catch.hpp"
#include "tests/common/gate.hpp"
#include "tests/common/mentions.hpp"
#include "tests/common/watchdog.hpp"
#include "tests/devices/device_tasks.hpp"

using namespace basalt;
using namespace basalt_tests;
using namespace std::chrono_literals;

namespace {

/// A datum of rows x cols numbers like a tile column; element (i, j) is first + i * cols + j until tasks write it.
class Plane {
  public:
    Plane(Runtime& runtime, Index rows, Index cols, int first)
        : rows_(rows),
          cols_(cols),
          first_(first),
          storage_(runtime, TileGrid(rows, cols, {rows, cols}), sizeof(int), "plane") {
        for (Index i = 0; i < rows; ++i) {
            for (Index j = 0; j < cols; ++j) home()(i, j) = number(i, j);
        }
    }

    int number(Index i, Index j) const { return first_ + static_cast<int>(i * cols_ + j); }
    Region<int> window(Index row, Index rows, Index col, Index cols) const {
        return storage_.region<int>(0, row, row + rows, col, col + cols);
    }
    Region<int> rows(Index row, Index rows) const { return window(row, rows, 0, cols_); }
    Region<int> all() const { return rows(0, rows_); }
    const detail::Datum& datum() const { return *storage_.datum(0); }
    std::size_t bytes() const { return storage_.column_bytes(); }

    /// The host's memory as it is.
    View<int> home() const { return View<int>::row_major(static_cast<int*>(storage_.column(0)), rows_, cols_, cols_); }
    /// Waits for the tasks that use it.
    View<int> contents() const {
        storage_.wait(0);
        return home();
    }
    /// How many of its elements are not what `expected` says.
    template <class F>
    int wrong(const F& expected) const {
        const View<int> found = contents();
        int count = 0;
        for (Index i = 0; i < rows_; ++i) {
            for (Index j = 0; j < cols_; ++j) count += found(i, j) != expected(i, j);
        }
        return count;
    }

  private:
    const Index rows_, cols_;
    const int first_;
    detail::MatrixStorage storage_;
};

void fetch(Runtime& runtime, int gpu, const Region<int>& from, const Region<int>& to) {
    detail::host_copies(runtime).submit_fetch({.name = "fetch"}, read(from).record, write(to).record, gpu);
}

struct Negate {
    void operator()(View<int> x) const {
        for (Index i = 0; i < x.rows(); ++i) {
            for (Index j = 0; j < x.cols(); ++j) x(i, j) = -x(i, j);
        }
    }
    void operator()(Stream, View<int> x) const { (*this)(x); }
};

void negate(Runtime& runtime, Place place, const Region<int>& x) {
    runtime.submit({.name = "negate", .place = place}, readwrite(x), Negate{}, cuda(Negate{}));
}

/// The GPU has the plane and does not get on with it until the gate opens.
void hold(Runtime& runtime, int gpu, const Plane& plane, Gate& gate) {
    runtime.submit({.name = "hold", .place = Place::gpu(gpu)}, readwrite(plane.all()),
                   gpu_kernel([&gate](Stream, View<int>) { gate.pass(); }));
    gate.await_arrival();
}

/// Keeps the thread that feeds a GPU at the start of a fetch until the gate opens.
class HoldsFetches : public TaskHooks {
  public:
    explicit HoldsFetches(Gate& gate) : gate_(gate) {}
    void task_started(const TaskInfo& info) override {
        if (std::string(info.name) == "fetch") gate_.pass();
    }

  private:
    Gate& gate_;
};

/// Long enough for whatever does not wait.
void let_others_run() { std::this_thread::sleep_for(20ms); }

}  // namespace

TEST_CASE("a GPU fetches a window of one datum into a window of another one, and nothing else", "[sanitize]") {
    const Watchdog watchdog;
    const auto runtime = DeviceSetting{}.runtime();
    const Plane from(*runtime, 20, 7, 1000), to(*runtime, 15, 11, 5000);
    fetch(*runtime, 0, from.window(3, 6, 2, 4), to.window(5, 6, 7, 4));
    const auto fetched = [&](Index i, Index j) {
        return i >= 5 && i < 11 && j >= 7 ? from.number(i - 2, j - 5) : to.number(i, j);
    };
    runtime->wait();
    const auto before = statistics(*runtime, 0);
    CHECK(before.bytes_copied == to.bytes() + 6 * 4 * sizeof(int));
    CHECK(detail::gpu_data(*runtime).valid_on(to.datum(), 0));
    CHECK_FALSE(detail::gpu_data(*runtime).at_home(to.datum()));
    CHECK_FALSE(detail::gpu_data(*runtime).has_memory_on(from.datum(), 0));
    CHECK(to.wrong(fetched) == 0);

    // all of the target: what was there need not come
    const Plane whole(*runtime, 6, 4, 0);
    const auto between = statistics(*runtime, 0);
    fetch(*runtime, 0, from.window(3, 6, 2, 4), whole.all());
    runtime->wait();
    CHECK(statistics(*runtime, 0).bytes_copied - between.bytes_copied == whole.bytes());
    CHECK(whole.wrong([&](Index i, Index j) { return from.number(i + 3, j + 2); }) == 0);
}

TEST_CASE("what is fetched comes home first where a GPU has it", "[sanitize]") {
    const int owner = GENERATE(0, 1);
    const Watchdog watchdog;
    const auto runtime = DeviceSetting{.gpus = 2, .emulation = {.longest_delay = 300us}}.runtime();
    const Plane from(*runtime, 40, 6, 1), to(*runtime, 30, 9, 0);
    negate(*runtime, Place::gpu(owner), from.rows(10, 30));
    fetch(*runtime, 0, from.rows(5, 30), to.window(0, 30, 3, 6));
    CHECK(detail::gpu_data(*runtime).at_home(from.datum()));
    CHECK(detail::gpu_data(*runtime).valid_on(from.datum(), owner));
    const auto negated = [&](Index i, Index j) { return (i >= 10 ? -1 : 1) * from.number(i, j); };
    CHECK(to.wrong([&](Index i, Index j) { return j < 3 ? to.number(i, j) : negated(i + 5, j - 3); }) == 0);
    CHECK(from.wrong(negated) == 0);
    CHECK(statistics(*runtime, owner).copies_to_host == (owner == 0 ? 2 : 1));  // with `to`, which GPU 0 has
    runtime->wait();
}

TEST_CASE("a writer of a fetched datum waits for the fetch, on a core or on a GPU", "[sanitize]") {
    const Place writer = GENERATE(Place::cpu(), Place::gpu(0), Place::gpu(1));
    const Watchdog watchdog;
    const auto runtime = DeviceSetting{.gpus = 2}.runtime();
    const Plane from(*runtime, 40, 6, 1), to(*runtime, 40, 6, 0);
    Gate gate;
    hold(*runtime, 0, to, gate);
    fetch(*runtime, 0, from.rows(10, 20), to.rows(0, 20));
    negate(*runtime, writer, from.rows(25, 10));
    runtime->prefetch(from.all(), Place::cpu());
    let_others_run();
    gate.open();
    CHECK(to.wrong([&](Index i, Index j) { return i < 20 ? from.number(i + 10, j) : to.number(i, j); }) == 0);
    CHECK(from.wrong([&](Index i, Index j) { return (i >= 25 && i < 35 ? -1 : 1) * from.number(i, j); }) == 0);
    runtime->wait();
}

TEST_CASE("nothing comes to the host's memory of a datum that is being fetched, not even other rows", "[sanitize]") {
    const Watchdog watchdog;
    const auto runtime = DeviceSetting{.gpus = 2}.runtime();
    const Plane from(*runtime, 40, 6, 1), to(*runtime, 40, 6, 0);
    Gate gate;
    hold(*runtime, 0, to, gate);
    fetch(*runtime, 0, from.rows(0, 20), to.rows(0, 20));
    negate(*runtime, Place::gpu(1), from.rows(20, 20));
    runtime->prefetch(from.all(), Place::cpu());
    let_others_run();
    CHECK(from.home()(30, 0) == from.number(30, 0));
    gate.open();
    CHECK(from.contents()(30, 0) == -from.number(30, 0));
    CHECK(to.wrong([&](Index i, Index j) { return i < 20 ? from.number(i, j) : to.number(i, j); }) == 0);
    runtime->wait();
}

TEST_CASE("a fetch that has begun when its graph is cancelled is carried out", "[sanitize]") {
    const Watchdog watchdog;
    Gate gate;
    const auto runtime = DeviceSetting{.hooks = std::make_shared<HoldsFetches>(gate)}.runtime();
    const Plane from(*runtime, 40, 6, 1), to(*runtime, 20, 6, 0);
    fetch(*runtime, 0, from.rows(10, 20), to.all());
    gate.await_arrival();
    runtime->cancel();
    gate.open();
    CHECK_THROWS_AS(runtime->wait(), Cancelled);
    CHECK(to.wrong([&](Index i, Index j) { return from.number(i + 10, j); }) == 0);
}

TEST_CASE("a fetch is refused inside a task and on a lost GPU") {
    const Watchdog watchdog;
    const auto runtime = DeviceSetting{.emulation = {.failing_kernel = 1, .failures_are_sticky = true}}.runtime();
    const Plane from(*runtime, 10, 6, 1), to(*runtime, 10, 6, 0), other(*runtime, 10, 6, 0);
    std::string inside;
    runtime->submit({.name = "parent"}, read(from.all()), readwrite(to.all()), [&](View<const int>, View<int>) {
        inside = error_of<UsageError>([&] { fetch(*runtime, 0, from.all(), to.all()); });
    });
    runtime->wait();
    CHECK(inside == "task 'fetch': inside a task the data are where they are");
    negate(*runtime, Place::gpu(0), other.all());
    CHECK_THROWS_AS(runtime->wait(), TaskError);
    CHECK(error_of<DeviceError>([&] { fetch(*runtime, 0, from.all(), to.all()); }) ==
          "task 'fetch': gpu 0 is lost after an earlier error");
    negate(*runtime, Place::cpu(), from.all());
    CHECK(from.wrong([&](Index i, Index j) { return -from.number(i, j); }) == 0);
    runtime->wait();
}

TEST_CASE("a failing fetch, or a failing copy to the host before it, is reported once", "[sanitize]") {
    // even calls fail at once, odd ones in the stream's turn
    const bool at_once = GENERATE(false, true);
    const bool on_its_way_home = GENERATE(false, true);
    CAPTURE(at_once, on_its_way_home);
    const Watchdog watchdog;
    const auto runtime = DeviceSetting{.emulation = {.failing_copy = at_once ? 2U : 1U}}.runtime();
    const Plane from(*runtime, 40, 6, 1), to(*runtime, 20, 6, 0), first(*runtime, 5, 5, 0);
    if (at_once) runtime->prefetch(first.all(), Place::gpu(0));
    if (on_its_way_home) {
        runtime->submit({.name = "fill", .place = Place::gpu(0)}, write(from.all()),
                        gpu_kernel([&](Stream, View<int> x) {
                            for (Index i = 0; i < x.rows(); ++i) {
                                for (Index j = 0; j < x.cols(); ++j) x(i, j) = from.number(i, j);
                            }
                        }));
        runtime->wait();
    }
    fetch(*runtime, 0, from.rows(10, 20), to.all());
    const std::string why = error_of<TaskError>([&] { runtime->wait(); });
    CAPTURE(why);
    CHECK(mentions(why, on_its_way_home ? "task to host(" : "task fetch failed on gpu 0"));
    CHECK(mentions(why, "read plane rows [" + std::string(on_its_way_home ? "0, 40" : "10, 30") + ")"));
    CHECK_NOTHROW(runtime->wait());

    // nothing that the copies only read has changed
    fetch(*runtime, 0, from.rows(10, 20), to.all());
    CHECK(to.wrong([&](Index i, Index j) { return from.number(i + 10, j); }) == 0);
    CHECK(from.wrong([&](Index i, Index j) { return from.number(i, j); }) == 0);
    runtime->wait();
}

TEST_CASE("data that leave a GPU free its memory, and come home where they are nowhere else", "[sanitize]") {
    const Watchdog watchdog;
    const auto runtime = DeviceSetting{.gpus = 2}.runtime();
    detail::GpuData& data = detail::gpu_data(*runtime);
    const detail::GpuMemory& memory_of_gpus = detail::gpu_memory(*runtime);
    const Plane written(*runtime, 64, 8, 1), copied(*runtime, 32, 8, 1), untouched(*runtime, 64, 8, 1);
    negate(*runtime, Place::gpu(0), written.all());
    runtime->prefetch(copied.all(), Place::gpu(0));
    CHECK(memory_of_gpus.in_use(0) == written.bytes() + copied.bytes());

    data.leave(untouched.datum(), 0, {});
    CHECK(untouched.datum().current->residency == nullptr);
    data.leave(written.datum(), 1, {});
    CHECK(memory_of_gpus.in_use(0) == written.bytes() + copied.bytes());
    data.leave(copied.datum(), 0, {});
    CHECK(memory_of_gpus.in_use(0) == written.bytes());
    data.leave(written.datum(), 0, {});
    CHECK(memory_of_gpus.in_use(0) == 0);
    for (const Plane* plane : {&written, &copied, &untouched}) {
        CHECK(data.at_home(plane->datum()));
        CHECK_FALSE(data.valid_on(plane->datum(), 0));
    }
    CHECK(written.wrong([&](Index i, Index j) { return -written.number(i, j); }) == 0);
    CHECK(copied.wrong([&](Index i, Index j) { return copied.number(i, j); }) == 0);
    CHECK(statistics(*runtime, 0).copies_to_host == 1);

    // what another GPU has need not come home
    negate(*runtime, Place::gpu(0), written.all());
    runtime->prefetch(written.all(), Place::gpu(1));
    data.leave(written.datum(), 0, {});
    CHECK_FALSE(data.at_home(written.datum()));
    CHECK(written.wrong([&](Index i, Index j) { return written.number(i, j); }) == 0);
    runtime->wait();
    CHECK(statistics(*runtime, 0).copies_to_host == 1);
}

TEST_CASE("data that take the memory of departed data wait for the users of those", "[sanitize]") {
    const Watchdog watchdog;
    const auto runtime = DeviceSetting{.gpu_memory = 2048}.runtime();  // of one of them
    const Plane first(*runtime, 64, 8, 1), second(*runtime, 64, 8, 5000);
    Gate gate;
    std::atomic<int> sum{0};
    runtime->submit({.name = "sum", .place = Place::gpu(0)}, read(first.all()),
                    gpu_kernel([&](Stream, View<const int> x) {
                        gate.pass();
                        for (Index i = 0; i < 64; ++i) sum += x(i, 7);
                    }));
    gate.await_arrival();
    detail::gpu_data(*runtime).leave(first.datum(), 0, {});
    negate(*runtime, Place::gpu(0), second.all());
    let_others_run();
    gate.open();
    runtime->wait();
    CHECK(sum == 64 * 8 + 8 * 63 * 64 / 2);
    CHECK(second.wrong([&](Index i, Index j) { return -second.number(i, j); }) == 0);
    runtime->wait();
}

TEST_CASE("memory of the user's stays a datum's place on its GPU") {
    const Watchdog watchdog;
    const auto runtime = DeviceSetting{}.runtime();
    detail::GpuData& data = detail::gpu_data(*runtime);
    detail::Device& device = detail::gpus_of(*runtime).device(0);
    void* const memory = device.allocate(2048);
    {
        const Plane plane(*runtime, 64, 8, 1);
        data.adopt(plane.datum(), 0, memory);
        int* used = nullptr;
        for (int i = 0; i < 2; ++i) {
            runtime->submit({.place = Place::gpu(0)}, write(plane.all()), gpu_kernel([&](Stream, View<int> x) {
                                used = x.data();
                                for (Index k = 0; k < 64 * 8; ++k) used[k] = 3;
                            }));
            data.leave(plane.datum(), 0, {});
            CHECK(data.valid_on(plane.datum(), 0));
            CHECK_FALSE(data.at_home(plane.datum()));
            runtime->wait();
            CHECK(used == memory);
        }
        CHECK(plane.wrong([](Index, Index) { return 3; }) == 0);
    }
    runtime->wait();
    device.release(memory);
}

TEST_CASE("data cannot leave a lost GPU, and no error is reported") {
    const Watchdog watchdog;
    const auto runtime = DeviceSetting{.emulation = {.failing_kernel = 2, .failures_are_sticky = true}}.runtime();
    const Plane only(*runtime, 64, 8, 1), copied(*runtime, 64, 8, 1);
    runtime->prefetch(copied.all(), Place::gpu(0));
    negate(*runtime, Place::gpu(0), only.all());
    negate(*runtime, Place::gpu(0), only.all());
    CHECK_THROWS_AS(runtime->wait(), TaskError);
    for (const Plane* plane : {&only, &copied}) CHECK_NOTHROW(detail::gpu_data(*runtime).leave(plane->datum(), 0, {}));
    runtime->wait();
    CHECK(copied.wrong([&](Index i, Index j) { return copied.number(i, j); }) == 0);
    CHECK(mentions(error_of<DataError>([&] { only.contents(); }), "task negate failed on gpu 0"));
    runtime->wait();
}
