// Reading a trace: what ran where and when, how busy the threads were, and which chain of tasks took longest. That
// chain bounds the time on any number of cores. (./run basalt trace FILE reads the files that --trace FILE writes.)
#include <basalt/basalt.hpp>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <unordered_map>
#include <vector>

using basalt::Index;
using basalt::TraceEvent;
using basalt::View;

namespace {

/// Some work for the trace: eight arrays are stirred, then each is folded into the first.
constexpr int arrays = 8, rounds = 4;

void submit_work(basalt::Runtime& rt, const std::vector<basalt::Array<double>>& x) {
    for (int step = 0; step < rounds; ++step) {
        for (int i = 0; i < arrays; ++i) {
            rt.submit({.name = "stir", .tile = {i, -1, -1}, .step = step}, readwrite(x[i]), [](View<double> x) {
                for (Index j = 1; j < x.size(); ++j) x[j] = 0.5 * (x[j] + x[j - 1]) + 1;
            });
        }
        for (int i = 1; i < arrays; ++i) {
            rt.submit({.name = "fold", .tile = {i, -1, -1}, .step = step}, readwrite(x[0]), read(x[i]),
                      [](View<double> sum, View<const double> x) {
                          for (Index j = 0; j < sum.size(); ++j) sum[j] += x[j];
                      });
        }
    }
}

/// The longest chain of tasks that wait for each other. `events` by begin: a task's predecessors come before it.
double longest_chain_ms(const std::vector<TraceEvent>& events) {
    std::unordered_map<std::uint64_t, std::int64_t> chain;  // by task: the longest one that ends with it, in ns
    std::int64_t longest = 0;
    for (const TraceEvent& event : events) {
        std::int64_t before = 0;
        for (const std::uint64_t id : event.after) before = std::max(before, chain[id]);
        longest = std::max(longest, chain[event.id] = before + event.end_ns - event.begin_ns);
    }
    return static_cast<double>(longest) * 1e-6;
}

}  // namespace

int main() try {
    basalt::Runtime rt;
    std::vector<basalt::Array<double>> x;
    for (int i = 0; i < arrays; ++i) x.emplace_back(rt, 100'000);

    rt.start_trace();
    submit_work(rt, x);
    rt.wait();
    basalt::Trace trace = rt.take_trace();

    auto& events = trace.events;
    std::sort(events.begin(), events.end(), [](auto& a, auto& b) { return a.begin_ns < b.begin_ns; });
    std::int64_t end = 0, busy = 0;
    std::vector<std::int64_t> row_end(trace.rows.size(), 0);
    bool right = events.size() == rounds * (2 * arrays - 1);
    for (const TraceEvent& event : events) {
        right = right && event.begin_ns >= row_end[event.row];  // a thread runs one task at a time
        row_end[event.row] = event.end_ns;
        end = std::max(end, event.end_ns);
        busy += event.end_ns - event.begin_ns;
    }
    const double total_ms = static_cast<double>(end - events.front().begin_ns) * 1e-6, chain = longest_chain_ms(events);
    const double share = static_cast<double>(busy) * 1e-4 / (total_ms * rt.workers());
    std::printf("%zu tasks in %.2f ms, threads busy %.0f %%, longest chain %.2f ms\n", events.size(), total_ms, share,
                chain);
    return right && chain <= total_ms ? 0 : 1;
} catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
}
