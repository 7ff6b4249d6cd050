// What every device promises, of emulated ones.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/common/watchdog.hpp"
#include "tests/devices/device_contract.hpp"
#include "tests/devices/emulated_machine.hpp"

using namespace basalt;
using namespace basalt_tests;
using namespace std::chrono_literals;

namespace {

Machine any_machine(const TuningTables& tables = TuningTables::built_in()) {
    const int gpus = GENERATE(1, 2, 3);
    const auto delay = GENERATE(0ns, 200us);
    CAPTURE(gpus, delay.count());
    return emulated_machine({.gpus = gpus, .memory = std::size_t{1} << 28, .longest_delay = delay}, tables);
}

const std::array<StreamRole, 6> all_roles{StreamRole::compute, StreamRole::urgent_compute, StreamRole::from_host,
                                          StreamRole::to_host, StreamRole::peer,           StreamRole::relay};

/// Adds one to each of `count` numbers on the device.
void launch_increment(Device& device, StreamRole stream, double* numbers, std::size_t count) {
    device.launch(stream, [=](Stream) {
        for (std::size_t i = 0; i < count; ++i) numbers[i] += 1;
    });
}

}  // namespace

TEST_CASE("work on a stream runs in order", "[sanitize]") { check_order_in_a_stream(any_machine()); }

TEST_CASE("streams wait for tickets of each other", "[sanitize]") { check_waits_between_streams(any_machine()); }

TEST_CASE("a device's streams wait for tickets of other devices", "[sanitize]") {
    check_waits_between_devices(any_machine());
}

TEST_CASE("copies in every direction move the elements they name and nothing else") { check_copies(any_machine()); }

TEST_CASE("relays bring everything to all devices, in whatever directions they run", "[sanitize]") {
    const Watchdog watchdog;
    check_relays(any_machine(relaying_tables()));
}

TEST_CASE("a hop of a relay is refused where it does not fit") {
    const Machine machine = emulated_machine({.gpus = 2, .memory = 1 << 20}, relaying_tables());
    const Buffer here(machine[0], 64);
    const Buffer there(machine[1], 64);
    const auto relay = [&](const Copy& copy) { machine[0].relay_to_peer(machine[1], copy, {}, RelayEnd::last); };
    CHECK_THROWS_AS(relay({there.get() + 8, here.get(), 16}), DeviceError);
    CHECK_THROWS_AS(relay({there.get(), here.get() + 8, 16}), DeviceError);
    CHECK_THROWS_AS(relay({there.get(), here.get(), 16, 2, 16, 32}), DeviceError);
    CHECK_THROWS_AS(relay({there.get(), here.get(), 65}), DeviceError);
    CHECK_NOTHROW(relay({there.get() + 16, here.get() + 32, 32}));
}

TEST_CASE("a device is idle when it has nothing to compute", "[sanitize]") { check_idleness(any_machine()); }

TEST_CASE("tickets are reached in order and stay reached", "[sanitize]") { check_tickets(any_machine()); }

TEST_CASE("timed tickets have times in order, on the host's clock") { check_times(any_machine(), 0ns); }

TEST_CASE("device memory is aligned, counted and limited") { check_memory(any_machine()); }

TEST_CASE("host memory may be pinned more than once") {
    const Machine machine = any_machine();
    check_pinning(machine);
    CHECK(dynamic_cast<basalt::detail::EmulatedDevice&>(machine[0]).pinned_ranges() == 0);
}

TEST_CASE("any thread may allocate, release, pin and look", "[sanitize]") { check_foreign_threads(any_machine()); }

TEST_CASE("devices that wait for each other may be destroyed in any order", "[sanitize]") {
    const Watchdog watchdog;
    check_destruction(any_machine());
}

TEST_CASE("many threads drive many streams, ordered by tickets alone", "[sanitize]") {
    // Each driver adds to numbers that travel round the devices; ThreadSanitizer sees where a wait is
    // missing.
    const Watchdog watchdog;
    constexpr std::size_t count = 64;
    constexpr std::size_t bytes = count * sizeof(double);
    constexpr int rounds = 30;
    const Machine machine = emulated_machine({.gpus = 3, .memory = 1 << 24, .longest_delay = 100us, .seed = 5});
    std::vector<std::vector<double>> results(machine.size(), std::vector<double>(count));
    std::vector<std::thread> drivers;
    for (std::size_t start = 0; start < machine.size(); ++start) {
        drivers.emplace_back([&, start] {
            Device* at = &machine[start];
            std::vector<std::unique_ptr<Buffer>> buffers;
            for (const auto& device : machine.devices) buffers.push_back(std::make_unique<Buffer>(*device, bytes));
            std::vector<double>& home = results[start];
            at->copy(StreamRole::from_host, {buffers[start]->get(), home.data(), bytes});
            StreamRole stream = StreamRole::from_host;
            Ticket ticket = at->record(stream, Timing::untimed);
            Device* ticket_of = at;
            for (int round = 0; round < rounds; ++round) {
                const auto i = static_cast<std::size_t>(at->index());
                const StreamRole compute = round % 2 == 0 ? StreamRole::compute : StreamRole::urgent_compute;
                at->wait_for(compute, *ticket_of, stream, ticket);
                launch_increment(*at, compute, reinterpret_cast<double*>(buffers[i]->get()), count);
                ticket = at->record(compute, Timing::timed);
                Device& next = machine[(i + 1) % machine.size()];
                at->wait_for(StreamRole::peer, *at, compute, ticket);
                at->copy_to_peer(StreamRole::peer, next,
                                 {buffers[static_cast<std::size_t>(next.index())]->get(), buffers[i]->get(), bytes});
                ticket = at->record(StreamRole::peer, Timing::untimed);
                ticket_of = at;
                stream = StreamRole::peer;
                at = &next;
            }
            at->wait_for(StreamRole::to_host, *ticket_of, stream, ticket);
            at->copy(StreamRole::to_host, {home.data(), buffers[static_cast<std::size_t>(at->index())]->get(), bytes});
            await(*at, StreamRole::to_host, at->record(StreamRole::to_host, Timing::untimed));
        });
    }
    for (std::thread& driver : drivers) driver.join();
    for (const auto& result : results) {
        for (const double x : result) CHECK(x == rounds);
    }
    for (const auto& device : machine.devices) CHECK(statistics(*device).bytes_allocated == 0);
}

TEST_CASE("each stream has a name of its own") {
    std::vector<std::string> names;
    for (int role = 0; role < basalt::detail::stream_roles; ++role)
        names.push_back(name_of(static_cast<StreamRole>(role)));
    CHECK(names[static_cast<std::size_t>(stream_of_pool(StreamRole::compute, 1))] == "compute 2");
    CHECK(names.back() == "urgent compute 16");
    std::sort(names.begin(), names.end());
    CHECK(std::adjacent_find(names.begin(), names.end()) == names.end());
    CHECK(std::find(names.begin(), names.end(), "") == names.end());
}
