// GPUs by CUDA: what every device promises, and what only these do.
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include <cublas_v2.h>
#include <cuda_runtime_api.h>

#include "tests/broadcast_checks.hpp"
#include "tests/device_contract.hpp"
#include "tests/mentions.hpp"
#include "tests/watchdog.hpp"

using namespace basalt;
using namespace basalt_tests;
using namespace std::chrono_literals;
using basalt::detail::make_cuda_devices;

namespace {

constexpr auto clock_accuracy = 100us;
constexpr const char* no_gpu = "no GPU";

cudaStream_t native(Stream stream) {
    return static_cast<cudaStream_t>(stream.native());
}
cublasHandle_t blas(Stream stream) {
    return static_cast<cublasHandle_t>(stream.context()->blas);
}

Machine gpus() {
    return {make_cuda_devices(4), [](Stream stream, void* memory, int value, std::size_t bytes) {
                cudaMemsetAsync(memory, value, bytes, native(stream));
            }};
}

/// A file for what a child process says, gone at the end.
class Log {
  public:
    explicit Log(const char* kind) : name_("/tmp/test_devices_cuda." + std::to_string(getpid()) + "." + kind) {}
    ~Log() { unlink(name_.c_str()); }
    Log(const Log&) = delete;
    Log& operator=(const Log&) = delete;

    void take_over(int stream) const {
        if (dup2(open(name_.c_str(), O_CREAT | O_TRUNC | O_WRONLY, 0600), stream) < 0) _exit(2);
    }
    std::string contents() const {
        std::ifstream file(name_);
        return {std::istreambuf_iterator<char>(file), {}};
    }

  private:
    const std::string name_;
};

/// How a hidden test case of this program, run in a process of its own, ended and what it said.
struct Outcome {
    std::string ending;  ///< "exit status 0", "signal 6 (Aborted)"
    std::string report;  ///< Catch2's, on standard output
    std::string said;    ///< on standard error
    bool succeeded() const { return ending == "exit status 0"; }
};
Outcome run_alone(const char* test_case, const char* visible_devices) {
    const Log report("report");
    const Log said("said");
    const pid_t child = fork();
    if (child == 0) {
        if (visible_devices != nullptr) setenv("CUDA_VISIBLE_DEVICES", visible_devices, 1);
        report.take_over(STDOUT_FILENO);
        said.take_over(STDERR_FILENO);
        execl("/proc/self/exe", "test_devices_cuda", test_case, static_cast<char*>(nullptr));
        _exit(3);
    }
    int status = -1;
    std::string ending;
    if (waitpid(child, &status, 0) != child) {
        ending = std::string("waitpid: ") + std::strerror(errno);
    } else if (WIFEXITED(status)) {
        ending = "exit status " + std::to_string(WEXITSTATUS(status));
    } else {
        ending = "signal " + std::to_string(WTERMSIG(status)) + " (" + strsignal(WTERMSIG(status)) + ")";
    }
    return {ending, report.contents(), said.contents()};
}

constexpr const char* blind_case = "in a process that may see no GPU there are no devices";
constexpr const char* awaited_fault_case = "whoever waits for a kernel that faults goes on";
constexpr const char* fault_case = "a fault inside a kernel loses its device and no other";

/// Says on standard error how far the fault case has got, whatever ends its process.
void say_step(const Device& device, const char* step) {
    std::fprintf(stderr, "%s: %s\n", device.name().c_str(), step);
}

/// Reads and writes 16 TiB up, where nothing is.
void launch_fault(Device& device) {
    device.launch(StreamRole::compute, [](Stream stream) {
        const double one = 1;
        auto* nowhere = reinterpret_cast<double*>(std::size_t{1} << 44);
        cublasDaxpy(blas(stream), 1000, &one, nowhere, 1, nowhere + 1000, 1);
    });
}

/// Memory that was there, new memory, kernels, copies and host memory of a GPU beside one that is lost.
void check_serves(const Machine& machine, Device& device, void* old_memory, const HostPages& pages) {
    constexpr std::size_t bytes = 100;
    const auto filled = [&](void* memory, int value) {
        launch_fill(machine, device, StreamRole::compute, memory, value, bytes);
        return contents(device, memory, bytes) == Bytes(bytes, static_cast<std::byte>(value));
    };
    say_step(device, "cudaSetDevice");
    device.attach_thread();
    CHECK_FALSE(device.lost());
    say_step(device, "kernel and copy");
    CHECK(filled(old_memory, 6));
    say_step(device, "cudaMalloc");
    const Buffer healthy(device, bytes);
    say_step(device, "kernel and copy with new memory");
    CHECK(filled(healthy.get(), 7));
    say_step(device, "cudaHostRegister");
    device.pin(pages.get(), pages.size());
    device.unpin(pages.get());
    say_step(device, "cudaFree");
}

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

TEST_CASE("copies of GPUs move the pieces they name and nothing else", "[cuda]") {
    const Machine machine = gpus();
    if (machine.size() == 0) SKIP(no_gpu);
    check_copies(machine);
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
    const Machine machine = gpus();
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
            }
        }
    }
}

TEST_CASE("a GPU says what it is, and its urgent stream has priority", "[cuda]") {
    const Machine machine = gpus();
    if (machine.size() == 0) SKIP(no_gpu);
    for (std::size_t i = 0; i < machine.size(); ++i) {
        CHECK(machine[i].name() == "gpu " + std::to_string(i));
        CHECK(machine[i].index() == static_cast<int>(i));
        CHECK_FALSE(machine[i].model().empty());
        CHECK_FALSE(machine[i].emulated());
        CHECK_FALSE(machine[i].reaches(machine[i]));
        std::array<int, 2> priorities{};
        const auto note = [&](int& priority) {
            return [&priority](Stream stream) { cudaStreamGetPriority(native(stream), &priority); };
        };
        machine[i].launch(StreamRole::compute, note(priorities[0]));
        machine[i].launch(StreamRole::urgent_compute, note(priorities[1]));
        CHECK(priorities[1] < priorities[0]);  // CUDA's greatest priority is the lowest number
    }
}

TEST_CASE("at most so many GPUs as asked for are made", "[cuda]") {
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
            const Ticket arrived = device->record(StreamRole::from_host, false);
            device->wait_for(role, *device, StreamRole::from_host, arrived);
            device->launch(role, [&](Stream stream) {
                const double alpha = 2, beta = 0;
                const auto* A = reinterpret_cast<const double*>(a.get());
                cublasDgemm(blas(stream), CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &alpha, A, n, A, n, &beta,
                            reinterpret_cast<double*>(c.get()), n);
            });
            const Ticket computed = device->record(role, false);
            device->wait_for(StreamRole::to_host, *device, role, computed);
            device->copy(StreamRole::to_host, {.to = ones.data(), .from = c.get(), .row_bytes = bytes});
            await(*device, StreamRole::to_host, device->record(StreamRole::to_host, false));
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
        const Ticket ticket = device.record(StreamRole::compute, true);
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

TEST_CASE(blind_case, "[.]") {
    CHECK(make_cuda_devices(8).empty());
}

TEST_CASE("a GPU whose kernel faults is lost, the others are not", "[cuda]") {
    if (make_cuda_devices(1).empty()) SKIP(no_gpu);
    const Outcome outcome = run_alone(fault_case, nullptr);
    CAPTURE(outcome.ending, outcome.report, outcome.said);
    CHECK(outcome.succeeded());
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
    launch_fault(device);
    const Ticket ticket = device.record(StreamRole::compute, false);
    try {
        await(device, StreamRole::compute, ticket);
        FAIL("the kernel wrote nowhere");
    } catch (const DeviceError& error) {
        CHECK(error.sticky());
        CHECK(mentions(error.what(), "cudaErrorIllegalAddress"));
    }
    say_step(device, "calls of a lost device");
    CHECK(device.lost());
    CHECK_THROWS_AS(device.allocate(1), DeviceError);
    CHECK_THROWS_AS(device.record(StreamRole::compute, false), DeviceError);
    CHECK_THROWS_AS(device.reached(StreamRole::compute, 0), DeviceError);
    device.synchronize();
    for (std::size_t i = 1; i < machine.size(); ++i) {
        Device& other = machine[i];
        say_step(other, "waiting for the lost one, and copying to it");
        other.wait_for(StreamRole::compute, device, StreamRole::compute, ticket);
        const Copy copy{buffers[0]->get(), buffers[i]->get(), 100};
        if (other.reaches(device)) CHECK_THROWS_AS(other.copy_to_peer(StreamRole::peer, device, copy), DeviceError);
        check_serves(machine, other, buffers[i]->get(), pages);
    }
    say_step(device, "cudaFree");
    buffers.clear();
    say_step(device, "destruction");
}

TEST_CASE("a GPU whose kernel faults while another one waits for it is lost alone", "[cuda]") {
    if (make_cuda_devices(2).size() < 2) SKIP("a single GPU");
    const Outcome outcome = run_alone(awaited_fault_case, nullptr);
    CAPTURE(outcome.ending, outcome.report, outcome.said);
    CHECK(outcome.succeeded());
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
    launch_fault(device);
    const Ticket ticket = device.record(StreamRole::compute, false);
    say_step(other, "waiting for a kernel that faults");
    other.attach_thread();
    other.wait_for(StreamRole::compute, device, StreamRole::compute, ticket);
    CHECK_THROWS_AS(await(device, StreamRole::compute, ticket), DeviceError);
    CHECK(device.lost());
    check_serves(machine, other, buffer.get(), pages);
    say_step(device, "destruction");
}
