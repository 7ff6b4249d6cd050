// Recordings whose runs are one task on a GPU. Emulated GPUs call the kernels one after the other, as real ones do
// until CUDA has captured what they enqueue.
#include <algorithm>
#include <atomic>
#include <stdexcept>
#include <string>
#include <vector>

#include "basalt/array.hpp"
#include "basalt/graph.hpp"
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

using Arrays = std::vector<Array<int>>;

Arrays make_arrays(Runtime& rt, int count) {
    Arrays arrays;
    for (int i = 0; i < count; ++i) arrays.emplace_back(rt, 100);
    return arrays;
}

template <class F>
void submit_on(Runtime& rt, int gpu, const Array<int>& from, const Array<int>& to, const F& f) {
    rt.submit({.name = "step", .place = Place::gpu(gpu)}, read(from), readwrite(to), f,
              cuda([](Stream, View<const int>, View<int>) {}));
}

/// Each array gets the sum of itself and its predecessor, plus one.
void submit_chain(Runtime& rt, const Arrays& arrays) {
    for (std::size_t i = 1; i < arrays.size(); ++i) {
        submit_on(rt, 0, arrays[i - 1], arrays[i], [](View<const int> from, View<int> to) {
            for (Index k = 0; k < to.size(); ++k) to[k] += from[k] + 1;
        });
    }
}

std::vector<int> firsts(const Arrays& arrays) {
    std::vector<int> values;
    std::transform(arrays.begin(), arrays.end(), std::back_inserter(values),
                   [](const Array<int>& a) { return a.host_view()[0]; });
    return values;
}

}  // namespace

TEST_CASE("a captured recording computes what its tasks compute when they are submitted", "[sanitize]") {
    const Watchdog watchdog;
    Runtime rt(small_machine(2));
    const Arrays arrays = make_arrays(rt, 6), plain = make_arrays(rt, 6), others = make_arrays(rt, 6);
    Recording chain(
        rt, [&] { submit_chain(rt, arrays); }, RecordedOnGpu::captured);
    const auto on_cores = [&](const Array<int>& a) { rt.submit({}, readwrite(a), [](View<int> v) { v[0] *= 2; }); };
    for (int run = 0; run < 5; ++run) {
        chain.run();
        on_cores(arrays[3]);  // before and behind it: dependencies hold
        submit_chain(rt, plain);
        on_cores(plain[3]);
    }
    CHECK(firsts(arrays) == firsts(plain));
    CHECK(chain.captured_runs() == 4);   // all but the first
    for (int run = 0; run < 4; ++run) {  // alternating data
        chain.bind(arrays, others);
        chain.run();
        chain.bind(arrays, arrays);
        chain.run();
        submit_chain(rt, plain);
    }
    CHECK(firsts(arrays) == firsts(plain));
    const Arrays fresh = make_arrays(rt, 6);
    for (int run = 0; run < 4; ++run) submit_chain(rt, fresh);
    CHECK(firsts(others) == firsts(fresh));
    CHECK(chain.captured_runs() == 12);
}

TEST_CASE("more sets of addresses than are kept are captured again", "[sanitize]") {
    const Watchdog watchdog;
    Runtime rt(small_machine(1));
    const Arrays arrays = make_arrays(rt, 2);
    std::vector<Arrays> sets;
    for (int i = 0; i < 7; ++i) sets.push_back(make_arrays(rt, 2));
    Recording chain(
        rt, [&] { submit_chain(rt, arrays); }, RecordedOnGpu::captured);
    for (int round = 0; round < 3; ++round) {
        for (const Arrays& set : sets) {
            chain.bind(arrays, set);
            chain.run();
        }
    }
    for (const Arrays& set : sets) CHECK(firsts(set) == std::vector<int>{0, 3});
}

TEST_CASE("runs are submitted task by task where they cannot be one task, or would not be seen", "[sanitize]") {
    const Watchdog watchdog;
    Runtime rt(small_machine(2));
    const Arrays arrays = make_arrays(rt, 3);
    Recording mixed(
        rt,
        [&] {
            submit_chain(rt, arrays);
            submit_on(rt, 1, arrays[0], arrays[1], [](View<const int>, View<int> to) { to[0] += 10; });
        },
        RecordedOnGpu::captured);
    for (int run = 0; run < 3; ++run) mixed.run();
    CHECK(mixed.captured_runs() == 0);
    CHECK(firsts(arrays)[1] == 33);

    Recording traced(
        rt, [&] { submit_chain(rt, arrays); }, RecordedOnGpu::captured);
    traced.run();
    rt.wait();
    rt.start_trace();
    traced.run();
    rt.wait();
    const Trace trace = rt.take_trace();
    CHECK(std::count_if(trace.events.begin(), trace.events.end(),
                        [](const TraceEvent& event) { return std::string(event.name) == "step"; }) == 2);
}

TEST_CASE("a run that fails counts as one task, and the next run writes again", "[sanitize]") {
    const Watchdog watchdog;
    Runtime rt(small_machine(1));
    const Arrays arrays = make_arrays(rt, 3);
    std::atomic<bool> fails{true};
    Recording step(
        rt,
        [&] {
            rt.submit(
                {.name = "first", .place = Place::gpu(0)}, write(arrays[0]),
                [](View<int> v) {
                    for (Index k = 0; k < v.size(); ++k) v[k] = 1;
                },
                cuda([](Stream, View<int>) {}));
            submit_on(rt, 0, arrays[0], arrays[1], [&](View<const int> from, View<int> to) {
                if (fails) throw std::runtime_error("boom");
                for (Index k = 0; k < to.size(); ++k) to[k] = from[k] + 1;
            });
        },
        RecordedOnGpu::captured);
    Graph graph(rt);
    step.run(graph);
    CHECK(mentions(error_of<TaskError>([&] { graph.wait(); }), "recorded task 'step': boom"));
    CHECK_THROWS_AS(arrays[0].host_view(), DataError);
    fails = false;
    arrays[1].host_overwrite();
    step.run();
    rt.wait();
    CHECK(arrays[0].host_view()[0] == 1);
    CHECK(arrays[1].host_view()[99] == 2);
    step.run();
    rt.wait();
    CHECK(arrays[1].host_view()[0] == 2);
}
