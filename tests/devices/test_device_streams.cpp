// Several streams of one emulated GPU: what runs side by side, what stays in one stream, and what waits for what.
#include <algorithm>
#include <atomic>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "runtime/drivers/stream_pool.hpp"
#include "tests/common/catch.hpp"
#include "tests/common/gate.hpp"
#include "tests/common/mentions.hpp"
#include "tests/common/watchdog.hpp"
#include "tests/devices/device_tasks.hpp"

using namespace basalt;
using namespace basalt_tests;
using basalt::detail::Device;
using basalt::detail::stream_of_pool;
using basalt::detail::StreamPoints;
using basalt::detail::StreamPool;
using basalt::detail::StreamRole;

namespace {

std::unique_ptr<Runtime> runtime_with(int streams, bool trace = false, int gpus = 1) {
    return DeviceSetting{.gpus = gpus, .trace = trace, .gpu_streams = streams}.runtime();
}

/// Tasks that all wait until this number of them is there.
class Meeting {
  public:
    explicit Meeting(int wanted) : wanted_(wanted) {}
    void attend() {
        ++there_;
        comes_true([this] { return there_ >= wanted_; });
    }
    bool complete() const { return there_ == wanted_; }

  private:
    const int wanted_;
    std::atomic<int> there_{0};
};

/// How many tasks are inside at once, at most.
class Crowd {
  public:
    void pass() {
        const int inside = ++inside_;
        int most = most_;
        while (most < inside && !most_.compare_exchange_weak(most, inside)) {
        }
        std::this_thread::sleep_for(std::chrono::microseconds(200));
        --inside_;
    }
    int most() const { return most_; }

  private:
    std::atomic<int> inside_{0};
    std::atomic<int> most_{0};
};

std::set<std::string> rows_of_tasks(const Trace& trace) {
    std::set<std::string> rows;
    for (const TraceEvent& event : trace.events) {
        const TraceRow& row = trace.rows[static_cast<std::size_t>(event.row)];
        if (row.kind == TraceRowKind::compute) rows.insert(row.name);
    }
    return rows;
}

}  // namespace

TEST_CASE("independent tasks of one GPU and priority run at the same time, on as many streams as there are",
          "[sanitize]") {
    const Watchdog watchdog;
    for (const int priority : {0, 3}) {
        for (const int streams : {2, 8, Config::most_gpu_streams}) {
            CAPTURE(priority, streams);
            const auto runtime = runtime_with(streams, true);
            Meeting meeting(streams);
            std::vector<Array<int>> data;
            for (int i = 0; i < streams; ++i) {
                const TaskOptions options{.priority = priority, .place = Place::gpu(0)};
                runtime->submit(options, write(data.emplace_back(*runtime, 10)), user_kernel([&](Stream, View<int> x) {
                                    meeting.attend();
                                    x[0] = 1;
                                }));
            }
            runtime->wait();
            CHECK(meeting.complete());
            CHECK(rows_of_tasks(runtime->take_trace()).size() == static_cast<std::size_t>(streams));
            for (const Array<int>& x : data) CHECK(x.host_view()[0] == 1);
        }
    }
}

TEST_CASE("a CPU kernel that stands for a cuda kernel runs at the same time as others, too", "[sanitize]") {
    const Watchdog watchdog;
    const auto runtime = runtime_with(2);
    Meeting meeting(2);
    for (int i = 0; i < 2; ++i)
        runtime->submit(
            {.place = Place::gpu(0)}, [&] { meeting.attend(); }, cuda([](Stream) {}));
    runtime->wait();
    CHECK(meeting.complete());
}

TEST_CASE("with one stream the tasks of one GPU and priority run one after the other, as they became ready") {
    const Watchdog watchdog;
    const auto runtime = runtime_with(1, true);
    Crowd crowd;
    std::vector<int> order;
    for (int i = 0; i < 50; ++i) {
        runtime->submit({.place = Place::gpu(0)}, user_kernel([&, i](Stream) {
                            crowd.pass();
                            order.push_back(i);
                        }));
    }
    runtime->wait();
    CHECK(crowd.most() == 1);
    CHECK(std::is_sorted(order.begin(), order.end()));
    CHECK(rows_of_tasks(runtime->take_trace()) == std::set<std::string>{"gpu 0"});
}

TEST_CASE("kernels of the library stay on the first stream of their priority") {
    const Watchdog watchdog;
    const auto runtime = runtime_with(8, true);
    Crowd crowd;
    for (int i = 0; i < 20; ++i) runtime->submit({.place = Place::gpu(0)}, gpu_kernel([&](Stream) { crowd.pass(); }));
    runtime->wait();
    CHECK(crowd.most() == 1);
    CHECK(rows_of_tasks(runtime->take_trace()) == std::set<std::string>{"gpu 0"});
}

TEST_CASE("a chain stays in one stream and waits for no event, also next to other chains", "[sanitize]") {
    const Watchdog watchdog;
    constexpr int chains = 4;
    const auto runtime = runtime_with(8, true);
    std::vector<Array<int>> data;
    for (int i = 0; i < chains; ++i) {
        const Array<int>& x = data.emplace_back(*runtime, 10);
        runtime->submit({.place = Place::gpu(0)}, write(x), user_kernel([](Stream, View<int> x) { x[0] = 0; }));
    }
    runtime->wait();
    runtime->take_trace();
    Gate gate;
    for (int i = 0; i < chains; ++i) {
        runtime->submit({.place = Place::gpu(0)}, readwrite(data[static_cast<std::size_t>(i)]),
                        user_kernel([&](Stream, View<int>) { gate.pass(); }));
    }
    gate.await_arrival(chains);  // each in a stream of its own: one that has ended would leave its stream to others
    const std::uint64_t waits = statistics(*runtime, 0).waits;
    for (int link = 0; link < 40; ++link) {
        for (int i = 0; i < chains; ++i) {
            runtime->submit({.tile = {i}, .place = Place::gpu(0)}, readwrite(data[static_cast<std::size_t>(i)]),
                            user_kernel([](Stream, View<int> x) { ++x[0]; }));
        }
    }
    gate.open();
    runtime->wait();
    CHECK(statistics(*runtime, 0).waits == waits);
    std::set<std::pair<std::string, int>> places;  // stream and chain
    const Trace trace = runtime->take_trace();
    for (const TraceEvent& event : trace.events) places.emplace(event.detail, event.row);
    places.erase(places.begin(), places.lower_bound({"0", -1}));  // the gates
    CHECK(places.size() == chains);
    for (const Array<int>& x : data) CHECK(x.host_view()[0] == 40);
}

TEST_CASE("only a dependency that crosses streams costs an event", "[sanitize]") {
    const Watchdog watchdog;
    const auto runtime = runtime_with(8);
    Array<int> a(*runtime, 1), b(*runtime, 1), c(*runtime, 1);
    const auto set = [](Stream, View<int> x) { x[0] = 1; };
    for (const Array<int>* x : {&b, &c}) runtime->submit({.place = Place::gpu(0)}, write(*x), user_kernel(set));
    runtime->wait();
    const std::uint64_t waits = statistics(*runtime, 0).waits;
    Gate gate;
    runtime->submit({.place = Place::gpu(0)}, write(a), user_kernel([&](Stream, View<int> x) {
                        gate.pass();
                        x[0] = 1;
                    }));
    gate.await_arrival();
    const auto add = [](Stream, View<const int> from, View<int> to) { to[0] += from[0]; };
    runtime->submit({.place = Place::gpu(0)}, read(a), readwrite(b), user_kernel(add));
    runtime->submit({.place = Place::gpu(0)}, read(a), readwrite(c), user_kernel(add));
    runtime->submit({.place = Place::gpu(0)}, read(b), readwrite(c), user_kernel(add));
    // one of the two in the middle is behind the first, and the last one behind one of them
    CHECK(comes_true([&] { return statistics(*runtime, 0).kernels == 6; }));
    CHECK(statistics(*runtime, 0).waits == waits + 2);
    gate.open();
    runtime->wait();
    CHECK(c.host_view()[0] == 4);
}

TEST_CASE("tasks behind a full stream do not hold up those on others", "[sanitize]") {
    const Watchdog watchdog;
    const auto runtime = runtime_with(2);
    Array<int> slow(*runtime, 1), fast(*runtime, 1);
    Gate gate;
    for (int i = 0; i < 100; ++i) {
        runtime->submit({.name = "new", .priority = 1, .place = Place::gpu(0)}, readwrite(slow),
                        user_kernel([&](Stream, View<int>) { gate.pass(); }));
    }
    gate.await_arrival();
    std::atomic<int> ran{0};
    for (int i = 0; i < 20; ++i) {
        runtime->submit({.name = "other", .priority = 1, .place = Place::gpu(0)}, readwrite(fast),
                        user_kernel([&](Stream, View<int>) { ++ran; }));
    }
    CHECK(comes_true([&] { return ran == 20; }));
    gate.open();
    runtime->wait();
}

TEST_CASE("a runtime ends while tasks on several streams are under way", "[sanitize]") {
    const Watchdog watchdog;
    std::atomic<int> ran{0};
    for (int round = 0; round < 10; ++round) {
        const auto runtime = runtime_with(8, round % 2 == 0, 2);
        Array<int> x(*runtime, 1000);
        runtime->submit({.place = Place::cpu()}, write(x),
                        [](View<int> x) { std::fill(x.data(), x.data() + 1000, 1); });
        for (int i = 0; i < 40; ++i) {
            runtime->submit({.place = Place::gpu(i % 2)}, read(x),
                            user_kernel([&](Stream, View<const int> x) { ran += x[999]; }));
        }
    }
    CHECK(ran == 400);
}

TEST_CASE("of a GPU, 1 to 16 streams of one priority are allowed") {
    for (const int streams : {-1, 0, 17}) {
        try {
            runtime_with(streams);
            FAIL("allowed");
        } catch (const UsageError& error) {
            CHECK(std::string(error.what()) ==
                  "Config::gpu_streams = " + std::to_string(streams) + "; allowed is 1 to 16");
        }
    }
    CHECK(Config{}.gpu_streams == 8);
}

TEST_CASE("a task goes behind one that it waits for if nothing else is there, otherwise where least is to be done") {
    const auto devices = basalt::detail::make_emulated_devices({.gpus = 1});
    Device& device = *devices.front();
    StreamPool pool(device, 3);
    const auto stream = [](int number) { return stream_of_pool(StreamRole::compute, number); };
    const auto choose = [&](const std::vector<basalt::detail::StreamPoint>& points) {
        StreamPoints waits;
        for (const auto& point : points) waits.add(point);
        return pool.choose(StreamRole::compute, waits);
    };
    CHECK(choose({}) == stream(0));
    pool.enqueued(stream(0), 1, 10);
    CHECK(choose({{0, stream(0), 1}}) == stream(0));
    CHECK(choose({}) == stream(1));
    pool.enqueued(stream(1), 1, 20);
    // behind both: where more is to be done, which is waited for in any case
    CHECK(choose({{0, stream(0), 1}, {0, stream(1), 1}}) == stream(1));
    pool.enqueued(stream(0), 2, 30);
    CHECK(choose({{0, stream(0), 1}}) == stream(2));  // something else is there
    pool.enqueued(stream(2), 1, 5);
    CHECK(choose({{0, stream(0), 1}}) == stream(2));
    CHECK(choose({}) == stream(2));
    pool.claim(stream(1));
    CHECK(choose({{0, stream(1), 1}}) == stream(2));
    pool.completed(stream(1), 20);
    CHECK(choose({}) == stream(1));
    // half a second is enqueued: there is room only where nothing is
    pool.enqueued(stream(2), 2, 500'000'000);
    CHECK(choose({}) == stream(1));
    pool.enqueued(stream(1), 2, 0);
    CHECK_FALSE(choose({}));
    CHECK(choose({{0, stream(2), 2}}) == stream(2));  // it would wait there
    CHECK_FALSE(pool.has_room_in_pool(stream(2)));
    CHECK(pool.has_room(stream(0)));
    CHECK(pool.streams().size() == basalt::detail::named_streams + 2);
    // the other pool has streams of its own
    CHECK(pool.choose(StreamRole::urgent_compute, StreamPoints{}) == StreamRole::urgent_compute);
}
