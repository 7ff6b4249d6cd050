#include "runtime/device/emulated_speed.hpp"

#include <array>
#include <cstdio>
#include <thread>

namespace basalt::detail {

namespace {

void sleep_until(EmulatedSpeed::Clock::time_point begin, std::chrono::duration<double> time) {
    std::this_thread::sleep_until(begin + std::chrono::duration_cast<EmulatedSpeed::Clock::duration>(time));
}

}  // namespace

EmulatedSpeed::EmulatedSpeed(const Emulation& emulation, int device)
    : slowness_(emulation.slowness.empty() ? 1 : emulation.slowness[static_cast<std::size_t>(device)]),
      link_bytes_a_second_(emulation.link_bytes_a_second) {}

std::string EmulatedSpeed::model() const {
    if (slowness_ == 1) return "emulated GPU";
    std::array<char, 64> text{};
    std::snprintf(text.data(), text.size(), "emulated GPU, %g times slower", slowness_);
    return text.data();
}

GpuTuning EmulatedSpeed::tuning(GpuTuning tuning) const {
    if (link_bytes_a_second_ > 0) {
        tuning.links.host_bytes_a_second = link_bytes_a_second_;
        tuning.links.peer_bytes_a_second = link_bytes_a_second_;
    }
    return tuning;
}

void EmulatedSpeed::end_kernel(Clock::time_point begin) const {
    if (slowness_ == 1) return;
    const std::chrono::duration<double> took = Clock::now() - begin;
    sleep_until(begin, took * slowness_);
}

void EmulatedSpeed::end_copy(Clock::time_point begin, std::size_t bytes) const {
    if (link_bytes_a_second_ == 0) return;
    sleep_until(begin, std::chrono::duration<double>(static_cast<double>(bytes) / link_bytes_a_second_));
}

}  // namespace basalt::detail
