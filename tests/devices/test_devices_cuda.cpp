// GPUs by CUDA: what every device promises, and what only these do.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <cublas_v2.h>
#include <cuda_runtime_api.h>

#include "basalt/array2d.hpp"
#include "basalt/runtime.hpp"
#include "runtime/device/cuda_timer.hpp"
#include "tests/common/mentions.hpp"
#include "tests/common/real_gpus.hpp"
#include "tests/common/run_alone.hpp"
#include "tests/common/watchdog.hpp"
#include "tests/devices/broadcast_checks.hpp"
#include "tests/devices/device_contract.hpp"

using namespace basalt;
using namespace basalt_tests;
using namespace std::chrono_literals;
using basalt::detail::make_cuda_devices;

namespace {

constexpr auto clock_accuracy = 100us;

cudaStream_t native(Stream stream) { return static_cast<cudaStream_t>(stream.native()); }
cublasHandle_t blas(Stream stream) { return static_cast<cublasHandle_t>(stream.blas()); }

Machine gpus(const TuningTables& tables = TuningTables::built_in()) {
    return {make_cuda_devices(4, tables),
            [](Stream stream, void* memory, int value, std::size_t bytes) {
                cudaMemsetAsync(memory, value, bytes, native(stream));
            },
            [](Stream stream, const std::atomic<bool>* open) {
                const auto wait = [](void* gate) { static_cast<const std::atomic<bool>*>(gate)->wait(false); };
                cudaLaunchHostFunc(native(stream), wait, const_cast<std::atomic<bool>*>(open));
            }};
}

constexpr const char* blind_case = "in a process that may see no GPU there are no devices";

}  // namespace

TEST_CASE("work on a GPU's stream runs in order", "[cuda]") {
    const Machine machine = gpus();
    if (machine.size() == 0) SKIP(no_gpu);
    check_order_in_a_stream(machine);
}

TEST_CASE("streams of a GPU wait for tickets of each other", "[cuda]") {
    const Machine machine = gpus();
    if (machine.size() == 0) SKIP(no_gpu);
    check_waits_between_streams(machine);
}

TEST_CASE("streams of a GPU wait for tickets of other GPUs", "[cuda]") {
    const Machine machine = gpus();
    if (machine.size() == 0) SKIP(no_gpu);
    check_waits_between_devices(machine);
}

TEST_CASE("copies of GPUs move the elements they name and nothing else", "[cuda]") {
    const Machine machine = gpus();
    if (machine.size() == 0) SKIP(no_gpu);
    check_copies(machine);
}

TEST_CASE("small copies of host memory that is not pinned do not block the caller", "[cuda]") {
    const Machine machine = gpus();
    if (machine.size() == 0) SKIP(no_gpu);
    const Watchdog watchdog;
    constexpr std::size_t bytes = 4096;
    for (const auto& device : machine.devices) {
        device->attach_thread();
        const Buffer buffer(*device, bytes);
        Bytes there(bytes, std::byte{7}), back(bytes);
        StreamGate gate(machine, *device, StreamRole::compute);
        device->wait_for(StreamRole::from_host, *device, StreamRole::compute,
                         device->record(StreamRole::compute, Timing::untimed));
        device->copy(StreamRole::from_host, {.to = buffer.get(), .from = there.data(), .row_bytes = bytes});
        const Ticket arrived = device->record(StreamRole::from_host, Timing::untimed);
        device->wait_for(StreamRole::to_host, *device, StreamRole::from_host, arrived);
        // rows of 16 bytes go 32 apart
        device->copy(StreamRole::to_host, {back.data(), buffer.get(), 16, bytes / 32, 32, 16});
        const Ticket returned = device->record(StreamRole::to_host, Timing::untimed);
        CHECK_FALSE(device->reached(StreamRole::to_host, returned));
        there.assign(bytes, std::byte{9});  // read when the copy runs, not when it is enqueued
        gate.open();
        await(*device, StreamRole::to_host, returned);
        for (std::size_t i = 0; i < bytes; ++i) REQUIRE(back[i] == (i % 32 < 16 ? std::byte{9} : std::byte{0}));
    }
}

TEST_CASE("relays bring everything to all GPUs, in whatever directions they run", "[cuda]") {
    const Watchdog watchdog;
    const Machine machine = gpus(relaying_tables());
    if (machine.size() == 0) SKIP(no_gpu);
    check_relays(machine);
}

TEST_CASE("a GPU is idle when it has nothing to compute", "[cuda]") {
    const Machine machine = gpus();
    if (machine.size() == 0) SKIP(no_gpu);
    check_idleness(machine);
}

TEST_CASE("tickets of a GPU are reached in order and stay reached", "[cuda]") {
    const Machine machine = gpus();
    if (machine.size() == 0) SKIP(no_gpu);
    check_tickets(machine);
}

TEST_CASE("timed tickets of a GPU have times in order, on the host's clock", "[cuda]") {
    const Machine machine = gpus();
    if (machine.size() == 0) SKIP(no_gpu);
    check_times(machine, clock_accuracy);
}

TEST_CASE("a GPU's memory is aligned, counted and limited", "[cuda]") {
    const Machine machine = gpus();
    if (machine.size() == 0) SKIP(no_gpu);
    check_memory(machine);
}

TEST_CASE("host memory may be pinned for GPUs more than once", "[cuda]") {
    const Machine machine = gpus();
    if (machine.size() == 0) SKIP(no_gpu);
    check_pinning(machine);
}

TEST_CASE("any thread may allocate, release, pin and look at a GPU", "[cuda]") {
    const Machine machine = gpus();
    if (machine.size() == 0) SKIP(no_gpu);
    check_foreign_threads(machine);
}

TEST_CASE("GPUs that wait for each other may be destroyed in any order", "[cuda]") {
    const Watchdog watchdog;
    Machine machine = gpus();
    if (machine.size() == 0) SKIP(no_gpu);
    check_destruction(std::move(machine));
}

TEST_CASE("a broadcast brings everything to every GPU", "[cuda]") {
    const bool relays = GENERATE(false, true);
    CAPTURE(relays);
    const Machine machine = relays ? gpus(relaying_tables()) : gpus();
    if (machine.size() == 0) SKIP(no_gpu);
    const Watchdog watchdog;
    for (int source = -1; source < 1; ++source) {
        const std::size_t most = machine.size() - (source < 0 ? 0 : 1);
        for (std::size_t targets = 1; targets <= most; ++targets) {
            for (const std::size_t bytes :
                 {std::size_t{0}, std::size_t{1}, std::size_t{1000001}, std::size_t{40000000}}) {
                check_broadcast(machine, {source, targets, bytes, 0});
                check_broadcast(machine, {source, targets, bytes, 300000});
                check_broadcast(machine, {source, targets, bytes, 0, true});
                const bool relayed = relays && source == 0 && targets > 1 && bytes == 40000000;
                check_broadcast(machine, {source, targets, bytes, 0, false, true, relayed});
            }
        }
    }
}

TEST_CASE("a traced broadcast tells what each GPU's streams did and when", "[cuda]") {
    const bool relays = GENERATE(false, true);
    CAPTURE(relays);
    const Machine machine = relays ? gpus(relaying_tables()) : gpus();
    if (machine.size() == 0) SKIP(no_gpu);
    const Watchdog watchdog;
    constexpr std::size_t bytes = 40000000;
    check_spans(machine, {-1, machine.size(), bytes, 300000}, clock_accuracy);
    const std::size_t others = machine.size() - 1;
    if (others == 0) return;
    check_spans(machine, {0, others, bytes, 300000}, clock_accuracy);
    check_spans(machine, {0, others, bytes, 0, true}, clock_accuracy);
    const bool relayed = relays && others > 1;
    if (relayed) check_spans(machine, {0, others, bytes, 0, false, true, relayed}, clock_accuracy);
}

TEST_CASE("blocks of a wrapped array are packed on GPUs, and come back between what lies around them", "[cuda]") {
    const int gpus_used = std::min(gpus_here(), 2);
    if (gpus_used == 0) SKIP(no_gpu);
    const Watchdog watchdog;
    Config config;
    config.workers = 2;
    config.gpus = gpus_used;
    Runtime runtime(config);
    // up to a megabyte a block is staged if the memory is not pinned; larger ones are copied by CUDA alone
    const Index rows = GENERATE(Index{60}, Index{3000}), cols = 400, ld = rows + 7;
    CAPTURE(rows);
    std::vector<double> memory(static_cast<std::size_t>(ld * cols));
    const auto value = [&](Index i, Index j) { return static_cast<double>(i < rows ? i + 2 * j : -1); };
    for (Index j = 0; j < cols; ++j) {
        for (Index i = 0; i < ld; ++i) memory[static_cast<std::size_t>(i + j * ld)] = value(i, j);
    }
    const auto array = wrap2d(runtime, memory.data(), rows, cols, ld);
    const Partition<double> blocks = array.split(2, 2), strips = array.split(3, 1);
    const auto scale_on = [&](int gpu, const Block<double>& block) {
        runtime.submit({.name = "scale", .place = Place::gpu(gpu)}, readwrite(block),
                       cuda([rows = block.rows()](Stream stream, View<double> x) {
                           const double two = 2;
                           if (x.col_stride() != rows) throw std::runtime_error("the block is not packed");
                           cublasDscal(blas(stream), static_cast<int>(x.size()), &two, x.data(), 1);
                       }));
    };
    for (Index k = 0; k < blocks.size(); ++k) scale_on(static_cast<int>(k) % gpus_used, blocks[k]);
    for (Index k = 0; k < strips.size(); ++k) scale_on(static_cast<int>(k) % gpus_used, strips[k]);
    runtime.broadcast(blocks(1, 1).region());
    scale_on(gpus_used - 1, blocks(1, 1));
    runtime.wait();
    for (Index j = 0; j < cols; ++j) {
        for (Index i = 0; i < ld; ++i) {
            const Block<double>& last = blocks(1, 1);
            const double factor = i >= rows ? 1 : i >= last.row() && j >= last.col() ? 8 : 4;
            REQUIRE(memory[static_cast<std::size_t>(i + j * ld)] == factor * value(i, j));
        }
    }
}

TEST_CASE("a GPU describes itself, and its urgent stream has priority", "[cuda]") {
    const Machine machine = gpus();
    if (machine.size() == 0) SKIP(no_gpu);
    for (std::size_t i = 0; i < machine.size(); ++i) {
        CHECK(machine[i].name() == "gpu " + std::to_string(i));
        CHECK(machine[i].index() == static_cast<int>(i));
        CHECK_FALSE(machine[i].model().empty());
        CHECK_FALSE(machine[i].emulated());
        CHECK_FALSE(machine[i].reaches(machine[i]));
        int multiprocessors = 0;
        cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, static_cast<int>(i));
        CHECK(multiprocessors > 0);
        CHECK(machine[i].multiprocessors() == multiprocessors);
        machine[i].launch(StreamRole::compute,
                          [&](Stream stream) { CHECK(stream.context()->multiprocessors == multiprocessors); });
        std::array<int, 2> priorities{};
        const auto note = [&](int& priority) {
            return [&priority](Stream stream) { cudaStreamGetPriority(native(stream), &priority); };
        };
        machine[i].launch(StreamRole::compute, note(priorities[0]));
        machine[i].launch(StreamRole::urgent_compute, note(priorities[1]));
        CHECK(priorities[1] < priorities[0]);  // CUDA's greatest priority is the lowest number
    }
}

TEST_CASE("no more GPUs than requested are opened", "[cuda]") {
    CHECK(make_cuda_devices(0).empty());
    CHECK(make_cuda_devices(1).size() <= 1);
}

TEST_CASE("the compute streams carry cuBLAS handles", "[cuda]") {
    const Machine machine = gpus();
    if (machine.size() == 0) SKIP(no_gpu);
    constexpr int n = 33;
    constexpr std::size_t bytes = n * n * sizeof(double);
    for (const auto& device : machine.devices) {
        device->attach_thread();
        for (const StreamRole role : {StreamRole::compute, StreamRole::urgent_compute}) {
            std::vector<double> ones(n * n, 1.0);
            const Buffer a(*device, bytes), c(*device, bytes);
            device->copy(StreamRole::from_host, {.to = a.get(), .from = ones.data(), .row_bytes = bytes});
            const Ticket arrived = device->record(StreamRole::from_host, Timing::untimed);
            device->wait_for(role, *device, StreamRole::from_host, arrived);
            device->launch(role, [&](Stream stream) {
                const double alpha = 2, beta = 0;
                const auto* A = reinterpret_cast<const double*>(a.get());
                cublasDgemm(blas(stream), CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &alpha, A, n, A, n, &beta,
                            reinterpret_cast<double*>(c.get()), n);
            });
            const Ticket computed = device->record(role, Timing::untimed);
            device->wait_for(StreamRole::to_host, *device, role, computed);
            device->copy(StreamRole::to_host, {.to = ones.data(), .from = c.get(), .row_bytes = bytes});
            await(*device, StreamRole::to_host, device->record(StreamRole::to_host, Timing::untimed));
            for (const double x : ones) REQUIRE(x == 2.0 * n);
        }
    }
}

TEST_CASE("a refused call names itself, its place and the GPU, and the GPU goes on", "[cuda]") {
    const Machine machine = gpus();
    if (machine.size() == 0) SKIP(no_gpu);
    Device& device = machine[machine.size() - 1];
    device.attach_thread();
    const Buffer buffer(device, 64);
    try {
        device.copy_within(StreamRole::compute, {buffer.get(), buffer.get() + 32, 8, 2, 4, 8});
        FAIL("a pitch shorter than the row");
    } catch (const DeviceError& error) {
        CHECK(mentions(error.what(), device.name()));
        CHECK(mentions(error.what(), "cudaMemcpyAsync within the device (cuda_device.cpp:"));
        CHECK(mentions(error.what(), "cudaErrorInvalid"));
        CHECK(error.device() == device.index());
        CHECK_FALSE(error.sticky());
    }
    CHECK_FALSE(device.lost());
    CHECK_NOTHROW(launch_fill(machine, device, StreamRole::compute, buffer.get(), 3, 64));
    CHECK(contents(device, buffer.get(), 64) == Bytes(64, std::byte{3}));
}

TEST_CASE("a reading of a GPU's timer has its time on the host's clock, when the clock is renewed too", "[cuda]") {
    const auto devices = make_cuda_devices(1);
    if (devices.empty()) SKIP(no_gpu);
    Device& device = *devices.front();
    device.attach_thread();
    std::int64_t* reading = nullptr;
    REQUIRE(cudaHostAlloc(reinterpret_cast<void**>(&reading), sizeof *reading, cudaHostAllocDefault) == cudaSuccess);
    const auto now = [] {
        return std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count();
    };
    constexpr std::int64_t slack = std::chrono::nanoseconds(clock_accuracy).count();
    for (int i = 0; i < 12; ++i) {
        const std::int64_t before = now();
        REQUIRE(basalt::detail::enqueue_timer_reading(reading, nullptr) == cudaSuccess);
        REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
        const std::int64_t after = now();
        const std::int64_t time = device.host_time_of(*reading);
        CHECK(time >= before - slack);
        CHECK(time <= after + slack);
        std::this_thread::sleep_for(std::chrono::milliseconds(250));
    }
    cudaFreeHost(reading);
}

TEST_CASE("times go on in order when the clock is renewed", "[cuda]") {
    const Machine machine = gpus();
    if (machine.size() == 0) SKIP(no_gpu);
    const auto now = [] { return std::chrono::steady_clock::now().time_since_epoch(); };
    Device& device = machine[0];
    device.attach_thread();
    std::int64_t last = 0;
    const auto end = now() + 2500ms;  // two renewals
    while (now() < end) {
        const std::chrono::nanoseconds before = now();
        const Ticket ticket = device.record(StreamRole::compute, Timing::timed);
        await(device, StreamRole::compute, ticket);
        const std::chrono::nanoseconds after = now();
        const std::int64_t time = device.time_of(StreamRole::compute, ticket);
        REQUIRE(time >= last);
        REQUIRE(time >= (before - clock_accuracy).count());
        REQUIRE(time <= (after + clock_accuracy).count());
        last = time;
        std::this_thread::sleep_for(1ms);
    }
}

TEST_CASE("without a visible GPU there are no devices and not a word", "[cuda]") {
    const Outcome outcome = run_alone(blind_case, "");
    CAPTURE(outcome.ending, outcome.report);
    CHECK(outcome.succeeded());
    CHECK(outcome.said.empty());
}

TEST_CASE(blind_case, "[.]") { CHECK(make_cuda_devices(8).empty()); }
