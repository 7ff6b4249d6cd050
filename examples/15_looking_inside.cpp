// Looking inside: statistics by name, hooks at the begin and end of tasks, the program's own spans and counters in a
// trace, and a drawing of the graph. (A program that seems stuck says why with BASALT_WATCHDOG=10 in the environment.)
#include <basalt/basalt.hpp>

#include <atomic>
#include <cstdio>
#include <exception>
#include <memory>

using basalt::Index;
using basalt::View;

namespace {

/// Counts the tasks that run at the same time. Several threads call the hooks.
class MostAtOnce : public basalt::TaskHooks {
  public:
    void task_started(const basalt::TaskInfo&) override {
        const int now = ++running_;
        for (int seen = most; seen < now && !most.compare_exchange_weak(seen, now);) {
        }
    }
    void task_ended(const basalt::TaskInfo&) override { --running_; }

    std::atomic<int> most{0};

  private:
    std::atomic<int> running_{0};
};

void submit_rounds(basalt::Runtime& rt, const basalt::Array<double>& x, const basalt::Array<double>& sum, int rounds) {
    const Index half = x.size() / 2;
    for (int step = 0; step < rounds; ++step) {
        for (int part = 0; part < 2; ++part) {
            rt.submit({.name = "grow", .tile = {part}, .step = step}, readwrite(x.rows(part * half, (part + 1) * half)),
                      [](View<double> x) {
                          for (Index i = 0; i < x.size(); ++i) x[i] += 1;
                      });
        }
        rt.submit({.name = "sum", .step = step}, read(x), write(sum), [](View<const double> x, View<double> sum) {
            const basalt::Span span("adding up");  // a bar inside the task's own
            sum[0] = 0;
            for (Index i = 0; i < x.size(); ++i) sum[0] += x[i];
            basalt::counter("sum", sum[0]);  // a curve over time
        });
    }
}

}  // namespace

int main() try {
    constexpr int rounds = 5, size = 100'000;
    const auto hooks = std::make_shared<MostAtOnce>();
    basalt::Config config = basalt::Config::from_environment();
    config.statistics = config.trace = true;
    config.hooks = hooks;
    config.drawing = {.count = 6};  // two rounds
    basalt::Runtime rt(config);
    basalt::Array<double> x(rt, size, "x"), sum(rt, 1, "sum");

    submit_rounds(rt, x, sum, rounds);
    rt.wait();

    bool right = sum.host_view()[0] == static_cast<double>(rounds * size);
    for (const basalt::TaskStatistics& tasks : rt.statistics().by_name) {
        std::printf("%-5s %3d tasks, mean %6.1f us, longest %6.1f us\n", tasks.name.c_str(),
                    static_cast<int>(tasks.count), 1e6 * tasks.mean_seconds(), 1e6 * tasks.max_seconds);
        right = right && tasks.count == (tasks.name == "grow" ? 2 * rounds : rounds);
    }
    const basalt::Trace trace = rt.take_trace();
    std::printf("up to %d tasks at once, %zu spans, %zu values of counters\n", hooks->most.load(), trace.spans.size(),
                trace.counters.size());
    std::printf("the first tasks for Graphviz (dot -Tsvg):\n%s", rt.drawing().c_str());
    return right && trace.spans.size() == rounds && trace.counters.size() == rounds ? 0 : 1;
} catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
}
