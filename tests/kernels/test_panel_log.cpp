#include <array>
#include <chrono>
#include <cstdint>
#include <vector>

#include "kernels/panel_log.hpp"
#include "tests/kernels/cpu_twins.hpp"
#include "tests/kernels/panel_cases.hpp"

using namespace basalt;
using namespace basalt_tests;

namespace {

PanelLogEntry reading(std::int64_t clock, std::int64_t timer) { return {clock, ~timer}; }
PanelLogEntry entry(std::int64_t clock, PanelState state) { return {clock, static_cast<std::int64_t>(state)}; }

}  // namespace

TEST_CASE("clocks become times between the readings at both ends of each kernel") {
    // block 0 ran two kernels, whose clocks ticked differently; block 1 is in its first one
    std::array<PanelLogEntry, 18> memory{{{7, 0},
                                          reading(1000, 50'000),
                                          entry(1000, PanelState::load),
                                          entry(1100, PanelState::meet),
                                          reading(1200, 50'100),
                                          reading(9000, 60'000),
                                          entry(9010, PanelState::product),
                                          reading(9020, 60'040),
                                          {},
                                          {3, 5},
                                          reading(0, 50'000),
                                          entry(10, PanelState::load),
                                          entry(20, PanelState::store)}};
    const PanelLog log{memory.data(), 2, 8};
    const std::vector<PanelLogSpan> spans = spans_of(log);
    REQUIRE(spans.size() == 3);
    const auto is = [&](std::size_t i, PanelState state, std::int64_t begin, std::int64_t end) {
        return spans[i].block == 0 && spans[i].state == state && spans[i].begin_ns == begin && spans[i].end_ns == end;
    };
    CHECK(is(0, PanelState::load, 50'000, 50'050));
    CHECK(is(1, PanelState::meet, 50'050, 50'100));
    CHECK(is(2, PanelState::product, 60'020, 60'040));
    CHECK(lost_entries(log) == 5);
    CHECK(spans_of({}).empty());
    CHECK(lost_entries({}) == 0);
}

TEST_CASE("times of today's timers lose nothing") {
    constexpr std::int64_t today = 1'790'000'000'123'456'789;
    std::array<PanelLogEntry, 4> memory{
        {{3, 0}, reading(5, today), entry(5, PanelState::load), reading(5 + 2000, today + 1001)}};
    const std::vector<PanelLogSpan> spans = spans_of({memory.data(), 1, 3});
    REQUIRE(spans.size() == 1);
    CHECK(spans[0].begin_ns == today);
    CHECK(spans[0].end_ns == today + 1001);
}

TEST_CASE("the panel's twin logs its phases, and the factors do not change") {
    CpuTwins twins;
    check_panel_log(twins, {{}}, {{40, 32}, {300, 64}, {200, 256}, {100, 130}});
}

TEST_CASE("what the panel's twin records lies within its run") {
    CpuTwins twins;
    const Dense<double> a = random_dense<double>(300, 64, 1);
    KernelLog<CpuTwins> log(twins, 1, PanelLog::enough_for(64));
    const auto now = [] {
        return std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count();
    };
    const std::int64_t begin = now();
    factor_panel<double>(twins, a, {}, -1, log.log());
    const std::int64_t end = now();
    for (const PanelLogSpan& span : log.spans()) {
        CHECK(span.block == 0);
        CHECK(span.begin_ns >= begin);
        CHECK(span.end_ns <= end);
    }
}
