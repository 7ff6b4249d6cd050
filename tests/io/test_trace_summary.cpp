#include <cstdint>
#include <sstream>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "io/files/duration_text.hpp"
#include "io/trace/intervals.hpp"
#include "io/trace/trace_chart.hpp"
#include "io/trace/trace_summary.hpp"
#include "tests/common/catch.hpp"

using namespace basalt;

namespace {

/// Two cores and two devices with their copy engines; the first device has one row per stream.
Trace empty_machine() {
    Trace trace;
    trace.rows = {{"worker 0", TraceRowKind::cpu, std::nullopt}, {"worker 1", TraceRowKind::cpu, std::nullopt},
                  {"gpu 0", TraceRowKind::compute, 0},           {"gpu 0 urgent", TraceRowKind::compute, 0},
                  {"gpu 0 from host", TraceRowKind::copy, 0},    {"gpu 0 to host", TraceRowKind::copy, 0},
                  {"gpu 1", TraceRowKind::compute, 1},           {"gpu 1 from host", TraceRowKind::copy, 1}};
    return trace;
}

enum Row : int { worker0, worker1, gpu0, gpu0_urgent, gpu0_from_host, gpu0_to_host, gpu1, gpu1_from_host };

TraceEvent& add(Trace& trace, Row row, std::int64_t begin, std::int64_t end, const std::string& name,
                std::uint64_t id = 0, const std::vector<std::uint64_t>& after = {}) {
    TraceEvent event;
    event.name = name;
    event.row = row;
    event.begin_ns = begin;
    event.end_ns = end;
    event.id = id;
    event.after = after;
    if (trace.rows[static_cast<std::size_t>(row)].kind == TraceRowKind::copy) event.kind = TraceKind::copy;
    trace.events.push_back(event);
    return trace.events.back();
}

std::string chart_of(const Trace& trace) {
    std::ostringstream out;
    write_trace_chart(out, trace, "a title");
    return out.str();
}

std::size_t occurrences(const std::string& text, const std::string& word) {
    std::size_t count = 0;
    for (auto at = text.find(word); at != text.npos; at = text.find(word, at + 1)) ++count;
    return count;
}

}  // namespace

TEST_CASE("states of blocks inside kernels are counted and drawn apart from tasks") {
    Trace trace = empty_machine();
    add(trace, worker0, 0, 100, "submit");
    add(trace, gpu0, 200, 600, "panel", 1);
    const TraceSummary before = summarize(trace);
    trace.rows.push_back({"gpu 0 panel block 0", TraceRowKind::block, 0});
    trace.rows.push_back({"gpu 0 panel block 1", TraceRowKind::block, 0});
    const auto first = static_cast<Row>(trace.rows.size() - 2), second = static_cast<Row>(trace.rows.size() - 1);
    add(trace, first, 210, 300, "load");
    add(trace, first, 300, 580, "meeting");
    add(trace, second, 220, 520, "meeting");
    trace.events.back().step = 3;

    const TraceSummary summary = summarize(trace);
    CHECK(summary.tasks == before.tasks);
    CHECK(summary.copies == 0);
    CHECK(summary.cores.size() == 2);
    CHECK(summary.names.size() == before.names.size());
    CHECK(summary.steps.size() == before.steps.size());
    REQUIRE(summary.devices.size() == 2);
    CHECK(summary.devices[0].tasks == 1);
    CHECK(summary.devices[0].busy_ns == 400);
    CHECK(summary.devices[0].copy_ns == 0);
    CHECK(before.blocks == 0);
    CHECK(before.block_states.empty());
    CHECK(summary.blocks == 2);
    REQUIRE(summary.block_states.size() == 2);
    CHECK(summary.block_states[0].name == "meeting");
    CHECK(summary.block_states[0].count == 2);
    CHECK(summary.block_states[0].total_ns == 580);
    CHECK(summary.block_states[0].longest_ns == 300);
    CHECK(summary.block_states[1].name == "load");

    const std::string chart = chart_of(trace);
    CHECK(occurrences(chart, ">gpu 0 panel block 1<") == 1);
    CHECK(occurrences(chart, ">meeting<") == 1);  // in the legend
    CHECK(occurrences(chart, "<title>meeting") == 2);
    CHECK(occurrences(chart, "<title>panel") == 1);
}

TEST_CASE("intervals unite whatever their order, and common time is counted once") {
    const Intervals a = united({{5, 9}, {0, 2}, {2, 3}, {6, 7}, {4, 4}, {8, 1}});
    REQUIRE(a.size() == 2);
    CHECK(a[0].begin == 0);
    CHECK(a[0].end == 3);
    CHECK(a[1].begin == 5);
    CHECK(length(a) == 7);
    CHECK(common_length(a, united({{1, 6}, {8, 20}})) == 4);
    CHECK(common_length(united({{1, 6}, {8, 20}}), a) == 4);
    CHECK(common_length(a, {}) == 0);
}

TEST_CASE("a device is busy while any of its streams computes, and a core while a task runs on it") {
    Trace trace = empty_machine();
    add(trace, worker0, 1000, 1400, "panel");
    add(trace, worker1, 1000, 1100, "panel");
    add(trace, worker1, 1050, 1200, "nested");
    add(trace, gpu0, 1100, 1300, "update");
    add(trace, gpu0_urgent, 1200, 1350, "solve");
    add(trace, gpu0_from_host, 1600, 2000, "copy");
    const TraceSummary summary = summarize(trace);
    CHECK(summary.span_ns == 1000);
    CHECK(summary.tasks == 5);
    CHECK(summary.copies == 1);
    REQUIRE(summary.cores.size() == 2);
    CHECK(summary.cores[0].busy_ns == 400);
    CHECK(summary.cores[1].busy_ns == 200);
    CHECK(summary.cores[1].count == 2);
    REQUIRE(summary.devices.size() == 2);
    CHECK(summary.devices[0].name == "gpu 0");
    CHECK(summary.devices[0].busy_ns == 250);
    CHECK(summary.devices[0].tasks == 2);
    CHECK(summary.devices[1].name == "gpu 1");
    CHECK(summary.devices[1].busy_ns == 0);
}

TEST_CASE("a gap lasts from the last end among all known predecessors to the begin") {
    Trace trace = empty_machine();
    add(trace, gpu0, 0, 100, "a", 1);
    add(trace, gpu0, 105, 200, "b", 2, {1});      // 5 after a
    add(trace, gpu0, 200, 300, "c", 3, {2, 77});  // 0 after b; 77 is unknown
    add(trace, worker0, 0, 320, "panel", 4);
    add(trace, gpu0, 330, 400, "d", 5, {3, 4});  // 10 after the panel, which ended after c
    add(trace, gpu0_from_host, 350, 420, "copy", 6, {4});
    add(trace, gpu0, 440, 500, "e", 7, {5, 6});  // 20 after the copy
    add(trace, gpu0, 700, 800, "f", 8, {4});     // its predecessor did not run on the device
    add(trace, gpu0, 950, 999, "g", 9);          // none known
    const DependentGaps gaps = summarize(trace).devices[0].gaps;
    CHECK(gaps.tasks == 4);
    CHECK(gaps.busy_between == 0);
    CHECK(gaps.early == 0);
    CHECK(gaps.counted.count == 4);
    CHECK(gaps.counted.median_ns == 7.5);
    CHECK(gaps.counted.percentile90_ns == 20);
    CHECK(gaps.counted.longest_ns == 20);
    CHECK(gaps.counted.total_ns == 35);
    CHECK(gaps.after_elsewhere.count == 2);
    CHECK(gaps.after_elsewhere.median_ns == 15);
}

TEST_CASE("a gap is not counted where the device computed in between, on whichever stream") {
    Trace trace = empty_machine();
    add(trace, gpu0, 0, 100, "a", 1);
    add(trace, gpu0, 110, 150, "other", 2);
    add(trace, gpu0, 160, 200, "b", 3, {1});
    add(trace, gpu0, 210, 300, "c", 4, {3});
    add(trace, gpu0_urgent, 290, 330, "urgent", 5);
    add(trace, gpu0, 320, 400, "d", 6, {4});
    add(trace, gpu1, 395, 405, "on another device", 7);
    add(trace, gpu0, 410, 500, "e", 8, {6});
    const DependentGaps gaps = summarize(trace).devices[0].gaps;
    CHECK(gaps.tasks == 4);
    CHECK(gaps.busy_between == 2);
    CHECK(gaps.counted.count == 2);
    CHECK(gaps.counted.total_ns == 20);
    CHECK(summarize(trace).devices[1].gaps.tasks == 0);
}

TEST_CASE("a task that began before its predecessor ended is a gap of nothing, and is told") {
    Trace trace = empty_machine();
    add(trace, gpu0, 0, 100, "a", 1);
    add(trace, gpu0_urgent, 90, 120, "b", 2, {1});
    const DependentGaps gaps = summarize(trace).devices[0].gaps;
    CHECK(gaps.early == 1);
    CHECK(gaps.counted.count == 1);
    CHECK(gaps.counted.longest_ns == 0);
}

TEST_CASE("the 90 % gap is the least that nine of ten do not exceed") {
    Trace trace = empty_machine();
    std::int64_t time = 0;
    for (std::uint64_t id = 1; id <= 21; ++id) {
        const auto gap = static_cast<std::int64_t>(id) - 1;  // of the 2nd task 1, of the 21st 20
        time += gap;
        add(trace, gpu0, time, time + 100, "t", id, {id - 1});
        time += 100;
    }
    const GapStatistics gaps = summarize(trace).devices[0].gaps.counted;
    CHECK(gaps.count == 20);
    CHECK(gaps.median_ns == 10.5);
    CHECK(gaps.percentile90_ns == 18);
    CHECK(gaps.longest_ns == 20);
}

TEST_CASE("bars that share an id are one task, which ends with the last of them") {
    Trace trace = empty_machine();
    add(trace, worker0, 0, 100, "panel", 1);
    add(trace, worker1, 0, 160, "panel", 1);
    add(trace, gpu0, 0, 150, "a", 2);
    add(trace, gpu0, 170, 200, "b", 3, {1, 2});
    CHECK(summarize(trace).devices[0].gaps.counted.longest_ns == 10);
}

TEST_CASE("copy time is hidden while the same device computes") {
    Trace trace = empty_machine();
    add(trace, gpu0, 0, 100, "a");
    add(trace, gpu0_from_host, 50, 150, "in").bytes = 4000;
    add(trace, gpu0_to_host, 60, 70, "out").bytes = 100;
    add(trace, gpu0_to_host, 140, 160, "out").bytes = 200;
    add(trace, gpu1, 100, 200, "b");
    add(trace, gpu1_from_host, 100, 120, "in").bytes = 60;
    TraceEvent& by_core = add(trace, worker0, 0, 10, "move");
    by_core.kind = TraceKind::copy;
    by_core.bytes = 7;
    const TraceSummary summary = summarize(trace);
    CHECK(summary.devices[0].copy_ns == 110);
    CHECK(summary.devices[0].hidden_ns == 50);
    CHECK(summary.devices[1].copy_ns == 20);
    CHECK(summary.devices[1].hidden_ns == 20);
    REQUIRE(summary.directions.size() == 4);
    const auto& [from0, from1, cores, to0] =
        std::tie(summary.directions[0], summary.directions[1], summary.directions[2], summary.directions[3]);
    CHECK(from0.direction == "from host");
    CHECK(from0.device == 0);
    CHECK(from0.bytes == 4000);
    CHECK(from0.busy_ns == 100);
    CHECK(from1.device == 1);
    CHECK(cores.direction == "on cores");
    CHECK(cores.bytes == 7);
    CHECK(to0.direction == "to host");
    CHECK(to0.count == 2);
    CHECK(to0.bytes == 300);
    CHECK(to0.busy_ns == 30);
}

TEST_CASE("time by name and step counts nested tasks once, and streams side by side both") {
    Trace trace = empty_machine();
    add(trace, worker0, 100, 200, "outer").step = 4;
    add(trace, worker0, 120, 150, "inner").step = 5;
    add(trace, worker0, 130, 140, "innermost").step = 5;
    add(trace, worker0, 160, 170, "inner").step = 5;
    add(trace, gpu0, 100, 300, "inner").step = 5;
    add(trace, gpu0, 150, 250, "inner").step = 5;
    add(trace, gpu1_from_host, 90, 100, "copy");
    const TraceSummary summary = summarize(trace);
    REQUIRE(summary.names.size() == 5);
    CHECK(summary.names[0].name == "inner");
    CHECK(summary.names[0].where == TraceRowKind::compute);
    CHECK(summary.names[0].total_ns == 300);
    CHECK(summary.names[0].longest_ns == 200);
    CHECK(summary.names[1].name == "outer");
    CHECK(summary.names[1].total_ns == 60);
    CHECK(summary.names[2].name == "inner");
    CHECK(summary.names[2].where == TraceRowKind::cpu);
    CHECK(summary.names[2].count == 2);
    CHECK(summary.names[2].total_ns == 30);
    REQUIRE(summary.steps.size() == 3);
    CHECK_FALSE(summary.steps[0].step);
    CHECK(summary.steps[0].copy_ns == 10);
    CHECK(summary.steps[1].step == 4);
    CHECK(summary.steps[1].cpu_ns == 60);
    CHECK(summary.steps[2].count == 5);
    CHECK(summary.steps[2].begin_ns == 10);
    CHECK(summary.steps[2].end_ns == 210);
    CHECK(summary.steps[2].cpu_ns == 40);
    CHECK(summary.steps[2].compute_ns == 300);
}

TEST_CASE("the longest idle times of a device say what ended them and what that had waited for") {
    Trace trace = empty_machine();
    add(trace, worker0, 1000, 1080, "panel", 1).detail = "3";
    TraceEvent& first = add(trace, gpu0, 1100, 1200, "update", 2, {1});
    first.detail = "3,5";
    first.step = 3;
    add(trace, gpu0, 1210, 1300, "update", 3);
    add(trace, worker0, 1300, 2000, "tail");
    const TraceSummary summary = summarize(trace, 3);
    const auto& waits = summary.devices[0].waits;
    REQUIRE(waits.size() == 3);
    CHECK(waits[0].begin_ns == 300);
    CHECK(waits[0].length_ns == 700);
    CHECK(waits[0].ended_by.empty());
    CHECK(waits[1].begin_ns == 0);
    CHECK(waits[1].length_ns == 100);
    CHECK(waits[1].ended_by == "update 3,5");
    CHECK(waits[1].step == 3);
    CHECK(waits[1].waited_for == "panel 3");
    CHECK(waits[1].waited_on == "worker 0");
    CHECK(waits[1].since_ns == 20);
    CHECK(waits[2].length_ns == 10);
    CHECK(waits[2].ended_by == "update");
    CHECK(waits[2].waited_for.empty());
    CHECK(summarize(trace, 1).devices[0].waits.size() == 1);
    CHECK(summary.devices[1].waits.size() == 1);
}

TEST_CASE("a trace of nothing has a summary and a chart") {
    for (const Trace& trace : {Trace{}, empty_machine()}) {
        const TraceSummary summary = summarize(trace);
        CHECK(summary.span_ns == 0);
        CHECK(summary.tasks + summary.copies == 0);
        CHECK(summary.names.empty());
        CHECK(chart_of(trace).rfind("</svg>\n") != std::string::npos);
    }
}

TEST_CASE("a chart has its rows in the order cores, devices, copy engines, and names what can be pointed at") {
    Trace trace = empty_machine();
    std::swap(trace.rows[worker1], trace.rows[gpu0_from_host]);
    add(trace, gpu0, 0, 500, "update <1> & \"2\"").step = 7;
    add(trace, worker0, 500, 1000, "panel");
    const std::string chart = chart_of(trace);
    std::size_t last = 0;
    for (const char* name : {"worker 0", "worker 1", "gpu 0", "gpu 0 urgent", "gpu 1", "gpu 0 from host",
                             "gpu 0 to host", "gpu 1 from host"}) {
        const auto at = chart.find('>' + std::string(name) + '<');
        CHECK(at != std::string::npos);
        CHECK(at > last);
        last = at;
    }
    CHECK(chart.find("<title>update &lt;1&gt; &amp; &quot;2&quot; (step 7): 500 ns</title>") != std::string::npos);
    CHECK(chart.find("a title: 2 tasks and 0 copies in 1 us") != std::string::npos);
    CHECK(chart.find(">50.0 %<") != std::string::npos);
}

TEST_CASE("a chart's size does not grow with the number of bars below a pixel") {
    const auto trace_of = [](int count) {
        Trace trace = empty_machine();
        for (int i = 0; i < count; ++i) add(trace, gpu0, i * 1000, i * 1000 + 500, i % 2 == 0 ? "a" : "b");
        return trace;
    };
    CHECK(chart_of(trace_of(20000)).size() < 60000);
    CHECK(chart_of(trace_of(200000)).size() < 60000);
    CHECK(occurrences(chart_of(trace_of(50)), "<title>") == 50);
}

TEST_CASE("durations are written with the unit that suits them") {
    CHECK(duration_text(std::int64_t{0}) == "0 ns");
    CHECK(duration_text(std::int64_t{999}) == "999 ns");
    CHECK(duration_text(999.99) == "1 us");
    CHECK(duration_text(std::int64_t{1234}) == "1.234 us");
    CHECK(duration_text(std::int64_t{99999}) == "100 us");
    CHECK(duration_text(std::int64_t{12345678}) == "12.35 ms");
    CHECK(duration_text(std::int64_t{123456789012}) == "123.5 s");
    CHECK(duration_text(std::int64_t{-1500}) == "-1.5 us");
}
