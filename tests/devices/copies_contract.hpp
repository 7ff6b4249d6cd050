#pragma once

// What runtime/device/device.hpp promises about copies and relays; for device_contract.hpp.
#include <array>
#include <cstddef>
#include <memory>
#include <thread>
#include <vector>
#include "tests/common/catch.hpp"
#include "tests/devices/device_machine.hpp"

namespace basalt_tests {

struct Shape {
    std::size_t row_bytes, rows, to_pitch, from_pitch;
};

inline const std::array<Shape, 9>& ragged_shapes() {
    static constexpr std::array<Shape, 9> shapes{{{0, 1, 0, 0},
                                                  {1, 1, 0, 0},
                                                  {4097, 1, 0, 0},
                                                  {16, 0, 16, 16},
                                                  {8, 5, 8, 8},
                                                  {8, 5, 8, 24},
                                                  {24, 7, 40, 24},
                                                  {33, 9, 64, 35},
                                                  {1000, 100, 1024, 1000}}};
    return shapes;
}

/// What `copy` leaves in a buffer full of zeros.
inline Bytes expected_copy(const Shape& shape, std::size_t bytes, const Bytes& from) {
    Bytes to(bytes);
    for (std::size_t row = 0; row < shape.rows; ++row) {
        for (std::size_t i = 0; i < shape.row_bytes; ++i) {
            to[row * shape.to_pitch + i] = from[row * shape.from_pitch + i];
        }
    }
    return to;
}

/// Copies of rows between the host and devices, within devices, and between devices, move these rows only.
inline void check_copies(const Machine& machine) {
    for (const Shape& shape : ragged_shapes()) {
        CAPTURE(shape.row_bytes, shape.rows, shape.to_pitch, shape.from_pitch);
        const std::size_t from_bytes = shape.rows * (shape.from_pitch + shape.row_bytes) + 1;
        const std::size_t to_bytes = shape.rows * (shape.to_pitch + shape.row_bytes) + 1;
        const Bytes source = ramp(from_bytes, 3);
        const Bytes expected = expected_copy(shape, to_bytes, source);
        const auto copy_of = [&](void* to, const void* from) {
            return Copy{to, from, shape.row_bytes, shape.rows, shape.to_pitch, shape.from_pitch};
        };
        for (std::size_t d = 0; d < machine.size(); ++d) {
            Device& device = machine[d];
            CAPTURE(d);
            device.attach_thread();
            const Buffer from(device, from_bytes);
            const Buffer to(device, to_bytes);

            put(device, to.get(), Bytes(to_bytes));
            device.copy(StreamRole::from_host, copy_of(to.get(), source.data()));
            CHECK(contents(device, to.get(), to_bytes) == expected);

            put(device, from.get(), source);
            Bytes home(to_bytes);
            device.copy(StreamRole::to_host, copy_of(home.data(), from.get()));
            await(device, StreamRole::to_host, device.record(StreamRole::to_host, Timing::untimed));
            CHECK(home == expected);

            put(device, to.get(), Bytes(to_bytes));
            device.copy_within(StreamRole::compute, copy_of(to.get(), from.get()));
            CHECK(contents(device, to.get(), to_bytes) == expected);

            Device& peer = machine[(d + 1) % machine.size()];
            if (!device.reaches(peer)) continue;
            const Buffer there(peer, to_bytes);
            peer.attach_thread();
            put(peer, there.get(), Bytes(to_bytes));
            device.attach_thread();
            device.copy_to_peer(StreamRole::peer, peer, copy_of(there.get(), from.get()));
            await(device, StreamRole::peer, device.record(StreamRole::peer, Timing::untimed));
            peer.attach_thread();
            CHECK(contents(peer, there.get(), to_bytes) == expected);
        }
    }
}

/// A buffer that travels along all devices of a machine, from the first to the last or back.
class RelayLine {
  public:
    RelayLine(const Machine& machine, bool downwards, const Bytes& sent) : sent_(sent) {
        for (std::size_t i = 0; i < machine.size(); ++i) {
            devices_.push_back(&machine[downwards ? machine.size() - 1 - i : i]);
            devices_.back()->attach_thread();
            buffers_.push_back(std::make_unique<Buffer>(*devices_.back(), sent.size()));
            put(*devices_.back(), buffers_.back()->get(), i == 0 ? sent : Bytes(sent.size()));
        }
    }
    void enqueue() const {
        std::optional<RelayMark> mark;
        for (std::size_t i = 0; i + 1 < devices_.size(); ++i) {
            const Copy copy{.to = buffers_[i + 1]->get(), .from = buffers_[i]->get(), .row_bytes = sent_.size()};
            mark = devices_[i]->relay_to_peer(*devices_[i + 1], copy, mark,
                                              i + 2 == devices_.size() ? RelayEnd::last : RelayEnd::passed_on);
        }
    }
    /// Everything has been enqueued.
    void check() const {
        for (std::size_t i = 0; i + 1 < devices_.size(); ++i) {
            await(*devices_[i], StreamRole::relay, devices_[i]->record(StreamRole::relay, Timing::untimed));
        }
        for (std::size_t i = 0; i < devices_.size(); ++i) {
            devices_[i]->attach_thread();
            CHECK((contents(*devices_[i], buffers_[i]->get(), sent_.size()) == sent_));
        }
    }

  private:
    const Bytes sent_;
    std::vector<Device*> devices_;
    std::vector<std::unique_ptr<Buffer>> buffers_;
};

/// Relays in both directions at once, enqueued by two threads, each one behind others: every device gets all bytes of
/// each, and no kernel waits for one that cannot begin. The machine is made by relaying_tables().
inline void check_relays(const Machine& machine) {
    for (std::size_t i = 0; i + 1 < machine.size(); ++i) {
        if (!machine[i].reaches(machine[i + 1]) || !machine[i + 1].reaches(machine[i])) return;
    }
    std::array<std::vector<std::unique_ptr<RelayLine>>, 2> directions;
    for (const std::size_t bytes : {1, 16, 1024, 4099, 300007, 5, 70000}) {
        for (std::size_t d = 0; d < directions.size(); ++d) {
            const auto first = static_cast<unsigned>(bytes + d);
            directions[d].push_back(std::make_unique<RelayLine>(machine, d == 1, ramp(bytes, first)));
        }
    }
    std::vector<std::thread> threads;
    for (const auto& lines : directions) {
        threads.emplace_back([&lines] {
            for (const auto& line : lines) line->enqueue();
        });
    }
    for (std::thread& thread : threads) thread.join();
    for (const auto& lines : directions) {
        for (const auto& line : lines) line->check();
    }
}

}  // namespace basalt_tests
