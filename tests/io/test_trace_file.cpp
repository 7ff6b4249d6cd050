#include <algorithm>
#include <cstddef>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "io/trace/trace_file.hpp"
#include "io/trace/trace_reader.hpp"
#include "tests/common/catch.hpp"

using namespace basalt;

namespace {

Trace read(const std::string& text) {
    std::istringstream in(text);
    return read_chrome_trace(in, "t.json");
}

std::string written(const Trace& trace) {
    std::ostringstream out;
    write_chrome_trace(out, trace);
    return out.str();
}

std::string refusal_of(const std::string& text) {
    try {
        read(text);
    } catch (const TraceFileError& error) {
        return error.what();
    }
    return "accepted";
}

/// An object with one event of these keys.
std::string with_event(const std::string& keys) { return "{\"traceEvents\":[\n{" + keys + "}\n]}"; }

Trace sample_trace() {
    Trace trace;
    trace.rows = {{"worker 0", TraceRowKind::cpu, std::nullopt},
                  {"gpu 1", TraceRowKind::compute, 1},
                  {"gpu 1 from host", TraceRowKind::copy, 1},
                  {"gpu 1 panel block 7", TraceRowKind::block, 1}};
    TraceEvent panel;
    panel.name = "panel \"\\ gr\xc3\xbc\xc3\x9f";
    panel.end_ns = 1000;
    panel.priority = -7;
    panel.detail = "3";
    panel.step = 0;
    panel.id = 1;
    TraceEvent copy;
    copy.name = "copy";
    copy.row = 2;
    copy.begin_ns = 1234;
    copy.end_ns = 987654321009;
    copy.kind = TraceKind::copy;
    copy.step = 2147483647;
    copy.bytes = std::int64_t{1} << 40;
    copy.id = ~std::uint64_t{0};
    copy.after = {1};
    TraceEvent update;
    update.name = "update";
    update.row = 1;
    update.begin_ns = update.end_ns = 7;
    update.after = {copy.id, 1};
    trace.events = {panel, copy, update};
    trace.rows.push_back({"thread 0", TraceRowKind::thread, std::nullopt});
    trace.spans = {{"assembly \"1\"", 4, 5, 17}, {"part", 0, 500, 900}};
    trace.counters = {{"residual", 6, 0.1}, {"residual", 800, 1e-300}, {"bytes", 8, 1.25e17}};
    return trace;
}

}  // namespace

TEST_CASE("a trace is read back as it was written") {
    const Trace trace = sample_trace();
    const Trace again = read(written(trace));
    REQUIRE(again.rows.size() == trace.rows.size());
    for (std::size_t i = 0; i < trace.rows.size(); ++i) {
        CHECK(again.rows[i].name == trace.rows[i].name);
        CHECK(again.rows[i].kind == trace.rows[i].kind);
        CHECK(again.rows[i].device == trace.rows[i].device);
    }
    REQUIRE(again.events.size() == trace.events.size());
    for (std::size_t i = 0; i < trace.events.size(); ++i) {
        const TraceEvent& read = again.events[i];
        const TraceEvent& event = trace.events[i];
        CHECK(read.name == event.name);
        CHECK(read.row == event.row);
        CHECK(read.begin_ns == event.begin_ns);
        CHECK(read.end_ns == event.end_ns);
        CHECK(read.priority == event.priority);
        CHECK(read.detail == event.detail);
        CHECK(read.kind == event.kind);
        CHECK(read.step == event.step);
        CHECK(read.bytes == event.bytes);
        CHECK(read.id == event.id);
        CHECK(read.after == event.after);
    }
    REQUIRE(again.spans.size() == trace.spans.size());
    for (std::size_t i = 0; i < trace.spans.size(); ++i) {
        CHECK(again.spans[i].name == trace.spans[i].name);
        CHECK(again.spans[i].row == trace.spans[i].row);
        CHECK(again.spans[i].begin_ns == trace.spans[i].begin_ns);
        CHECK(again.spans[i].end_ns == trace.spans[i].end_ns);
    }
    REQUIRE(again.counters.size() == trace.counters.size());
    for (std::size_t i = 0; i < trace.counters.size(); ++i) {
        CHECK(again.counters[i].name == trace.counters[i].name);
        CHECK(again.counters[i].time_ns == trace.counters[i].time_ns);
        CHECK(again.counters[i].value == trace.counters[i].value);
    }
    CHECK(written(again) == written(trace));
}

TEST_CASE("an event writes only what is not the default, and a row its kind and device") {
    const std::string text = written(sample_trace());
    CHECK(text.find(R"("name":"thread_name","args":{"name":"gpu 1 from host","kind":"copy","device":1}})") !=
          text.npos);
    CHECK(
        text.find(R"({"ph":"X","pid":0,"tid":2,"ts":1.234,"dur":987654319.775,"name":"copy","args":{"priority":0,)"
                  R"("kind":"copy","step":2147483647,"bytes":1099511627776,"id":18446744073709551615,"after":[1]}})") !=
        text.npos);
    CHECK(text.find(R"("ts":0.007,"dur":0,"name":"update","args":{"priority":0,"after":[)") != text.npos);
}

TEST_CASE("traces of other programs are read as far as they have complete events") {
    const Trace trace = read(R"([
        {"ph":"M","pid":2,"tid":5,"name":"thread_name","args":{"name":"late","labels":[1,{"a":[]}]}},
        {"ph":"B","pid":1,"tid":5,"ts":0,"name":"no bar"},
        {"ph":"X","pid":1,"tid":5,"ts":-2,"dur":1.5,"name":"a","cat":"x","args":{"colour":"red","more":{"deep":[[]]}}},
        {"ph":"X","pid":2,"tid":5,"ts":3e3,"dur":0,"name":"b","extra":null,"flag":true,"id2":{"local":"0x1"}}])");
    REQUIRE(trace.rows.size() == 2);
    CHECK(trace.rows[0].name == "late");
    CHECK(trace.rows[1].name == "thread 5");
    REQUIRE(trace.events.size() == 2);
    CHECK(trace.events[0].row == 1);
    CHECK(trace.events[0].begin_ns == -2000);
    CHECK(trace.events[0].end_ns == -500);
    CHECK(trace.events[1].row == 0);
    CHECK(trace.events[1].begin_ns == 3000000);
}

TEST_CASE("a trace without events is read") {
    CHECK(read("{\"traceEvents\":[]}").events.empty());
    CHECK(read("[]").rows.empty());
    CHECK(read(written({})).events.empty());
}

TEST_CASE("a file that ends early is refused with its line, its offset and the reason, wherever it is cut") {
    const std::string text = written(sample_trace());
    const std::size_t document = text.rfind('}') + 1;
    for (std::size_t kept = 0; kept < document; ++kept) {
        const std::string refusal = refusal_of(text.substr(0, kept));
        const auto lines = std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(kept), '\n');
        const std::string where = "t.json:" + std::to_string(lines + 1) + ": byte " + std::to_string(kept) + ": ";
        CHECK(refusal.rfind(where, 0) == 0);
        CHECK(refusal.size() > where.size());
        CHECK(refusal.size() < 300);
    }
}

TEST_CASE("text that is no trace is refused with the reason") {
    CHECK(refusal_of("").find("t.json:1: byte 0: ") == 0);
    CHECK(refusal_of("").find("unexpected end of input") != std::string::npos);
    CHECK(refusal_of("7").find("no \"traceEvents\"") != std::string::npos);
    CHECK(refusal_of("{\"routine\":\"getrf\"}").find("no \"traceEvents\"") != std::string::npos);
    CHECK(refusal_of("{\"traceEvents\":3}").find("no \"traceEvents\"") != std::string::npos);
    CHECK(refusal_of("[]\n[]").find("t.json:2: byte 4: ") == 0);
    CHECK(refusal_of("[7]").find("a number in \"traceEvents\"") != std::string::npos);
    CHECK(refusal_of("[\"a\"]").find("a string in \"traceEvents\"") != std::string::npos);
    CHECK(refusal_of("[[]]").find("an array where none can be") != std::string::npos);
    const std::string binary = refusal_of(std::string("\x7f\x45LF\0\xff\xfe", 7));
    CHECK(binary.find("\\x7f") != std::string::npos);
    CHECK(binary.find('\x7f') == std::string::npos);
    CHECK(refusal_of("[\"" + std::string(1000000, 'x')).size() < 300);
    CHECK(refusal_of(std::string(100000, '[')).size() < 300);
}

TEST_CASE("a known key with a value that it cannot have is refused by name") {
    const std::string head = R"("ph":"X","tid":0,"ts":1,"dur":1,)";
    for (const auto& [keys, reason] : std::vector<std::pair<std::string, std::string>>{
             {R"("ph":"X","ts":1,"dur":1)", "without tid"},
             {R"("ph":"X","tid":0,"dur":1)", "without ts"},
             {R"("ph":"X","tid":0,"ts":1)", "without dur"},
             {R"("tid":0,"ts":1,"dur":1)", "without ph"},
             {R"("ph":"X","tid":0,"ts":1,"dur":-1)", "dur = -1"},
             {R"("ph":"X","tid":0.5,"ts":1,"dur":1)", "tid = 0.5"},
             {R"("ph":"X","tid":"a","ts":1,"dur":1)", "tid = \"a\""},
             {R"("ph":"X","tid":0,"ts":"soon","dur":1)", "ts = \"soon\""},
             {R"("ph":"X","tid":0,"ts":1e300,"dur":1)", "ts = 1e+300"},
             {R"("ph":"X","tid":0,"ts":1e999,"dur":1)", "1e999"},
             {R"("ph":"X","tid":0,"ts":[],"dur":1)", "an array where none can be"},
             {R"("ph":7)", "ph is a number"},
             {head + R"("args":{"step":-2})", "step = -2; allowed: a whole number from 0"},
             {head + R"("args":{"step":1.5})", "step = 1.5"},
             {head + R"("args":{"bytes":-1})", "bytes = -1"},
             {head + R"("args":{"bytes":"many"})", "bytes = \"many\""},
             {head + R"("args":{"id":-1})", "id = -1"},
             {head + R"("args":{"id":99999999999999999999})", "id = 1e+20"},
             {head + R"("args":{"after":3})", "after is a number"},
             {head + R"("args":{"after":["x"]})", "after = \"x\""},
             {head + R"("args":{"after":[[]]})", "an array where none can be"},
             {head + R"("args":{"priority":3000000000})", "priority = 3000000000"},
             {head + R"("args":{"kind":"nap"})", "kind = \"nap\""},
             {R"("ph":"M","tid":0,"name":"thread_name","args":{"kind":"nap"})", "kind = \"nap\" of a row"},
             {R"("ph":"M","tid":0,"name":"thread_name","args":{"kind":"copy"})",
              "kind = \"copy\" of a row without device"},
             {R"("ph":"M","name":"thread_name","args":{"name":"w"})", "without tid"}}) {
        const std::string refusal = refusal_of(with_event(keys));
        INFO(keys << " -> " << refusal);
        CHECK(refusal.rfind("t.json:2: byte ", 0) == 0);
        CHECK(refusal.find(reason) != std::string::npos);
    }
    CHECK(refusal_of(with_event(head + R"("args":{"step":3,"after":[]})")) == "accepted");
}
