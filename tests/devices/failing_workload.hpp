#pragma once

// A workload whose k-th call of a kind fails, and what must be true afterwards.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "runtime/device/gpus.hpp"
#include "runtime/engine/gpu_data.hpp"
#include "runtime/engine/gpu_memory.hpp"
#include "runtime/engine/host_copies.hpp"
#include "runtime/engine/runtime_access.hpp"
#include "tests/common/catch.hpp"
#include "tests/common/mentions.hpp"
#include "tests/common/watchdog.hpp"
#include "tests/devices/device_tasks.hpp"

namespace basalt_tests {

using namespace basalt;
using namespace std::chrono_literals;

inline constexpr int gpus = 2;

/// Size of the workload: data of n elements, and how often the second graph goes round.
struct Size {
    Index n = 1024;  // arrays of 4096 bytes
    int rounds = 1;
    std::size_t gpu_memory = 12'288;
};
// Each datum is an allocation of its own.
inline constexpr Size large_data{400'000, 1, 0};

enum class What { allocation, copy, kernel };
inline const char* name_of(What what) {
    return what == What::allocation ? "allocation" : what == What::copy ? "copy" : "kernel";
}

/// What is to fail, and on which device.
struct Failing {
    What what;
    std::uint64_t call;
    bool sticky;
    int gpu;

    Emulation emulation() const {
        Emulation emulation;
        emulation.failing_gpu = gpu;
        emulation.failures_are_sticky = sticky;
        emulation.longest_delay = call % 3 == 0 ? 50us : 0us;
        emulation.seed = call;
        emulation.peer_access = call % 4 != 0;
        (what == What::allocation ? emulation.failing_allocation
         : what == What::copy     ? emulation.failing_copy
                                  : emulation.failing_kernel) = call;
        return emulation;
    }
    std::string text() const {
        return std::string(sticky ? "sticky " : "") + name_of(what) + " " + std::to_string(call) + " of gpu " +
               std::to_string(gpu);
    }
};

/// Two graphs on a runtime with little device memory. The first one leaves data on the devices, the second one reads
/// them and writes others.
class Workload {
  public:
    Workload(Runtime& runtime, Size size)
        : runtime_(runtime), n(size.n), rounds_(size.rounds), user_memory_(static_cast<std::size_t>(n), 3) {
        for (int i = 0; i < kept; ++i) kept_.emplace_back(runtime, n, "kept");
        for (int i = 0; i < 4; ++i) written_.emplace_back(runtime, n, "written");
        borrowed_ = Array<int>::wrap(runtime, user_memory_.data(), n, "borrowed");
    }

    void first_graph() {
        for (int i = 0; i < kept; ++i) submit(Place::gpu(i % gpus), kept_[index(i)], borrowed_, i);
        runtime_.submit({.name = "home"}, readwrite(kept_[0]), Add{0});
    }

    void second_graph() {
        for (int i = 0; i < 24 * rounds_; ++i) {
            const Place place = i % 7 == 6 ? Place::cpu() : i % 5 == 4 ? Place::any() : Place::gpu(i % gpus);
            submit(place, written_[index(i % 4)], kept_[index(i % kept)], i);
            if (i == 5) runtime_.broadcast(borrowed_.region());
            if (i == 9) runtime_.prefetch(kept_[2], Place::gpu(1));
            if (i % 8 == 3) fetch_half(i % gpus, kept_[index(i % kept)], written_[index(i % 3)]);
            if (i % 8 == 6) detail::gpu_data(runtime_).leave(*kept_[index(i % kept)].region().datum, i % gpus, {});
        }
    }

    /// The data that the second graph only read.
    void check_kept(const std::optional<std::string>& spared) const {
        for (int i = 0; i < kept; ++i) {
            if (spared && mentions(*spared, "read kept")) continue;
            CAPTURE(i);
            const std::int64_t found = sum(kept_[index(i)]);
            CHECK(found == n * (3 + i));
        }
        if (spared && mentions(*spared, "read borrowed")) return;
        const std::int64_t found = sum(borrowed_);
        CHECK(found == n * 3);
    }

    /// All contents can be written, and read afterwards.
    void touch_everything() {
        for (const Array<int>& x : written_) fill(x);
        for (const Array<int>& x : kept_) fill(x);
        fill(borrowed_);
        CHECK(sum(borrowed_) == n * (n - 1) / 2);
    }

    std::int64_t result() const {
        std::int64_t total = 0;
        for (const Array<int>& x : written_) total += sum(x);
        return total;
    }

  private:
    static constexpr int kept = 4;
    static std::size_t index(int i) { return static_cast<std::size_t>(i); }

    /// x += y + amount
    void submit(Place place, const Array<int>& x, const Array<int>& y, int amount) {
        runtime_.submit(
            {.name = "step", .priority = amount % 2, .tile = {amount}, .place = place}, read(y), readwrite(x),
            [amount](View<const int> y, View<int> x) {
                for (Index i = 0; i < x.size(); ++i) x[i] += y[i] + amount;
            },
            cuda([](Stream) {}));
    }
    void fetch_half(int gpu, const Array<int>& from, const Array<int>& to) {
        detail::host_copies(runtime_).submit_fetch({.name = "fetch"}, read(from.rows(n / 2, n)).record,
                                                   write(to.rows(0, n - n / 2)).record, gpu);
    }
    static std::int64_t sum(const Array<int>& x) {
        const View<int> view = x.host_view();
        return std::accumulate(view.data(), view.data() + view.size(), std::int64_t{0});
    }
    static void fill(const Array<int>& x) {
        const View<int> view = x.host_overwrite();
        for (Index i = 0; i < view.size(); ++i) view[i] = static_cast<int>(i);
    }

    Runtime& runtime_;
    const Index n;
    const int rounds_;
    std::vector<int> user_memory_;
    std::vector<Array<int>> kept_;
    std::vector<Array<int>> written_;
    Array<int> borrowed_;
};

/// The errors of one graph; that a lost device is not used, or data have no contents, are consequences.
struct Errors {
    std::vector<std::string> texts;

    template <class Call>
    void catch_from(Call&& call) {
        try {
            call();
        } catch (const TaskError& error) {
            CHECK_FALSE(error.task().empty());
            CHECK(mentions(error.device(), "gpu "));
            // a submission that was refused has told of the loss; now work that was in flight
            const bool consequence = !texts.empty() && mentions(error.what(), "the device is lost");
            if (!consequence) texts.emplace_back(error.what());
        } catch (const DeviceError& error) {
            const std::string text = error.what();
            const bool consequence = mentions(text, "is lost after") || mentions(text, ", which is lost") ||
                                     mentions(text, "wait() tells why");
            if (!consequence) texts.push_back(text);
        } catch (const DataError& error) {
            CHECK(mentions(error.what(), " has no valid contents: "));
        }
    }
};

inline void check_text(const std::string& text, const Failing& failing) {
    CAPTURE(text);
    const char* call = failing.what == What::allocation ? "allocate" : failing.what == What::copy ? "copy" : "launch";
    CHECK(mentions(text, call));
    CHECK(mentions(text, "gpu " + std::to_string(failing.gpu)));
    CHECK((mentions(text, "task ") || mentions(text, "moving '")));
    CHECK(mentions(text, "call " + std::to_string(failing.call) + " fails"));
}

inline void check_usable(Runtime& runtime, std::optional<int> lost) {
    Array<int> x(runtime, 1000);
    int added = 0;
    for (int gpu = 0; gpu < gpus; ++gpu) {
        const auto submit = [&] { runtime.submit({.place = Place::gpu(gpu)}, readwrite(x), Add{1}, cuda(Add{1})); };
        if (lost == gpu) {
            try {
                submit();
                FAIL("a lost device is used");
            } catch (const DeviceError& error) {
                CHECK(error.device() == gpu);
                CHECK(error.sticky());
                CHECK(mentions(error.what(), "gpu " + std::to_string(gpu) + " is lost after an earlier error"));
            }
        } else {
            submit();
            ++added;
        }
    }
    for (int i = 0; i < 4; ++i, ++added) runtime.submit({}, readwrite(x), Add{1}, cuda(Add{1}));
    runtime.submit({.place = Place::cpu()}, readwrite(x), Add{1});
    if (lost) {  // nothing is moved there, and no error is reported
        runtime.prefetch(x, Place::gpu(*lost));
        runtime.broadcast(x.region());
    }
    runtime.wait();
    CHECK(x.host_view()[999] == added + 1);
    runtime.wait();
}

/// How many calls of the kind the device got.
inline std::uint64_t calls(Runtime& runtime, const Failing& failing) {
    const auto s = statistics(runtime, failing.gpu);
    if (failing.what == What::allocation) return s.allocations;
    return failing.what == What::kernel ? s.kernels : s.copies_from_host + s.copies_to_host + s.copies_to_peers;
}

inline std::int64_t expected_result(Size size) {
    const auto runtime = DeviceSetting{.gpus = gpus}.runtime();
    Workload workload(*runtime, size);
    workload.first_graph();
    workload.second_graph();
    runtime->wait();
    workload.check_kept({});
    return workload.result();
}

/// Runs the workload with the failure. False when the graphs make fewer calls.
inline bool check_failure(const Failing& failing, Size size, std::int64_t expected) {
    const int workers = 1 + static_cast<int>(failing.call % 2);
    CAPTURE(failing.text(), workers, size.n);
    const auto runtime =
        DeviceSetting{.gpus = gpus, .workers = workers, .gpu_memory = size.gpu_memory, .emulation = failing.emulation()}
            .runtime();
    {
        Workload workload(*runtime, size);
        Errors first;
        first.catch_from([&] { workload.first_graph(); });
        first.catch_from([&] { runtime->wait(); });
        Errors second;
        second.catch_from([&] { workload.second_graph(); });
        second.catch_from([&] { runtime->wait(); });
        if (calls(*runtime, failing) < failing.call) return false;
        CHECK(first.texts.size() <= 1);
        CHECK(second.texts.size() <= 1);
        const bool failed = !first.texts.empty() || !second.texts.empty();
        const bool lost = detail::gpus_of(*runtime).device(failing.gpu).lost();
        CHECK(lost == failing.sticky);
        if (!first.texts.empty()) check_text(first.texts[0], failing);
        // what was lost in the first graph is missed by the second one
        if (first.texts.empty() && !second.texts.empty()) check_text(second.texts[0], failing);
        if (first.texts.empty() && !lost) {
            // the contents of a datum whose way home failed are lost if its memory was given to another one
            std::optional<std::string> spared;
            if (failed && mentions(second.texts[0], "to host")) spared = second.texts[0];
            workload.check_kept(spared);
        }
        // other data may be evicted when memory cannot be allocated
        const bool may_do_without = failing.what == What::allocation && failing.call > 1 && !failing.sticky;
        if (!may_do_without) CHECK(failed);
        if (!failed) CHECK(workload.result() == expected);
        Errors none;
        none.catch_from([&] { runtime->wait(); });
        CHECK(none.texts.empty());
        workload.touch_everything();
        runtime->wait();
        check_usable(*runtime, lost ? std::optional(failing.gpu) : std::nullopt);
    }
    for (int gpu = 0; gpu < gpus; ++gpu) CHECK(detail::gpu_memory(*runtime).in_use(gpu) == 0);
    return true;
}

/// The calls numbered `first`, first + step, ... up to `last`, or to the last call there is.
inline void check_calls(std::uint64_t first, std::uint64_t step, std::uint64_t last, int rounds) {
    Watchdog watchdog;
    for (const What what : {What::allocation, What::copy, What::kernel}) {
        const Size size = what == What::allocation ? large_data : Size{.rounds = rounds};
        const std::int64_t expected = expected_result(size);
        for (const bool sticky : {false, true}) {
            for (int gpu = 0; gpu < gpus; ++gpu) {
                for (std::uint64_t call = first; call <= last; call += step) {
                    const Failing failing{what, call, sticky, gpu};
                    watchdog.restart(failing.text());
                    if (!check_failure(failing, size, expected)) break;
                }
            }
        }
    }
}

}  // namespace basalt_tests
