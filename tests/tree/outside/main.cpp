// A user's program: it knows the installed headers and library alone.
// usage: main VERSION; exits 0 if the headers are of that version and the library works.

#include <basalt/basalt.hpp>

#include <cstdio>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

namespace {

bool headers_are(const char* expected) {
    if (std::strcmp(basalt::version, expected) == 0) return true;
    std::printf("basalt/version.hpp says %s, the project is %s\n", basalt::version, expected);
    return false;
}

bool views_address_columns() {
    double a[] = {1, 2, 3, 4, 5, 6};
    const auto A = basalt::View<double>::column_major(a, 3, 2, 3);
    return A(2, 1) == 6 && A.block(1, 1, 2, 1)(0, 0) == 5;
}

/// A graph of two tasks through the installed library: y = 2 x, where x is written by the first.
bool tasks_run_in_order() {
    using namespace basalt;
    Runtime runtime;
    Array<double> x(runtime, 100), y(runtime, 100);
    runtime.submit({.name = "fill"}, write(x), [](View<double> values) {
        for (Index i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i);
    });
    runtime.submit({.name = "double"}, read(x), write(y), [](View<const double> from, View<double> to) {
        for (Index i = 0; i < to.size(); ++i) to[i] = 2 * from[i];
    });
    runtime.wait();
    return y.host_view()[99] == 198;
}

/// The last place, and the task that became ready last.
class LastPlace final : public basalt::Policy {
  public:
    std::size_t choose(const basalt::TaskToPlace& task) override { return task.offers.size() - 1; }
};
class Newest final : public basalt::Scheduler {
  public:
    void push(std::optional<int>, std::span<const basalt::ReadyTask> tasks) override {
        const std::lock_guard guard(lock_);
        tasks_.insert(tasks_.end(), tasks.begin(), tasks.end());
    }
    std::optional<basalt::ReadyTask> pop(int) override {
        const std::lock_guard guard(lock_);
        if (tasks_.empty()) return std::nullopt;
        const basalt::ReadyTask newest = tasks_.back();
        tasks_.pop_back();
        return newest;
    }

  private:
    std::mutex lock_;
    std::vector<basalt::ReadyTask> tasks_;
};

/// Policies of the program's own, by name: a task with both kernels goes to the second emulated GPU.
bool policies_are_used() {
    using namespace basalt;
    register_policy("last", [] { return std::make_unique<LastPlace>(); });
    register_scheduler("newest", [](const SchedulerPlaces&) { return std::make_unique<Newest>(); });
    Config config;
    config.policy = "last";
    config.scheduler = "newest";
    config.emulation.gpus = 2;
    config.statistics = true;
    Runtime runtime(config);
    Array<int> x(runtime, 10);
    for (int i = 0; i < 5; ++i) {
        runtime.submit(
            {.name = "both"}, readwrite(x), [](View<int> v) { ++v[0]; }, cuda([](Stream, View<int>) {}));
        runtime.submit({.name = "core"}, readwrite(x), [](View<int> v) { v[0] *= 2; });
    }
    const bool right = x.host_view()[0] == 62;
    const auto by_name = runtime.statistics().by_name;
    return right && by_name.size() == 2 && by_name[0].name == "both" && by_name[0].gpus.at(1).count == 5 &&
           by_name[1].cores.count == 5;
}

/// The one-line solve on arrays of the user's own: 2 x + y = 5, x + 3 y = 10.
template <class T>
bool solve_solves() {
    basalt::Runtime runtime;
    T a[] = {2, 1, 1, 3}, b[] = {5, 10};
    basalt::Index pivots[2] = {};
    const basalt::Index info = basalt::solve<T>(runtime, 2, 1, a, 2, pivots, b, 2);
    return info == 0 && pivots[0] == 1 && pivots[1] == 2 && b[0] == 1 && b[1] == 3;
}

/// Exceptions are caught by type across the border of the shared library.
bool errors_arrive() {
    basalt::Runtime runtime;
    runtime.submit({.name = "thrower"}, [] { throw 7; });
    try {
        runtime.wait();
    } catch (const basalt::TaskError& error) {
        return error.task() == "thrower";
    }
    return false;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 2) return 2;
    const bool works = headers_are(argv[1]) && views_address_columns() && tasks_run_in_order() && policies_are_used() &&
                       solve_solves<float>() && solve_solves<double>() && errors_arrive();
    return works ? 0 : 1;
}
