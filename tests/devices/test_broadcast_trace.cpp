// What traces tell of broadcasts on emulated devices.
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "basalt/array.hpp"
#include "basalt/runtime.hpp"
#include "io/trace/trace_summary.hpp"
#include "runtime/device/gpus.hpp"
#include "runtime/engine/runtime_access.hpp"
#include "tests/common/watchdog.hpp"
#include "tests/devices/broadcast_checks.hpp"
#include "tests/devices/device_tasks.hpp"
#include "tests/devices/emulated_machine.hpp"

using namespace basalt;
using namespace basalt_tests;
using namespace std::chrono_literals;

namespace {

constexpr std::size_t memory = std::size_t{1} << 26;

/// How a broadcast to three GPUs goes, and what each row of the trace has of it then, in thirds of the buffer.
struct Way {
    const char* name;
    bool from_host;
    bool peers;
    bool relays;
    std::map<std::string, std::int64_t> thirds;
};

const std::vector<Way> ways{
    {"ring", false, true, false, {{"gpu 0 to peer", 3}, {"gpu 1 to peer", 3}}},
    {"relays", false, true, true, {{"gpu 0 relay", 3}, {"gpu 1 relay", 3}}},
    {"shares",
     true,
     true,
     false,
     {{"gpu 0 from host", 1},
      {"gpu 1 from host", 1},
      {"gpu 2 from host", 1},
      {"gpu 0 to peer", 2},
      {"gpu 1 to peer", 2},
      {"gpu 2 to peer", 2}}},
    {"host to each", true, false, false, {{"gpu 0 from host", 3}, {"gpu 1 from host", 3}, {"gpu 2 from host", 3}}},
};

/// A broadcast of a runtime's whose GPUs 1 and 2 then run a task "use" that reads the buffer.
struct TracedBroadcast {
    static constexpr int gpus = 3;
    static constexpr std::int64_t third_bytes = 40960;

    explicit TracedBroadcast(const Way& way) {
        Runtime runtime(config_for(way));
        Array<double> x(runtime, 3 * third_bytes / 8);
        const auto none = [](Stream, auto...) {};
        const Place writer = way.from_host ? Place::cpu() : Place::gpu(0);
        runtime.submit(
            {.name = "fill", .place = writer}, write(x), [](View<double>) {}, cuda(none));
        runtime.wait();
        std::atomic<bool> submitted{false};  // until then nothing of the broadcast runs
        for (const StreamRole first : {StreamRole::peer, StreamRole::from_host}) {
            detail::gpus_of(runtime).device(0).launch(first, [&](Stream) { submitted.wait(false); });
        }
        runtime.broadcast(x.region(), 3, 7);
        for (int gpu = 1; gpu < gpus; ++gpu) {
            runtime.submit(
                {.name = "use", .place = Place::gpu(gpu)}, read(x), [](View<const double>) {}, cuda(none));
        }
        submitted = true;
        submitted.notify_all();
        runtime.wait();
        for (int gpu = 0; gpu < gpus; ++gpu) {
            copied[static_cast<std::size_t>(gpu)] =
                static_cast<std::int64_t>(basalt_tests::statistics(runtime, gpu).bytes_copied);
        }
        trace = runtime.take_trace();
    }

    const TraceRow& row_of(const TraceEvent& event) const { return trace.rows[static_cast<std::size_t>(event.row)]; }

    Trace trace;
    std::array<std::int64_t, gpus> copied{};  // by each GPU, which copied nothing else

  private:
    static Config config_for(const Way& way) {
        TuningTables tables = relaying_tables();
        for (GpuTuning& gpu : tables.gpus) {
            gpu.links.least_share_bytes = 4096;
            if (!way.relays) gpu.links.relay.blocks = 0;
        }
        Config config;
        config.workers = 2;
        config.gpus = 0;  // no real ones
        config.trace = true;
        config.tuning = std::make_shared<const TuningTables>(tables);
        config.emulation = {.gpus = gpus, .memory = memory, .peer_access = way.peers, .longest_delay = 500us};
        return config;
    }
};

}  // namespace

TEST_CASE("a traced broadcast has a bar for each stream and target", "[sanitize]") {
    const Watchdog watchdog;
    const bool peers = GENERATE(true, false);
    const bool relays = GENERATE(true, false);
    const int source = GENERATE(-1, 0, 2);
    const bool from_source_only = GENERATE(true, false);
    CAPTURE(peers, relays);
    const Machine machine =
        emulated_machine({.gpus = 4, .memory = memory, .peer_access = peers, .longest_delay = 300us},
                         relays ? relaying_tables() : TuningTables::built_in());
    const std::size_t targets = source < 0 ? 4 : 3;
    std::array<std::uint64_t, 4> before{};
    if (source >= 0) before[static_cast<std::size_t>(source)] = 300000;  // its contents
    const bool relayed = relays && peers && source >= 0 && !from_source_only;
    const std::size_t chunk = relays ? 0 : 16384;
    std::map<int, std::uint64_t> moved;
    for (const StreamSpan& span :
         check_spans(machine, {source, targets, 300000, chunk, from_source_only, true, relayed}))
        moved[span.device] += static_cast<std::uint64_t>(span.bytes);
    for (std::size_t d = 0; d < 4; ++d) {
        CHECK(moved[static_cast<int>(d)] + before[d] == statistics(machine[d]).bytes_copied);
    }
}

TEST_CASE("the span of a hop of a ring lasts until its own target has everything") {
    const Watchdog watchdog;
    const Machine machine = emulated_machine({.gpus = 4, .memory = memory});
    BroadcastSetting setting(machine, {0, 3, 100000, 10000});
    StreamGate gate(machine, machine[1], StreamRole::peer);
    const Enqueued streams = enqueue_broadcast(setting.plan(), Spans::wanted);
    await(machine, {streams.ends.front()});
    const auto opened = std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count();
    gate.open();
    await(machine, streams.ends);
    REQUIRE(streams.spans.size() == 3);
    for (const StreamSpan& span : streams.spans) {
        const SpanTimes times(machine, span);
        CHECK((times.begin >= opened) == (span.device > 0));
        CHECK((times.end >= opened) == (span.device > 0));
    }
}

TEST_CASE("nothing is timed of a broadcast that is not traced") {
    const Machine machine = emulated_machine({.gpus = 3, .memory = memory});
    BroadcastSetting setting(machine, {0, 2, 100000, 10000});
    const Enqueued streams = enqueue_broadcast(setting.plan());
    await(machine, streams.ends);
    CHECK(streams.spans.empty());
    CHECK(statistics(machine[0]).records == 1 + 10);  // of its contents, and of chunks
    CHECK(statistics(machine[1]).records == 1);
    for (const StreamPoint& end : streams.ends) {
        CHECK_THROWS_AS(machine[static_cast<std::size_t>(end.device)].time_of(end.role, end.ticket), DeviceError);
    }
}

TEST_CASE("in the trace each copy engine has what it did for a broadcast", "[sanitize]") {
    const Watchdog watchdog;
    const Way way = GENERATE(from_range(ways));
    CAPTURE(way.name);
    const TracedBroadcast run(way);
    std::set<std::uint64_t> ids;
    std::map<std::string, std::int64_t> thirds;
    std::array<std::int64_t, TracedBroadcast::gpus> bytes{};
    for (const TraceEvent& event : run.trace.events) {
        if (event.name != "broadcast") continue;
        CHECK(ids.insert(event.id).second);
        CHECK(event.kind == TraceKind::copy);
        CHECK(event.priority == 3);
        CHECK(event.step == 7);
        CHECK(event.bytes % TracedBroadcast::third_bytes == 0);
        CHECK(thirds.emplace(run.row_of(event).name, event.bytes / TracedBroadcast::third_bytes).second);
        bytes[static_cast<std::size_t>(run.row_of(event).device.value())] += event.bytes;
    }
    CHECK(thirds == way.thirds);
    CHECK(bytes == run.copied);
    std::map<std::string, std::int64_t> summed;
    for (const CopyTime& copies : summarize(run.trace).directions) {
        summed["gpu " + std::to_string(copies.device.value()) + " " + copies.direction] =
            copies.bytes / TracedBroadcast::third_bytes;
    }
    CHECK(summed == way.thirds);
}

TEST_CASE("in the trace a task waits for what a broadcast brings to its GPU and passes on from there", "[sanitize]") {
    const Watchdog watchdog;
    const Way way = GENERATE(from_range(ways));
    CAPTURE(way.name);
    const TracedBroadcast run(way);
    std::map<std::uint64_t, const TraceEvent*> bars;
    for (const TraceEvent& event : run.trace.events) {
        if (event.name == "broadcast") bars[event.id] = &event;
    }
    int uses = 0;
    for (const TraceEvent& event : run.trace.events) {
        if (event.name != "use") continue;
        ++uses;
        std::set<std::string> waited;
        for (const std::uint64_t id : event.after) {
            if (bars.count(id) == 0) continue;
            waited.insert(run.row_of(*bars[id]).name);
            CHECK(bars[id]->end_ns <= event.begin_ns);
        }
        const int gpu = run.row_of(event).device.value();
        std::set<std::string> expected;
        for (const auto& [row, thirds] : way.thirds) {
            const int device = row[4] - '0';  // "gpu N ..."
            const bool own = device == gpu;
            const bool to_here = device == gpu - 1 && row.find("from host") == row.npos;
            if (own || to_here) expected.insert(row);
        }
        CHECK(waited == expected);
    }
    CHECK(uses == 2);
}
