#include "io/energy/energy_meter.hpp"

#include <exception>
#include <utility>

#include "base/start_thread.hpp"

namespace basalt {

void EnergyCounters::add(EnergyCounter counter) {
    try {
        counter.read();
        counters.push_back(std::move(counter));
    } catch (const std::exception& error) {
        uncounted.push_back({counter.name, error.what()});
    }
}

double EnergyReading::joules() const {
    double sum = 0;
    for (const Part& part : parts) sum += part.joules;
    return sum;
}

EnergyMeter::EnergyMeter(EnergyCounters counters, std::chrono::milliseconds reading_interval)
    : reading_interval_(reading_interval), uncounted_(std::move(counters.uncounted)) {
    for (EnergyCounter& counter : counters.counters) tallies_.push_back({.counter = std::move(counter)});
}

EnergyMeter::~EnergyMeter() {
    if (measuring_) stop();
}

void EnergyMeter::start() {
    read_counters();
    for (Tally& tally : tallies_) tally.region = 0;
    measuring_ = true;
    observer_ = start_thread("the thread that measures energy", [this] { read_counters_regularly(); });
    begin_ = Clock::now();
}

void EnergyMeter::stop() {
    seconds_ = std::chrono::duration<double>(Clock::now() - begin_).count();
    {
        const std::lock_guard guard(lock_);
        read_counters();
        measuring_ = false;
    }
    stopped_.notify_one();
    observer_.join();
    total_seconds_ += seconds_;
    for (Tally& tally : tallies_) tally.total += tally.region;
}

void EnergyMeter::read_counters() {
    for (Tally& tally : tallies_) {
        if (!tally.failure.empty()) continue;
        try {
            const std::uint64_t now = tally.counter.read();
            tally.region += now >= tally.seen ? now - tally.seen : now + tally.counter.range - tally.seen;
            tally.seen = now;
        } catch (const std::exception& error) {
            tally.failure = error.what();
        }
    }
}

void EnergyMeter::read_counters_regularly() {
    std::unique_lock guard(lock_);
    while (!stopped_.wait_for(guard, reading_interval_, [this] { return !measuring_; })) read_counters();
}

EnergyReading EnergyMeter::reading(double seconds, std::uint64_t Tally::*energy) const {
    EnergyReading result{.seconds = seconds, .parts = {}, .uncounted = uncounted_};
    for (const Tally& tally : tallies_) {
        if (tally.failure.empty()) {
            result.parts.push_back({tally.counter.name, static_cast<double>(tally.*energy) * 1e-6});
        } else {
            result.uncounted.push_back({tally.counter.name, tally.failure});
        }
    }
    return result;
}

EnergyReading EnergyMeter::last() const { return reading(seconds_, &Tally::region); }
EnergyReading EnergyMeter::total() const { return reading(total_seconds_, &Tally::total); }

}  // namespace basalt
