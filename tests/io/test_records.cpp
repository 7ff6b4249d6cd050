#include <cmath>
#include <cstdio>
#include <fstream>
#include <functional>
#include <limits>
#include <sstream>
#include <stdexcept>
#include <string>

#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "io/files/json_record.hpp"
#include "io/files/standard_streams.hpp"
#include "io/trace/trace_file.hpp"
#include "tests/common/catch.hpp"

using namespace basalt;

namespace {

FactorRecord sample_record() {
    FactorRecord record;
    record.routine = "getrf";
    record.m = 300;
    record.n = 200;
    record.nb = 64;
    record.tile = "512x1024";
    record.mode = "cpu";
    record.cpus = 2;
    record.runs = {0.5, 0.25, 4.0};
    record.flops = 1e9;
    record.residual_ratio = 0.125;
    record.passed = true;
    record.machine = "a \"fast\" one";
    record.commit = "0123abc";
    return record;
}

/// A file name that is free, and the file removed at the end.
class TemporaryFile {
  public:
    TemporaryFile() {
        std::string name = "/tmp/basalt-test-XXXXXX";
        const int descriptor = mkstemp(name.data());
        if (descriptor >= 0) close(descriptor);
        path_ = name;
    }
    ~TemporaryFile() { std::remove(path_.c_str()); }
    TemporaryFile(const TemporaryFile&) = delete;
    TemporaryFile& operator=(const TemporaryFile&) = delete;
    const std::string& path() const { return path_; }

  private:
    std::string path_;
};

std::string error_of(const std::function<void()>& call) {
    try {
        call();
    } catch (const std::runtime_error& error) {
        return error.what();
    }
    return "nothing thrown";
}

nlohmann::json parsed_trace(const Trace& trace) {
    std::ostringstream out;
    write_chrome_trace(out, trace);
    return nlohmann::json::parse(out.str());
}

TraceEvent event_at(std::int64_t begin_ns, std::int64_t end_ns) {
    TraceEvent event;
    event.name = "update";
    event.begin_ns = begin_ns;
    event.end_ns = end_ns;
    return event;
}

}  // namespace

TEST_CASE("a factorization's record has the contract's keys in the contract's order, on one line") {
    CHECK(to_json(sample_record()).dump() ==
          R"({"routine":"getrf","precision":"d","m":300,"n":200,"nb":64,"tile":"512x1024","mode":"cpu",)"
          R"("cpus":2,"gpus":0,"emulated":false,"data":"host","seconds":0.5,"gflops":2.0,"residual_ratio":0.125,)"
          R"("passed":true,"info":0,"runs":[0.5,0.25,4.0],"machine":"a \"fast\" one","commit":"0123abc"})");
}

TEST_CASE("numbers that are not finite, and a check that was not made, are null") {
    FactorRecord record = sample_record();
    record.residual_ratio = std::numeric_limits<double>::infinity();
    CHECK(to_json(record).dump().find(R"("residual_ratio":null)") != std::string::npos);
    record.residual_ratio = std::nan("");
    CHECK(to_json(record).dump().find(R"("residual_ratio":null)") != std::string::npos);
    record.residual_ratio.reset();
    record.runs.clear();
    CHECK(to_json(record).dump().find(R"("seconds":null,"gflops":0.0,"residual_ratio":null)") != std::string::npos);
    record.passed.reset();
    CHECK(to_json(record).dump().find(R"("passed":null)") != std::string::npos);
}

TEST_CASE("the median of an even number of runs is the mean of the middle two") {
    CHECK(median({4.0, 1.0, 2.0, 100.0}) == 3.0);
    CHECK(median({7.0}) == 7.0);
    CHECK(std::isnan(median({})));
}

TEST_CASE("records are appended to a file, one object a line") {
    const TemporaryFile file;
    std::ostringstream unused;
    for (int run = 0; run < 2; ++run) {
        JsonRecordWriter writer(file.path(), unused);
        writer.write({{"run", run}, {"text", "bad \xff byte"}});
    }
    std::ifstream in(file.path());
    std::string line;
    for (int run = 0; run < 2; ++run) {
        REQUIRE(static_cast<bool>(std::getline(in, line)));
        CHECK(nlohmann::json::parse(line).at("run") == run);
    }
    CHECK_FALSE(static_cast<bool>(std::getline(in, line)));
    CHECK(unused.str().empty());
}

TEST_CASE("the name - writes records to the standard output, and a bad path is an error that names it") {
    std::ostringstream out;
    JsonRecordWriter writer("-", out);
    writer.write({{"a", 1}});
    CHECK(out.str() == "{\"a\":1}\n");
    CHECK(error_of([&] { JsonRecordWriter("/nowhere/at/all.json", out); }).find("/nowhere/at/all.json: No such file") ==
          0);
    out.setstate(std::ios::badbit);
    CHECK(error_of([&] { writer.write({{"a", 1}}); }) == "standard output: the record could not be written");
}

TEST_CASE("a record that could not be written says why, and the next one begins a line") {
    const TemporaryFile file;
    std::ostringstream unused;
    JsonRecordWriter writer(file.path(), unused);
    writer.write({{"run", 0}});
    rlimit limit{};
    REQUIRE(getrlimit(RLIMIT_FSIZE, &limit) == 0);
    basalt::ignore_file_size_signal();
    const rlimit small{12, limit.rlim_max};
    REQUIRE(setrlimit(RLIMIT_FSIZE, &small) == 0);
    const std::string error = error_of([&] { writer.write({{"run", 1}}); });
    REQUIRE(setrlimit(RLIMIT_FSIZE, &limit) == 0);
    CHECK(error == file.path() + ": the record could not be written: File too large");
    writer.write({{"run", 2}});
    std::ostringstream text;
    text << std::ifstream(file.path()).rdbuf();
    CHECK(text.str() == "{\"run\":0}\n{\"\n{\"run\":2}\n");
}

TEST_CASE("a trace has a named row a worker and keeps nanoseconds") {
    Trace trace;
    trace.rows = {{"worker 0"}, {"worker 1"}};
    trace.events = {event_at(5000001234, 5000003235), event_at(5000000000, 5000000007)};
    trace.events[0].row = 1;
    trace.events[0].priority = -3;
    trace.events[0].detail = "3,5";
    const auto json = parsed_trace(trace);
    const auto& events = json.at("traceEvents");
    REQUIRE(events.size() == 6);
    CHECK(events[2] == nlohmann::json::parse(
                           R"({"ph":"M","pid":0,"tid":1,"name":"thread_name",
                               "args":{"name":"worker 1","kind":"cpu"}})"));
    CHECK(events[4] == nlohmann::json::parse(R"({"ph":"X","pid":0,"tid":1,"ts":1.234,"dur":2.001,"name":"update",
                                                 "args":{"tiles":"3,5","priority":-3}})"));
    CHECK(events[5].at("ts") == 0.0);
    CHECK(events[5].at("dur") == 0.007);
    CHECK_FALSE(events[5].at("args").contains("tiles"));
}

TEST_CASE("any text is a valid name in a trace") {
    Trace trace;
    trace.rows = {{"quote \" backslash \\ newline \n tab \t nul " + std::string(1, '\0') + " end"}};
    trace.events = {event_at(0, 1), event_at(0, 1), event_at(0, 1)};
    trace.events[0].name = "gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80";
    trace.events[1].name = "\xff \xc3( \xc0\x80 \xed\xa0\x80 \xf5\x80\x80\x80 \xe2\x82";
    trace.events[2].name = "";
    const auto json = parsed_trace(trace);
    const auto& events = json.at("traceEvents");
    CHECK(events[0].at("args").at("name") == trace.rows[0].name);
    CHECK(events[2].at("name") == trace.events[0].name);
    CHECK(events[3].at("name").get<std::string>().rfind("\xc3\xbf ", 0) == 0);
    CHECK(events[4].at("name") == "");
}

TEST_CASE("a trace without events is still a trace") { CHECK(parsed_trace({}).at("traceEvents").empty()); }

TEST_CASE("a trace larger than the writer's buffer arrives whole") {
    Trace trace;
    trace.rows = {{"worker 0"}};
    for (int i = 0; i < 40000; ++i) trace.events.push_back(event_at(i * 1000, i * 1000 + 500));
    const auto json = parsed_trace(trace);
    const auto& events = json.at("traceEvents");
    REQUIRE(events.size() == 40002);
    CHECK(events.back().at("ts") == 39999.0);
}
