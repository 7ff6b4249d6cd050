// bench_broadcast: sends one buffer to several GPUs, in turn by our ring (from the host: by shares), by the ring of
// copies alone, by the source that sends to each GPU, and by NCCL.
#include "runtime/device/broadcast.hpp"
#include "runtime/device/broadcast_route.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "bench/broadcast/nccl.hpp"
#include "bench/common/clock.hpp"
#include "bench/common/command_line.hpp"
#include "bench/common/record_file.hpp"
#include "io/files/json_record.hpp"

namespace {

using namespace bench;
using basalt::detail::broadcast_chunk;
using basalt::detail::broadcast_route;
using basalt::detail::BroadcastPlan;
using basalt::detail::Device;
using basalt::detail::enqueue_broadcast;
using basalt::detail::Hop;
using basalt::detail::StreamPoint;
using basalt::detail::StreamRole;
using basalt::detail::Timing;

const std::vector<std::string> all_sources{"device", "host"};
constexpr int most_targets = 8;

const std::vector<std::string> all_methods{"ring", "copies", "source", "nccl"};

struct Options {
    std::vector<std::string> sources = all_sources;
    std::vector<std::string> methods = all_methods;
    std::vector<std::uint64_t> sizes{1 << 20, 4 << 20, 16 << 20, 64 << 20, 128 << 20, 512 << 20};
    std::vector<std::uint64_t> chunks{0};
    std::vector<int> targets;
    int gpus = 8;
    int emulated_gpus = 0;
    int repeat = 21;
    std::string tuning;
    std::string json;
};

/// One line of the table, with its times so far.
struct Line {
    std::string source;
    std::string method;
    int targets;
    std::size_t bytes;
    std::size_t chunk;     ///< from the command line; 0: the runtime chooses
    std::string way = {};  ///< route of the bytes, as way_of() names it
    std::vector<double> seconds = {};
    std::vector<double> issue_seconds = {};

    double median() const { return basalt::median(seconds); }
    double best() const { return *std::min_element(seconds.begin(), seconds.end()); }
};

struct Free {
    void operator()(void* memory) const { std::free(memory); }
};

/// The devices, a buffer at each of `places` places, and a pinned buffer on the host. Place i is on device i modulo the
/// number of devices, so that a ring over all places is as long as on that number of devices.
class Bench {
  public:
    Bench(std::vector<std::unique_ptr<Device>> devices, int places, std::size_t bytes)
        : devices_(std::move(devices)),
          bytes_((bytes + page - 1) / page * page),
          host_(static_cast<std::byte*>(std::aligned_alloc(page, bytes_))),
          seen_(static_cast<std::byte*>(std::aligned_alloc(page, bytes_))) {
        if (host_ == nullptr || seen_ == nullptr) throw std::runtime_error("no memory on the host");
        for (std::size_t i = 0; i < bytes_; ++i) host_.get()[i] = pattern(i);
        devices_[0]->pin(host_.get(), bytes_);
        devices_[0]->pin(seen_.get(), bytes_);
        for (int i = 0; i < std::max(places, this->devices()); ++i) buffers_.push_back(at(i).allocate(bytes_));
    }
    ~Bench() {
        for (int i = 0; i < places(); ++i) at(i).release(buffer(i));
        devices_[0]->unpin(seen_.get());
        devices_[0]->unpin(host_.get());
    }
    Bench(const Bench&) = delete;
    Bench& operator=(const Bench&) = delete;

    int devices() const { return static_cast<int>(devices_.size()); }
    int places() const { return static_cast<int>(buffers_.size()); }
    const Device& device(int number) const { return *devices_[static_cast<std::size_t>(number)]; }

    /// Times the line once more.
    void measure(Line& line) {
        for (const auto& device : devices_) device->synchronize();
        if (line.method == "nccl") {
            NcclBroadcast& nccl = nccl_for(line.targets + 1);
            const Stopwatch watch;
            nccl.run(buffers_, line.bytes);
            line.seconds.push_back(watch.elapsed().wall);
            return;
        }
        const BroadcastPlan plan = plan_for(line);
        const Stopwatch watch;
        const std::vector<StreamPoint> ends = enqueue_broadcast(plan).ends;
        line.issue_seconds.push_back(watch.elapsed().wall);
        for (const StreamPoint& end : ends) await(end);
        line.seconds.push_back(watch.elapsed().wall);
    }

    /// The route of the line's bytes while no other work is enqueued.
    std::string way_of(const Line& line) const {
        if (line.method == "nccl") return "NCCL's";
        const std::vector<Hop> hops = broadcast_route(plan_for(line));
        if (hops.empty()) return "none";
        if (hops.front().role == StreamRole::relay) return "relayed";
        if (hops.front().chunks() == 1) return "whole";
        return fmt::format("by {} KiB", hops.front().chunk >> 10);
    }

    /// Throws std::runtime_error unless all bytes arrive.
    void verify(Line line) {
        const int first = first_target(line);
        std::memset(seen_.get(), 0, line.bytes);
        for (int i = first; i < first + line.targets; ++i) fill(i, seen_.get(), line.bytes);
        if (line.source == "device") fill(0, host_.get(), line.bytes);
        measure(line);
        for (int i = first; i < first + line.targets; ++i) check(i, line);
    }

  private:
    static constexpr std::size_t page = 4096;

    static std::byte pattern(std::size_t i) { return static_cast<std::byte>((i * 2654435761U) >> 13 & 0xFF); }
    static int first_target(const Line& line) { return line.source == "device" ? 1 : 0; }

    Device& at(int place) const { return *devices_[static_cast<std::size_t>(place) % devices_.size()]; }
    std::byte* buffer(int place) const { return static_cast<std::byte*>(buffers_[static_cast<std::size_t>(place)]); }

    BroadcastPlan plan_for(const Line& line) const {
        BroadcastPlan plan;
        plan.source = line.source == "device" ? devices_[0].get() : nullptr;
        plan.from = line.source == "device" ? buffers_[0] : host_.get();
        plan.bytes = line.bytes;
        plan.from_source_only = line.method == "source";
        plan.through_host = host_.get();
        plan.chunk_bytes = line.chunk;
        for (int i = first_target(line); i < first_target(line) + line.targets; ++i) {
            plan.targets.push_back({&at(i), buffer(i)});
        }
        return plan;
    }

    void await(const StreamPoint& end) {
        while (!at(end.device).reached(end.role, end.ticket)) {
        }
    }
    void finish(int place, StreamRole stream) {
        await({at(place).index(), stream, at(place).record(stream, Timing::untimed)});
    }

    void fill(int place, const std::byte* from, std::size_t bytes) {
        at(place).copy(StreamRole::from_host, {.to = buffer(place), .from = from, .row_bytes = bytes});
        finish(place, StreamRole::from_host);
    }
    void check(int place, const Line& line) {
        at(place).copy(StreamRole::to_host, {.to = seen_.get(), .from = buffer(place), .row_bytes = line.bytes});
        finish(place, StreamRole::to_host);
        if (std::memcmp(seen_.get(), host_.get(), line.bytes) == 0) return;
        const auto wrong = std::mismatch(seen_.get(), seen_.get() + line.bytes, host_.get()).first - seen_.get();
        throw std::runtime_error(
            fmt::format("byte {} of {} did not arrive on {}", wrong, line.bytes, at(place).name()));
    }

    NcclBroadcast& nccl_for(int gpus) {
        auto& nccl = nccl_[gpus];
        if (nccl == nullptr) nccl = make_nccl_broadcast(gpus);
        return *nccl;
    }

    std::vector<std::unique_ptr<Device>> devices_;
    std::size_t bytes_;
    std::unique_ptr<std::byte, Free> host_;
    std::unique_ptr<std::byte, Free> seen_;
    std::vector<void*> buffers_;
    std::map<int, std::unique_ptr<NcclBroadcast>> nccl_;
};

std::vector<std::unique_ptr<Device>> make_devices(const Options& options) {
    const basalt::TuningTables tables =
        options.tuning.empty() ? basalt::TuningTables::built_in() : basalt::read_tuning_file(options.tuning);
    if (options.emulated_gpus > 0)
        return basalt::detail::make_emulated_devices({.gpus = options.emulated_gpus}, tables);
    return basalt::detail::make_cuda_devices(options.gpus, tables);
}

/// The numbers of targets to measure: those of --targets, otherwise all that the devices allow.
std::vector<int> numbers_of_targets(const std::string& source, const Options& options, int devices) {
    const bool from_device = source == "device";
    const int all = from_device ? devices - 1 : devices;
    std::vector<int> numbers;
    for (int targets = 1; targets <= std::max(all, most_targets); ++targets) {
        const auto asked = std::find(options.targets.begin(), options.targets.end(), targets);
        const bool possible = targets <= all || (from_device && devices > 1);
        if (options.targets.empty() ? targets <= all : possible && asked != options.targets.end())
            numbers.push_back(targets);
    }
    return numbers;
}

/// The methods for one buffer and one number of targets.
std::vector<Line> lines_for(const std::string& source, int targets, std::size_t bytes, const Options& options,
                            const Bench& bench) {
    std::vector<Line> lines;
    for (const std::string& method : options.methods) {
        const bool nccl = method == "nccl";
        const bool round_again = targets >= bench.devices() && source == "device";
        if (round_again && (method == "source" || nccl)) continue;
        if (nccl && (source != "device" || bench.device(0).emulated() || !has_nccl)) continue;
        if (method == "source" || nccl) {
            lines.push_back({source, method, targets, bytes, 0});
        } else if (method == "ring") {
            for (const std::size_t chunk : options.chunks) {
                if (chunk < bytes) lines.push_back({source, method, targets, bytes, chunk});
            }
        } else if (source == "device" && targets > 1) {
            const auto& links = bench.device(0).tuning().links;
            const std::size_t chunk =
                broadcast_chunk(links, bytes, static_cast<std::size_t>(targets), StreamRole::peer);
            lines.push_back({source, method, targets, bytes, chunk});
        }
    }
    return lines;
}

class Report {
  public:
    explicit Report(const std::string& json) : table_(json == "-" ? stderr : stdout), records_(json) {}

    void head(const Bench& bench, int repeat) {
        fmt::print(table_, "broadcast among {} x {}; median of {} rounds in turn, by the host's clock\n",
                   bench.devices(), bench.device(0).model(), repeat);
        fmt::print(table_, "{:<6} {:>7} {:>9} {:<6} {:>11} {:>9} {:>9} {:>9} {:>8}\n", "source", "targets", "MiB",
                   "method", "way", "ms", "best ms", "issue ms", "GB/s");
    }

    void line(const Line& line, const Bench& bench) {
        const double issue = line.issue_seconds.empty() ? 0 : basalt::median(line.issue_seconds);
        const double rate = static_cast<double>(line.bytes) / line.median() * 1e-9;
        fmt::print(table_, "{:<6} {:>7} {:>9.2f} {:<6} {:>11} {:>9.4f} {:>9.4f} {:>9.4f} {:>8.1f}\n", line.source,
                   line.targets, static_cast<double>(line.bytes) / (1 << 20), line.method, line.way,
                   line.median() * 1e3, line.best() * 1e3, issue * 1e3, rate);
        std::fflush(table_);
        basalt::JsonRecord record;
        record["bench"] = "broadcast";
        record["source"] = line.source;
        record["gpus"] = bench.devices();
        record["targets"] = line.targets;
        record["bytes"] = line.bytes;
        record["method"] = line.method;
        record["chunk_bytes"] = line.chunk;
        record["way"] = line.way;
        record["milliseconds"] = line.median() * 1e3;
        record["best_milliseconds"] = line.best() * 1e3;
        record["issue_milliseconds"] = issue * 1e3;
        record["gbytes_per_second"] = rate;
        record["gpu"] = bench.device(0).model();
        records_.write(record);
    }

  private:
    std::FILE* table_;
    RecordFile records_;
};

/// Whether all bytes arrive; prints the reason where they do not.
bool works(const Line& line, Bench& bench) {
    try {
        bench.verify(line);
        return true;
    } catch (const std::exception& error) {
        fmt::print(stderr, "bench_broadcast: {} from the {} to {}, chunks of {}: {}\n", line.method, line.source,
                   line.targets, line.chunk, error.what());
        return false;
    }
}

/// False if a line fails; that line is left out of the table.
bool compare(std::vector<Line> lines, Bench& bench, const Options& options, Report& report) {
    const std::size_t asked = lines.size();
    std::erase_if(lines, [&](const Line& line) { return !works(line, bench); });
    const bool all = lines.size() == asked;
    for (Line& line : lines) line.way = bench.way_of(line);
    for (int round = 0; round < options.repeat; ++round) {
        for (Line& line : lines) bench.measure(line);
    }
    for (const Line& line : lines) report.line(line, bench);
    return all;
}

int run(const Options& options) {
    std::vector<std::unique_ptr<Device>> devices = make_devices(options);
    if (devices.empty()) throw std::runtime_error("no GPU; --emulated-gpus N shows that it works");
    const int places =
        options.targets.empty() ? 0 : *std::max_element(options.targets.begin(), options.targets.end()) + 1;
    Bench bench(std::move(devices), places, *std::max_element(options.sizes.begin(), options.sizes.end()));
    Report report(options.json);
    report.head(bench, options.repeat);
    bool all = true;
    for (const std::string& source : options.sources) {
        for (const int targets : numbers_of_targets(source, options, bench.devices())) {
            for (const std::size_t bytes : options.sizes) {
                all = compare(lines_for(source, targets, bytes, options, bench), bench, options, report) && all;
            }
        }
    }
    return all ? 0 : 3;
}

void add_options(const Command& app, Options& options) {
    app.add_option("--source", options.sources, "place of the buffer: device, host").list().one_of(all_sources);
    app.add_option("--method", options.methods,
                   "ring (from the host: by shares), copies (from a device: the ring, never relayed), "
                   "source (sends to each GPU), nccl (from a device)")
        .list()
        .one_of(all_methods);
    app.add_option("--size", options.sizes, "size of the buffer, e.g. 128MiB,100MB")
        .list()
        .byte_size(Kilo::is_1000)
        .range(std::uint64_t{1}, std::uint64_t{1} << 36);
    app.add_option("--chunk", options.chunks, "chunks of a ring of copies, e.g. 2MiB,4MiB; 0: the runtime chooses")
        .list()
        .byte_size(Kilo::is_1000)
        .range(std::uint64_t{0}, std::uint64_t{1} << 36);
    app.add_option(
           "--targets", options.targets,
           "number of GPUs that get the buffer (default: 1 to all); with more than there are the ring goes round them "
           "again, with a buffer of its own at each place")
        .list()
        .range(1, most_targets);
    app.add_option("--gpus", options.gpus, "number of GPUs to use").range(1, 8);
    app.add_option("--emulated-gpus", options.emulated_gpus, "number of emulated GPUs, in place of real ones")
        .range(1, 8);
    app.add_option("--repeat", options.repeat, "rounds; the table shows their median").range(1, 1000);
    app.add_option("--tuning", options.tuning, "tuning file that describes the links for our ring");
    app.add_option("--json", options.json, "append a record a line to this file; - for standard output");
}

}  // namespace

int main(int argc, char** argv) {
    CommandLine app("One buffer to several GPUs: our ring, the source alone, NCCL", "bench_broadcast");
    Options options;
    add_options(app, options);
    return app.run_program(argc, argv, [&] { return run(options); });
}
