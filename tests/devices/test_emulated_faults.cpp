// Emulated devices fail on request, for once or for good.
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "runtime/memory/host_pool.hpp"
#include "tests/common/catch.hpp"
#include "tests/common/watchdog.hpp"
#include "tests/devices/emulated_machine.hpp"

using namespace basalt;
using namespace basalt_tests;

namespace {

/// Waits for the ticket; counts what reached() throws on the way.
void await_counting(Device& device, StreamRole stream, Ticket ticket, Attempt& attempt) {
    bool reached = false;
    while (!reached && !device.lost()) attempt([&] { reached = device.reached(stream, ticket); });
}

}  // namespace

TEST_CASE("an exception out of a kernel comes out of reached() once, as it was", "[sanitize]") {
    const Machine machine = emulated_machine({.gpus = 1, .memory = 1 << 20});
    Device& device = machine[0];
    const Buffer work(device, 8);
    const Ticket before = device.record(StreamRole::compute, Timing::untimed);
    device.launch(StreamRole::compute, [](Stream) { throw std::out_of_range("of the user's"); });
    device.launch(StreamRole::compute, [](Stream) { throw UsageError("another"); });
    const Ticket behind = device.record(StreamRole::compute, Timing::untimed);
    device.launch(StreamRole::compute, [](Stream) { throw 17; });
    launch_fill(machine, device, StreamRole::compute, work.get(), 5, 8);
    const Ticket last = device.record(StreamRole::compute, Timing::untimed);
    device.synchronize();
    CHECK(device.reached(StreamRole::compute, before));
    CHECK(device.reached(StreamRole::urgent_compute, 0));
    CHECK_THROWS_AS(device.reached(StreamRole::compute, behind), std::out_of_range);
    CHECK_THROWS_AS(device.reached(StreamRole::compute, behind), UsageError);
    CHECK(device.reached(StreamRole::compute, behind));
    CHECK_THROWS_AS(device.reached(StreamRole::compute, last), DeviceError);
    CHECK(device.reached(StreamRole::compute, last));
    CHECK_FALSE(device.lost());
    CHECK(contents(device, work.get(), 8) == Bytes(8, std::byte{5}));
}

TEST_CASE("the k-th call of a kind fails once, is reported once, and the device goes on", "[sanitize]") {
    const int k = GENERATE(1, 2, 3, 10);
    const int kind = GENERATE(0, 1, 2);
    const bool only_one = GENERATE(false, true);
    const std::optional<int> failing_gpu = only_one ? std::optional(1) : std::nullopt;
    CAPTURE(k, kind, only_one);
    Emulation emulation{.gpus = 2, .memory = 1 << 20, .failing_gpu = failing_gpu};
    const auto number = static_cast<std::uint64_t>(k);
    (kind == 0 ? emulation.failing_allocation : kind == 1 ? emulation.failing_copy : emulation.failing_kernel) = number;
    const Machine machine = emulated_machine(emulation);
    for (const auto& device : machine.devices) {
        CAPTURE(device->index());
        Attempt attempt;
        void* work = nullptr;
        for (int i = 0; i < 12; ++i) {
            attempt([&] {
                device->release(work);
                work = nullptr;
                work = device->allocate(100);
            });
            if (work == nullptr) continue;
            attempt([&] { launch_fill(machine, *device, StreamRole::compute, work, i, 100); });
            attempt([&] { device->copy_within(StreamRole::compute, {static_cast<char*>(work) + 50, work, 50}); });
            await_counting(*device, StreamRole::compute, device->record(StreamRole::compute, Timing::untimed), attempt);
        }
        REQUIRE(attempt.errors == (!failing_gpu || failing_gpu == device->index() ? 1 : 0));
        for (const std::string& text : attempt.texts) {
            CHECK(text.find(device->name()) == 0);
            CHECK(text.find("call " + std::to_string(k)) != std::string::npos);
            CHECK(text.find("emulated_device.cpp:") != std::string::npos);
        }
        CHECK_FALSE(device->lost());
        CHECK(contents(*device, work, 100) == Bytes(100, std::byte{11}));
        device->release(work);
        CHECK(device->free_bytes() == device->memory_bytes());
    }
}

TEST_CASE("after a sticky failure a device is lost, throws from every call and blocks no thread", "[sanitize]") {
    const Watchdog watchdog;
    const int k = GENERATE(1, 2);  // in the stream's turn, in the call
    const int kind = GENERATE(0, 1, 2);
    CAPTURE(k, kind);
    Emulation emulation{.gpus = 2, .memory = 1 << 20, .failures_are_sticky = true, .failing_gpu = 0};
    const auto number = static_cast<std::uint64_t>(k);
    (kind == 0   ? emulation.failing_allocation
     : kind == 1 ? emulation.failing_copy
                 : emulation.failing_kernel) = number + (kind == 0 ? 1 : 0);
    const Machine machine = emulated_machine(emulation);
    Device& device = machine[0];
    Device& other = machine[1];
    void* work = device.allocate(100);
    const Ticket ticket = device.record(StreamRole::compute, Timing::untimed);
    for (int i = 0; i < 3 && !device.lost(); ++i) {
        try {
            launch_fill(machine, device, StreamRole::compute, work, i, 100);
            device.copy_within(StreamRole::compute, {static_cast<char*>(work) + 50, work, 50});
            const Ticket latest = device.record(StreamRole::compute, Timing::untimed);
            other.wait_for(StreamRole::compute, device, StreamRole::compute, latest);
            device.release(device.allocate(100));
        } catch (const DeviceError& error) {
            CHECK(error.sticky());
        }
    }
    device.synchronize();
    REQUIRE(device.lost());
    const auto throws = [](auto&& call) {
        try {
            call();
            FAIL_CHECK("a lost device does not throw");
        } catch (const DeviceError& error) {
            CHECK(error.sticky());
            CHECK(error.device() == 0);
            CHECK(std::string(error.what()).find("as the emulation was asked for") != std::string::npos);
        }
    };
    Bytes host(100);
    throws([&] { device.allocate(1); });
    throws([&] { device.pin(host.data(), 1); });
    throws([&] { device.wait_for(StreamRole::compute, other, StreamRole::compute, 0); });
    throws([&] { device.copy(StreamRole::from_host, {work, host.data(), 1}); });
    throws([&] { device.copy_within(StreamRole::compute, {work, work, 1}); });
    throws([&] { device.launch(StreamRole::compute, [](Stream) {}); });
    throws([&] { device.record(StreamRole::compute, Timing::untimed); });
    throws([&] { device.reached(StreamRole::compute, ticket); });
    throws([&] { device.reached(StreamRole::compute, 0); });
    {
        const Buffer there(other, 1);
        throws([&] { other.copy_to_peer(StreamRole::peer, device, {work, there.get(), 1}); });
        // pinned by the devices that are left
        basalt::detail::HostPool pool(machine.devices);
        pool.give_back(pool.take(1000));
        CHECK_NOTHROW(pool.pin(host.data(), 100));
        pool.unpin(host.data());
    }
    device.unpin(host.data());
    device.release(work);
    CHECK(device.free_bytes() == device.memory_bytes());

    CHECK_FALSE(other.lost());
    const Buffer healthy(other, 10);
    launch_fill(machine, other, StreamRole::compute, healthy.get(), 4, 10);
    CHECK(contents(other, healthy.get(), 10) == Bytes(10, std::byte{4}));
}
