// A kernel that faults. CUDA may fail the other GPUs of the process as well (docs/decisions/0007): what holds for each
// of them is that it either serves or says that it is lost. The CPU cores go on.
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include <cublas_v2.h>
#include <cuda_runtime_api.h>

#include "basalt/array.hpp"
#include "basalt/runtime.hpp"
#include "tests/common/mentions.hpp"
#include "tests/common/real_gpus.hpp"
#include "tests/common/run_alone.hpp"
#include "tests/common/watchdog.hpp"
#include "tests/devices/device_contract.hpp"

using namespace basalt;
using namespace basalt_tests;
using basalt::detail::make_cuda_devices;

namespace {

constexpr const char* fault_case = "a fault inside a kernel";
constexpr const char* awaited_fault_case = "a fault inside a kernel that another GPU waits for";
constexpr const char* task_fault_case = "a fault inside a task's kernel";

Machine gpus() {
    return {make_cuda_devices(4), [](Stream stream, void* memory, int value, std::size_t bytes) {
                cudaMemsetAsync(memory, value, bytes, static_cast<cudaStream_t>(stream.native()));
            }};
}

/// How far the test case has got, whatever ends its process.
void say_step(const std::string& where, const char* step) { std::fprintf(stderr, "%s: %s\n", where.c_str(), step); }
void say_step(const Device& device, const char* step) { say_step(device.name(), step); }

cublasHandle_t blas(Stream stream) { return static_cast<cublasHandle_t>(stream.blas()); }

/// Reads and writes 16 TiB up, where nothing is.
void fault(Stream stream) {
    const double one = 1;
    auto* nowhere = reinterpret_cast<double*>(std::size_t{1} << 44);
    cublasDaxpy(blas(stream), 1000, &one, nowhere, 1, nowhere + 1000, 1);
}

void check_lost(Device& device) {
    CHECK(device.lost());
    CHECK(device.notice_if_lost());
    CHECK_THROWS_AS(device.allocate(1), DeviceError);
    CHECK_THROWS_AS(device.record(StreamRole::compute, Timing::untimed), DeviceError);
    CHECK_THROWS_AS(device.reached(StreamRole::compute, 0), DeviceError);
    device.synchronize();
}

/// The kernel on the device has faulted.
void check_reported(Device& device, Ticket ticket) {
    try {
        await(device, StreamRole::compute, ticket);
        FAIL("the kernel wrote nowhere");
    } catch (const DeviceError& error) {
        CHECK(error.sticky());
        CHECK(error.device() == device.index());
        CHECK(mentions(error.what(), device.name() + ": cuda"));
        CHECK(mentions(error.what(), "(cuda_"));  // the source file
        CHECK(mentions(error.what(), "cudaErrorIllegalAddress"));
    }
    say_step(device, "calls of a lost device");
    check_lost(device);
}

/// Memory that was there, new memory, kernels, copies and host memory of a GPU next to a lost one. Returns whether
/// all values are right; throws DeviceError.
bool serves(const Machine& machine, Device& device, void* old_memory, const HostPages& pages) {
    constexpr std::size_t bytes = 100;
    const auto filled = [&](void* memory, int value) {
        launch_fill(machine, device, StreamRole::compute, memory, value, bytes);
        return contents(device, memory, bytes) == Bytes(bytes, static_cast<std::byte>(value));
    };
    say_step(device, "cudaSetDevice");
    device.attach_thread();
    say_step(device, "kernel and copy");
    const bool old_one = filled(old_memory, 6);
    say_step(device, "cudaMalloc");
    const Buffer fresh(device, bytes);
    say_step(device, "kernel and copy with new memory");
    const bool new_one = filled(fresh.get(), 7);
    say_step(device, "cudaHostRegister");
    device.pin(pages.get(), pages.size());
    device.unpin(pages.get());
    return old_one && new_one;
}

void check_serves_or_is_lost(const Machine& machine, Device& device, void* old_memory, const HostPages& pages) {
    try {
        const bool right = serves(machine, device, old_memory, pages);
        CHECK(right);
        CHECK_FALSE(device.lost());
    } catch (const DeviceError& error) {
        say_step(device, "lost as well");
        CHECK(error.sticky());
        CHECK(error.device() == device.index());
        CHECK(mentions(error.what(), device.name() + ": "));
        check_lost(device);
    }
}

void check_alone(const char* test_case) {
    const Outcome outcome = run_alone(test_case);
    CAPTURE(outcome.ending, outcome.report, outcome.said);
    CHECK(outcome.succeeded());
}

/// Doubles all elements, on a core or on a GPU.
struct Twice {
    void operator()(View<double> x) const {
        for (Index i = 0; i < x.size(); ++i) x[i] *= 2;
    }
    void operator()(Stream stream, View<double> x) const {
        const double two = 2;
        cublasDscal(blas(stream), static_cast<int>(x.size()), &two, x.data(), 1);
    }
};

/// A runtime, a datum that only the host ever writes and that all GPUs read, and a graph with a task that faults.
class FaultyProgram {
  public:
    FaultyProgram() {
        const View<double> kept = kept_.host_view();
        for (Index i = 0; i < n; ++i) kept[i] = static_cast<double>(i);
        for (int gpu = 0; gpu < gpus(); ++gpu) {
            runtime_.submit(
                {.name = "read", .place = Place::gpu(gpu)}, read(kept_), [](View<const double>) {},
                cuda([](Stream, View<const double>) {}));
        }
        runtime_.wait();
    }

    int gpus() const { return runtime_.gpus(); }

    /// One error, of the task and the GPU.
    void check_fault() {
        Array<double> x(runtime_, n);
        say_step("runtime", "the task that faults");
        runtime_.submit(
            {.name = "faults", .tile = {3}, .place = Place::gpu(0)}, write(x), [](View<double>) {},
            cuda([](Stream stream, View<double>) { fault(stream); }));
        try {
            runtime_.wait();
            FAIL("the kernel wrote nowhere");
        } catch (const TaskError& error) {
            CHECK(error.task() == "faults(3)");
            CHECK(error.device() == "gpu 0");
            CHECK(mentions(error.what(), "gpu 0: cuda"));
            CHECK(mentions(error.what(), "cudaErrorIllegalAddress"));
            CHECK_THROWS_AS(std::rethrow_exception(error.cause()), DeviceError);
        }
        CHECK_NOTHROW(runtime_.wait());
    }

    void check_cores() {
        say_step("runtime", "tasks on cores, and wherever they may run");
        Array<double> x(runtime_, n);
        runtime_.submit({.place = Place::cpu()}, read(kept_), write(x), [](View<const double> from, View<double> to) {
            for (Index i = 0; i < to.size(); ++i) to[i] = from[i];
        });
        for (int i = 0; i < 4; ++i) runtime_.submit({}, readwrite(x), Twice{}, cuda(Twice{}));
        runtime_.submit({.place = Place::cpu()}, readwrite(x), Twice{});
        CHECK_NOTHROW(runtime_.wait());
        const View<double> found = x.host_view();
        Index right = 0;
        for (Index i = 0; i < n; ++i) right += found[i] == 32 * static_cast<double>(i) ? 1 : 0;
        CHECK(right == n);
    }

    /// What is placed on a GPU runs, with the right values, or is refused at once and told why.
    void check_gpu(int gpu) {
        const std::string name = "gpu " + std::to_string(gpu);
        say_step(name, "a task");
        Array<double> x(runtime_, 1);
        x.host_view()[0] = 1;
        try {
            runtime_.submit({.name = "late", .place = Place::gpu(gpu)}, readwrite(x), Twice{}, cuda(Twice{}));
            CHECK(gpu != 0);
            CHECK_NOTHROW(runtime_.wait());
            CHECK(x.host_view()[0] == 2);
        } catch (const DeviceError& error) {
            CHECK(error.device() == gpu);
            CHECK(error.sticky());
            CHECK(mentions(error.what(), "task 'late': " + name + " is lost after an earlier error"));
            CHECK(x.host_view()[0] == 1);
        }
    }

  private:
    static constexpr Index n = 1000;
    Runtime runtime_{Config{.workers = 2, .bind = false, .emulation = {}}};
    Array<double> kept_{runtime_, n};
};

}  // namespace

TEST_CASE("a GPU whose kernel faults is lost, and every other one serves or is lost itself", "[cuda]") {
    if (make_cuda_devices(1).empty()) SKIP(no_gpu);
    check_alone(fault_case);
}

TEST_CASE(fault_case, "[.]") {
    const Watchdog watchdog;
    const Machine machine = gpus();
    REQUIRE(machine.size() > 0);
    const HostPages pages(std::size_t{1} << 16);
    std::vector<std::unique_ptr<Buffer>> buffers;
    for (const auto& each : machine.devices) {
        each->attach_thread();
        buffers.push_back(std::make_unique<Buffer>(*each, 100));
    }
    Device& device = machine[0];
    device.attach_thread();
    say_step(device, "the kernel that faults");
    device.launch(StreamRole::compute, fault);
    const Ticket ticket = device.record(StreamRole::compute, Timing::untimed);
    check_reported(device, ticket);
    for (std::size_t i = 1; i < machine.size(); ++i) {
        Device& other = machine[i];
        say_step(other, "waiting for the lost one, and copying to it");
        other.wait_for(StreamRole::compute, device, StreamRole::compute, ticket);
        const Copy copy{buffers[0]->get(), buffers[i]->get(), 100};
        if (other.reaches(device)) CHECK_THROWS_AS(other.copy_to_peer(StreamRole::peer, device, copy), DeviceError);
        check_serves_or_is_lost(machine, other, buffers[i]->get(), pages);
    }
    say_step(device, "cudaFree");
    buffers.clear();
    say_step(device, "destruction");
}

TEST_CASE("a GPU that waits for a kernel that faults serves or is lost itself", "[cuda]") {
    if (make_cuda_devices(2).size() < 2) SKIP("a single GPU");
    check_alone(awaited_fault_case);
}

TEST_CASE(awaited_fault_case, "[.]") {
    const Watchdog watchdog;
    const Machine machine = gpus();
    REQUIRE(machine.size() > 1);
    const HostPages pages(std::size_t{1} << 16);
    Device& device = machine[0];
    Device& other = machine[1];
    other.attach_thread();
    const Buffer buffer(other, 100);
    device.attach_thread();
    device.launch(StreamRole::compute, fault);
    const Ticket ticket = device.record(StreamRole::compute, Timing::untimed);
    say_step(other, "waiting for a kernel that faults");
    other.attach_thread();
    try {
        other.wait_for(StreamRole::compute, device, StreamRole::compute, ticket);
    } catch (const DeviceError& error) {  // the fault was there first
        CHECK(error.device() == other.index());
    }
    check_reported(device, ticket);
    check_serves_or_is_lost(machine, other, buffer.get(), pages);
    say_step(device, "destruction");
}

TEST_CASE("a task that faults loses its GPU, is reported once, and the cores go on", "[cuda]") {
    if (make_cuda_devices(1).empty()) SKIP(no_gpu);
    check_alone(task_fault_case);
}

TEST_CASE(task_fault_case, "[.]") {
    const Watchdog watchdog;
    {
        FaultyProgram program;
        REQUIRE(program.gpus() > 0);
        program.check_fault();
        program.check_cores();
        for (int gpu = 0; gpu < program.gpus(); ++gpu) program.check_gpu(gpu);
        program.check_cores();
        say_step("runtime", "destruction");
    }
    say_step("runtime", "destroyed");
}
