#pragma once

// What runtime/device/device.hpp promises, checked on whatever devices a Machine holds: each function is the
// body of a test case, called for emulated devices and for GPUs.

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/common/catch.hpp"
#include "tests/devices/copies_contract.hpp"
#include "tests/devices/device_machine.hpp"

namespace basalt_tests {

inline void check_order_in_a_stream(const Machine& machine) {
    constexpr std::size_t bytes = 10007;
    constexpr int rounds = 12;
    for (const auto& device : machine.devices) {
        device->attach_thread();
        for (const StreamRole stream : {StreamRole::compute, StreamRole::urgent_compute, StreamRole::peer}) {
            const Buffer work(*device, bytes);
            const Buffer kept(*device, bytes * rounds);
            for (int round = 0; round < rounds; ++round) {
                launch_fill(machine, *device, stream, work.get(), round + 1, bytes);
                device->copy_within(stream, {.to = kept.get() + static_cast<std::size_t>(round) * bytes,
                                             .from = work.get(),
                                             .row_bytes = bytes});
            }
            await(*device, stream, device->record(stream, Timing::untimed));
            const Bytes found = contents(*device, kept.get(), bytes * rounds);
            for (std::size_t round = 0; round < rounds; ++round) {
                CHECK(found[round * bytes] == static_cast<std::byte>(round + 1));
                CHECK(found[(round + 1) * bytes - 1] == static_cast<std::byte>(round + 1));
            }
        }
    }
}

/// Values travel through streams that only wait for each other's tickets.
inline void check_waits_between_streams(const Machine& machine) {
    constexpr std::size_t bytes = 40000;
    for (const auto& device : machine.devices) {
        device->attach_thread();
        const Buffer a(*device, bytes);
        const Buffer b(*device, bytes);
        Bytes home(bytes);
        for (int round = 1; round <= 20; ++round) {
            const Bytes sent(bytes, static_cast<std::byte>(round));
            device->copy(StreamRole::from_host, {.to = a.get(), .from = sent.data(), .row_bytes = bytes});
            const Ticket arrived = device->record(StreamRole::from_host, Timing::untimed);
            device->wait_for(StreamRole::compute, *device, StreamRole::from_host, arrived);
            device->copy_within(StreamRole::compute, {.to = b.get(), .from = a.get(), .row_bytes = bytes});
            const Ticket computed = device->record(StreamRole::compute, Timing::untimed);
            device->wait_for(StreamRole::to_host, *device, StreamRole::compute, computed);
            device->copy(StreamRole::to_host, {.to = home.data(), .from = b.get(), .row_bytes = bytes});
            const Ticket returned = device->record(StreamRole::to_host, Timing::untimed);
            // behind the copy home, so that the next round's values cannot overtake these
            device->wait_for(StreamRole::from_host, *device, StreamRole::to_host, returned);
            await(*device, StreamRole::to_host, returned);
            CHECK(home == sent);
        }
    }
}

/// A value travels around all devices; each one waits for its predecessor.
inline void check_waits_between_devices(const Machine& machine) {
    constexpr std::size_t bytes = 30011;
    std::vector<std::unique_ptr<Buffer>> buffers;
    for (const auto& device : machine.devices) buffers.push_back(std::make_unique<Buffer>(*device, bytes));
    for (std::size_t i = 0; i + 1 < machine.size(); ++i) {
        if (!machine[i].reaches(machine[i + 1])) return;
    }
    for (int round = 1; round <= 10; ++round) {
        machine[0].attach_thread();
        launch_fill(machine, machine[0], StreamRole::compute, buffers[0]->get(), round, bytes);
        Ticket ready = machine[0].record(StreamRole::compute, Timing::untimed);
        StreamRole from = StreamRole::compute;
        for (std::size_t i = 0; i + 1 < machine.size(); ++i) {
            machine[i].attach_thread();
            if (i == 0) {
                machine[i].wait_for(StreamRole::peer, machine[i], from, ready);
            } else {
                machine[i].wait_for(StreamRole::peer, machine[i - 1], from, ready);
            }
            machine[i].copy_to_peer(StreamRole::peer, machine[i + 1],
                                    {.to = buffers[i + 1]->get(), .from = buffers[i]->get(), .row_bytes = bytes});
            ready = machine[i].record(StreamRole::peer, Timing::untimed);
            from = StreamRole::peer;
        }
        if (machine.size() > 1) await(machine[machine.size() - 2], StreamRole::peer, ready);
        Device& last = machine[machine.size() - 1];
        last.attach_thread();
        CHECK(contents(last, buffers.back()->get(), bytes) == Bytes(bytes, static_cast<std::byte>(round)));
        for (const auto& device : machine.devices) device->synchronize();
    }
}

/// A device is idle unless one of its compute streams has not got to its newest ticket.
inline void check_idleness(const Machine& machine) {
    for (const auto& device : machine.devices) {
        device->attach_thread();
        CHECK(device->is_idle());
        for (const StreamRole stream : {StreamRole::compute, StreamRole::urgent_compute, StreamRole::peer}) {
            const bool computes = stream != StreamRole::peer;
            StreamGate gate(machine, *device, stream);
            const Ticket ticket = device->record(stream, Timing::untimed);
            for (const auto& any : machine.devices) CHECK(any->is_idle() == (any != device || !computes));
            gate.open();
            await(*device, stream, ticket);
            CHECK(device->is_idle());
        }
    }
}

/// Tickets count from 1, are reached in order, and stay reached however old they are.
inline void check_tickets(const Machine& machine) {
    for (const auto& device : machine.devices) {
        device->attach_thread();
        CHECK(device->reached(StreamRole::compute, 0));
        const Buffer work(*device, 1000);
        const Ticket count = Device::remembered_tickets + 300;
        for (Ticket ticket = 1; ticket <= count; ++ticket) {
            if (ticket % 16 == 1) launch_fill(machine, *device, StreamRole::compute, work.get(), 1, 1000);
            const Timing timing = ticket % 3 == 0 ? Timing::timed : Timing::untimed;
            REQUIRE(device->record(StreamRole::compute, timing) == ticket);
        }
        bool all_reached = false;
        while (!all_reached) {
            bool newer_one_reached = false;
            for (Ticket ticket = count; ticket > 0; --ticket) {
                const bool reached = device->reached(StreamRole::compute, ticket);
                if (newer_one_reached) REQUIRE(reached);
                newer_one_reached = newer_one_reached || reached;
                all_reached = all_reached || (reached && ticket == count);
            }
        }
        device->synchronize();
        CHECK(device->reached(StreamRole::compute, count));
        CHECK(device->reached(StreamRole::compute, 1));
    }
}

/// Tickets of one stream have times in their order, on the clock of the host.
inline void check_times(const Machine& machine, std::chrono::nanoseconds accuracy) {
    const auto now = [] {
        const auto time = std::chrono::steady_clock::now().time_since_epoch();
        return std::chrono::duration_cast<std::chrono::nanoseconds>(time).count();
    };
    constexpr std::size_t bytes = std::size_t{1} << 20;
    for (const auto& device : machine.devices) {
        device->attach_thread();
        const Buffer work(*device, bytes);
        for (const StreamRole stream : {StreamRole::compute, StreamRole::peer}) {
            const std::int64_t before = now();
            std::vector<Ticket> tickets;
            for (int i = 0; i < 50; ++i) {
                tickets.push_back(device->record(stream, Timing::timed));
                launch_fill(machine, *device, stream, work.get(), i, bytes);
            }
            tickets.push_back(device->record(stream, Timing::timed));
            await(*device, stream, tickets.back());
            const std::int64_t after = now();
            std::int64_t last = before - accuracy.count();
            for (const Ticket ticket : tickets) {
                const std::int64_t time = device->time_of(stream, ticket);
                CHECK(time >= last);
                last = time;
            }
            CHECK(last <= after + accuracy.count());
        }
    }
}

/// Memory is aligned, counted, and refused where there is not enough.
inline void check_memory(const Machine& machine) {
    for (const auto& device : machine.devices) {
        device->attach_thread();
        const std::size_t free = device->free_bytes();
        CHECK(free <= device->memory_bytes());
        {
            const Buffer none(*device, 0);
            const Buffer one(*device, 1);
            const Buffer many(*device, std::size_t{64} << 20);
            CHECK(reinterpret_cast<std::uintptr_t>(one.get()) % 512 == 0);
            CHECK(reinterpret_cast<std::uintptr_t>(many.get()) % 512 == 0);
            CHECK(device->free_bytes() + (std::size_t{32} << 20) < free);
        }
        try {
            device->release(device->allocate(4 * device->memory_bytes()));
            FAIL("more memory than there is");
        } catch (const DeviceError& error) {
            CHECK(error.out_of_memory());
            CHECK_FALSE(error.sticky());
            CHECK(error.device() == device->index());
            CHECK(std::string(error.what()).find(device->name()) != std::string::npos);
        }
        CHECK_FALSE(device->lost());
    }
}

/// Host memory may be pinned, twice too; copies from it arrive.
inline void check_pinning(const Machine& machine) {
    const HostPages pages(std::size_t{1} << 20);
    const Bytes host = ramp(pages.size(), 1);
    std::copy(host.begin(), host.end(), pages.get());
    for (const auto& device : machine.devices) {
        device->pin(pages.get(), pages.size());
        device->pin(pages.get(), pages.size());
    }
    for (const auto& device : machine.devices) {
        device->attach_thread();
        const Buffer there(*device, host.size());
        device->copy(StreamRole::from_host, {.to = there.get(), .from = pages.get(), .row_bytes = host.size()});
        CHECK(contents(*device, there.get(), host.size()) == host);
        CHECK(device->is_pinned(pages.get(), pages.size()));
        CHECK(device->is_pinned(pages.get() + 10, 20));
        CHECK_FALSE(device->is_pinned(host.data(), host.size()));
    }
    for (int i = 0; i < 2; ++i) {
        for (const auto& device : machine.devices) device->unpin(pages.get());
    }
    CHECK_FALSE(machine[0].is_pinned(pages.get(), pages.size()));
}

/// Threads that never touched a device allocate, release, pin and poll tickets while its driver works.
inline void check_foreign_threads(const Machine& machine) {
    constexpr std::size_t bytes = 5000;
    for (const auto& device : machine.devices) {
        device->attach_thread();
        const Buffer work(*device, bytes);
        std::vector<std::thread> threads;
        std::array<bool, 3> well{};
        for (std::size_t t = 0; t < well.size(); ++t) {
            threads.emplace_back([&, t] {
                const HostPages pages(bytes);
                for (int i = 0; i < 20; ++i) {
                    device->release(device->allocate(bytes));
                    device->pin(pages.get(), pages.size());
                    device->unpin(pages.get());
                }
                well[t] = device->reached(StreamRole::compute, 0);
            });
        }
        for (int i = 0; i < 50; ++i) {
            launch_fill(machine, *device, StreamRole::compute, work.get(), i, bytes);
            await(*device, StreamRole::compute, device->record(StreamRole::compute, Timing::untimed));
        }
        for (std::thread& thread : threads) thread.join();
        for (const bool ok : well) CHECK(ok);
    }
}

/// A device that goes away in the middle of its work leaves no waiter behind.
inline void check_destruction(Machine machine) {
    constexpr std::size_t bytes = 100000;
    std::vector<void*> memory;
    for (const auto& device : machine.devices) memory.push_back(device->allocate(bytes));
    std::vector<Ticket> last(machine.size(), 0);
    for (int round = 0; round < 5; ++round) {
        for (std::size_t d = 0; d < machine.size(); ++d) {
            const std::size_t before = (d + machine.size() - 1) % machine.size();
            machine[d].attach_thread();
            machine[d].wait_for(StreamRole::compute, machine[before], StreamRole::compute, last[before]);
            launch_fill(machine, machine[d], StreamRole::compute, memory[d], round, bytes);
            last[d] = machine[d].record(StreamRole::compute, Timing::untimed);
        }
    }
    // in the middle of it, in either order
    while (machine.size() > 0) machine.devices.erase(machine.devices.begin() + (machine.size() > 2 ? 1 : 0));
    SUCCEED();
}

}  // namespace basalt_tests
