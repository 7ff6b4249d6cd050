// Broadcasts on emulated devices: with and without peer access, from the host and from devices.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "basalt/array.hpp"
#include "basalt/runtime.hpp"
#include "runtime/device/broadcast_route.hpp"
#include "runtime/device/relay_shape.hpp"
#include "tests/common/watchdog.hpp"
#include "tests/devices/broadcast_checks.hpp"
#include "tests/devices/device_tasks.hpp"
#include "tests/devices/emulated_machine.hpp"

using namespace basalt;
using namespace basalt_tests;
using namespace std::chrono_literals;
using basalt::detail::broadcast_chunk;
using basalt::detail::broadcast_route;
using basalt::detail::Hop;
using basalt::detail::RelayShape;

namespace {

/// `relays`: devices relay what goes round a ring of them.
Machine machine_of(const Emulation& emulation, bool relays = false) {
    return emulated_machine(emulation, relays ? relaying_tables() : TuningTables::built_in());
}

constexpr std::size_t memory = std::size_t{1} << 26;

/// Everything that is to be tried on a machine of `gpus` devices.
std::vector<BroadcastCase> cases_for(int gpus) {
    std::vector<BroadcastCase> cases;
    for (int source = -1; source < std::min(gpus, 2); ++source) {
        const int most = source < 0 ? gpus : gpus - 1;
        for (int targets = 1; targets <= most; ++targets) {
            for (const std::size_t bytes : {0, 1, 4096, 70001}) {
                for (const std::size_t chunk : {0, 4096, 10000}) {
                    cases.push_back({source, static_cast<std::size_t>(targets), bytes, chunk});
                }
            }
            cases.push_back({source, static_cast<std::size_t>(targets), 70001, 0, true});
            for (const std::size_t bytes : {4096, 70001})
                cases.push_back({source, static_cast<std::size_t>(targets), bytes, 0, false, true});
        }
    }
    return cases;
}

/// A broadcast in which a copy is to fail: what was thrown in all, by the call and by its ends.
int count_errors(const Machine& machine, BroadcastSetting& setting) {
    int errors = 0;
    std::vector<StreamPoint> ends;
    try {
        ends = enqueue_broadcast(setting.plan()).ends;
    } catch (const DeviceError&) {
        ++errors;
        Device& home = setting.home_device();
        ends = {{home.index(), setting.home_stream(), home.record(setting.home_stream(), Timing::untimed)}};
    }
    for (const StreamPoint& end : ends) {
        Device& device = machine[static_cast<std::size_t>(end.device)];
        bool reached = false;
        while (!reached) {
            try {
                reached = device.reached(end.role, end.ticket);
            } catch (const DeviceError&) {
                ++errors;
            }
        }
    }
    return errors;
}

}  // namespace

TEST_CASE("a broadcast brings everything to every device", "[sanitize]") {
    const Watchdog watchdog;
    const int gpus = GENERATE(1, 2, 3, 4);
    const bool peers = GENERATE(true, false);
    const bool relays = GENERATE(true, false);
    CAPTURE(gpus, peers, relays);
    const Machine machine = machine_of({.gpus = gpus, .memory = memory, .peer_access = peers}, relays);
    for (const BroadcastCase& what : cases_for(gpus)) check_broadcast(machine, what);
    for (const auto& device : machine.devices) CHECK(statistics(*device).bytes_allocated == 0);
}

TEST_CASE("a broadcast is right however long each copy takes", "[sanitize]") {
    const Watchdog watchdog;
    const int source = GENERATE(-1, 0);
    const bool peers = GENERATE(true, false);
    const bool relays = GENERATE(true, false);
    const Machine machine =
        machine_of({.gpus = 4, .memory = memory, .peer_access = peers, .longest_delay = 300us, .seed = 9}, relays);
    const std::size_t chunk = relays ? 0 : 16384;
    check_broadcast(machine, {source, source < 0 ? std::size_t{4} : std::size_t{3}, 300000, chunk, false, relays,
                              relays && peers && source >= 0});
}

TEST_CASE("in a ring every device sends once, and the source no more than the others") {
    constexpr std::size_t bytes = 300000;
    const Machine machine = machine_of({.gpus = 4, .memory = memory});
    BroadcastSetting setting(machine, {0, 3, bytes, 10000});
    const std::uint64_t before = statistics(machine[0]).bytes_copied;
    enqueue_broadcast(setting.plan());
    for (std::size_t d = 0; d < 4; ++d) machine[d].synchronize();
    CHECK(statistics(machine[0]).bytes_copied - before == bytes);
    CHECK(statistics(machine[1]).bytes_copied == bytes);
    CHECK(statistics(machine[2]).bytes_copied == bytes);
    CHECK(statistics(machine[3]).bytes_copied == 0);
    CHECK(statistics(machine[1]).copies_to_peers == 30);
}

TEST_CASE("devices relay what goes round a ring where they are tuned for it and have nothing to compute") {
    const Machine machine = machine_of({.gpus = 4, .memory = memory}, true);
    const auto relays = [&](const BroadcastCase& what) {
        BroadcastSetting setting(machine, what);
        const std::vector<Hop> hops = broadcast_route(setting.plan());
        const auto relayed = [](const Hop& hop) { return hop.role == StreamRole::relay && hop.chunks() == 1; };
        const auto count = std::count_if(hops.begin(), hops.end(), relayed);
        CHECK((count == 0 || count == static_cast<std::ptrdiff_t>(what.targets)));
        return count > 0;
    };
    CHECK(relays({0, 3, 50000}));
    CHECK(relays({2, 2, 50000}));
    CHECK_FALSE(relays({0, 1, 50000}));
    CHECK_FALSE(relays({0, 3, 4000}));
    CHECK_FALSE(relays({0, 3, 50000, 4096}));
    CHECK_FALSE(relays({0, 3, 50000, 0, true}));
    CHECK_FALSE(relays({-1, 4, 5000000}));

    BroadcastSetting setting(machine, {0, 3, 50000});
    for (const StreamRole stream : {StreamRole::compute, StreamRole::urgent_compute}) {
        StreamGate gate(machine, machine[2], stream);
        const Ticket computed = machine[2].record(stream, Timing::untimed);
        CHECK_FALSE(machine[2].is_idle());
        CHECK_FALSE(relays({0, 3, 50000}));
        CHECK(relays({3, 2, 50000}));  // GPUs 3, 0 and 1
        gate.open();
        await(machine[2], stream, computed);
        CHECK(relays({0, 3, 50000}));
    }

    enqueue_broadcast(setting.plan());
    for (std::size_t d = 0; d < 4; ++d) machine[d].synchronize();
    for (std::size_t d = 0; d < 3; ++d) CHECK(statistics(machine[d]).relays_to_peers == 1);
    CHECK(statistics(machine[3]).relays_to_peers == 0);

    setting.plan().targets[1].to = static_cast<std::byte*>(setting.plan().targets[1].to) + 8;
    setting.plan().bytes -= 8;
    for (const Hop& hop : broadcast_route(setting.plan())) CHECK(hop.role == StreamRole::peer);
}

TEST_CASE("the channels of a relay share all chunks of a buffer") {
    const RelayShape shape{.blocks = 3, .warps = 2, .chunk_bytes = 32};
    for (const std::size_t bytes : {1, 32, 33, 192, 193, 1000}) {
        std::vector<int> times((bytes + 31) / 32);
        for (std::size_t channel = 0; channel < shape.channels(); ++channel) {
            CHECK(shape.chunks_of(channel, bytes) <= shape.chunks_of(0, bytes));
            for (std::uint32_t i = 0; i < shape.chunks_of(channel, bytes); ++i) {
                const std::size_t begin = shape.begin_of(channel, i);
                REQUIRE(begin < bytes);
                ++times[begin / 32];
            }
        }
        CHECK(times == std::vector<int>(times.size(), 1));
    }
}

TEST_CASE("from the host each device gets a share and the rest from its neighbour") {
    constexpr std::size_t bytes = 4 * 4096 * 10;
    const Machine machine = machine_of({.gpus = 4, .memory = memory});
    BroadcastSetting setting(machine, {-1, 4, bytes, 4096});
    enqueue_broadcast(setting.plan());
    for (std::size_t d = 0; d < 4; ++d) machine[d].synchronize();
    for (std::size_t d = 0; d < 4; ++d) {
        CHECK(statistics(machine[d]).copies_from_host == 10);
        CHECK(statistics(machine[d]).bytes_copied == bytes / 4 + 3 * (bytes / 4));
    }
}

TEST_CASE("with direct copies from the source, or without peer access, nothing is forwarded") {
    for (const bool peers : {true, false}) {
        const Machine machine = machine_of({.gpus = 3, .memory = memory, .peer_access = peers});
        BroadcastSetting from_host(machine, {-1, 3, 50000, 0, true});
        for (const Hop& hop : broadcast_route(from_host.plan())) CHECK(hop.depth == 0);
        BroadcastSetting from_device(machine, {0, 2, 50000, 0, true});
        for (const Hop& hop : broadcast_route(from_device.plan())) {
            CHECK(hop.depth == (peers || !hop.target ? 0 : 1));
            CHECK(hop.driver->index() == (peers || !hop.target ? 0 : static_cast<int>(*hop.target) + 1));
        }
    }
}

TEST_CASE("small buffers do not go round a ring") {
    const Machine machine = machine_of({.gpus = 4, .memory = memory});
    BroadcastSetting small(machine, {0, 3, 100000});
    for (const Hop& hop : broadcast_route(small.plan())) CHECK(hop.depth == 0);
    BroadcastSetting large(machine, {0, 3, std::size_t{8} << 20});
    int deepest = 0;
    for (const Hop& hop : broadcast_route(large.plan())) deepest = std::max(deepest, hop.depth);
    CHECK(deepest == 2);
}

TEST_CASE("a copy of a broadcast that fails is reported once, and nothing runs on afterwards", "[sanitize]") {
    // Memory is released behind the ends: a copy that still ran would be noticed.
    const Watchdog watchdog;
    const auto failing = static_cast<std::uint64_t>(GENERATE(1, 2, 3, 5, 8, 9));
    const int source = GENERATE(-1, 0);
    const int failing_gpu = GENERATE(0, 1);
    CAPTURE(failing, source, failing_gpu);
    const Machine machine = machine_of({.gpus = 3,
                                        .memory = memory,
                                        .longest_delay = 100us,
                                        .failing_copy = failing + (source == failing_gpu ? 1 : 0),
                                        .failing_gpu = failing_gpu});
    std::size_t targets = source < 0 ? 3 : 2;
    {
        BroadcastSetting setting(machine, {source, targets, 100000, 10000});
        CHECK(count_errors(machine, setting) == 1);
    }
    for (const auto& device : machine.devices) CHECK(statistics(*device).bytes_allocated == 0);
    check_broadcast(machine, {source, targets, 100000, 10000});
    for (const auto& device : machine.devices) {
        CHECK_NOTHROW(device->synchronize());
        for (int role = 0; role < basalt::detail::named_streams; ++role) {
            const auto stream = static_cast<StreamRole>(role);
            CHECK_NOTHROW(await(*device, stream, device->record(stream, Timing::untimed)));
        }
    }
}

TEST_CASE("a failing hop of a relay is reported once and leaves no waiter behind", "[sanitize]") {
    const Watchdog watchdog;
    const int failing_gpu = GENERATE(0, 1);
    const int failing = GENERATE(2, 3);  // in the call, and in the stream's turn
    CAPTURE(failing_gpu, failing);
    const Machine machine = machine_of({.gpus = 3,
                                        .memory = memory,
                                        .longest_delay = 100us,
                                        .failing_copy = static_cast<std::uint64_t>(failing),
                                        .failing_gpu = failing_gpu},
                                       true);
    Device& device = machine[static_cast<std::size_t>(failing_gpu)];
    const Buffer other(device, 1);
    const int copies_before = failing_gpu == 0 ? 1 : 0;  // that of the source's contents
    for (int copy = copies_before + 1; copy < failing; ++copy) put(device, other.get(), Bytes(1));
    {
        BroadcastSetting setting(machine, {0, 2, 100000});
        CHECK(count_errors(machine, setting) == 1);
    }
    check_broadcast(machine, {0, 2, 100000, 0, false, true});
}

TEST_CASE("tasks on every GPU read what was broadcast, wherever it was written", "[sanitize]") {
    const Watchdog watchdog;
    const bool peers = GENERATE(true, false);
    const Index n = GENERATE(1, 120000);
    const Place writer = GENERATE(Place::cpu(), Place::gpu(0), Place::gpu(2));
    const bool relays = GENERATE(true, false);
    CAPTURE(peers, n, writer.is_cpu(), relays);
    constexpr int gpus = 3;
    constexpr int rounds = 4;
    Config config;
    config.workers = 2;
    if (relays) config.tuning = std::make_shared<const TuningTables>(relaying_tables());
    config.emulation = {.gpus = gpus, .memory = std::size_t{8} << 20, .peer_access = peers, .longest_delay = 100us};
    Runtime runtime(config);
    Array<double> x(runtime, n);
    std::vector<Array<double>> copies;
    for (int g = 0; g < gpus; ++g) copies.emplace_back(runtime, n * rounds);
    for (int round = 0; round < rounds; ++round) {
        const auto fill = [=](View<double> x) {
            for (Index i = 0; i < n; ++i) x[i] = static_cast<double>(round * n + i);
        };
        runtime.submit({.name = "fill", .place = writer}, write(x), fill,
                       cuda([](Stream, View<double>) { std::abort(); }));
        runtime.broadcast(x.region());
        for (int g = 0; g < gpus; ++g) {
            runtime.submit(
                {.name = "keep", .place = Place::gpu(g)}, read(x), readwrite(copies[static_cast<std::size_t>(g)]),
                [=](View<const double> x, View<double> kept) {
                    for (Index i = 0; i < n; ++i) kept[round * n + i] = x[i];
                },
                cuda([](Stream, View<const double>, View<double>) { std::abort(); }));
        }
    }
    runtime.wait();
    for (const Array<double>& kept : copies) {
        const auto view = kept.host_view();
        bool same = true;
        for (Index i = 0; i < n * rounds; ++i) same = same && view[i] == static_cast<double>(i);
        CHECK(same);
    }
}

TEST_CASE("chunks grow with the buffer and shrink with the number of hops") {
    constexpr std::size_t mega = std::size_t{1} << 20;
    const auto& links = basalt::TuningTables::built_in().for_gpu("sm_90").links;
    CHECK(broadcast_chunk(links, 128 * mega, 1, StreamRole::peer) >= 128 * mega);
    CHECK(broadcast_chunk(links, 0, 3, StreamRole::peer) > 0);
    CHECK(broadcast_chunk(links, 128 * mega, 3, StreamRole::peer) >
          broadcast_chunk(links, 64 * mega, 3, StreamRole::peer));
    CHECK(broadcast_chunk(links, 128 * mega, 3, StreamRole::peer) <
          broadcast_chunk(links, 128 * mega, 2, StreamRole::peer));
    CHECK(broadcast_chunk(links, 128 * mega, 3, StreamRole::peer) <
          broadcast_chunk(links, 128 * mega, 3, StreamRole::from_host));
}
