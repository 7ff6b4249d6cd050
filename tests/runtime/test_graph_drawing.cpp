// Drawings of the graph in DOT.
#include <algorithm>
#include <cctype>
#include <functional>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "basalt/array.hpp"
#include "basalt/graph.hpp"
#include "basalt/runtime.hpp"
#include "tests/common/catch.hpp"
#include "tests/common/mentions.hpp"
#include "tests/common/runtime_settings.hpp"
#include "tests/common/temporary_folder.hpp"
#include "tests/common/watchdog.hpp"

using namespace basalt;
using basalt_tests::error_of;
using basalt_tests::mentions;
using basalt_tests::small_machine;
using basalt_tests::TemporaryFolder;
using basalt_tests::Watchdog;

namespace {

/// A drawing as Graphviz reads it: DOT's grammar as far as drawings use it. Anything else throws.
class Dot {
  public:
    explicit Dot(std::string text) : text_(std::move(text)) {
        expect_word("digraph");
        word();
        expect('{');
        while (!accept('}')) statement();
        skip_space();
        if (at_ != text_.size()) fail("text after the end");
    }

    std::map<std::string, std::string> labels;                                ///< of the boxes, by their ids
    std::set<std::tuple<std::string, std::string, std::string>> edges;        ///< labels of both ends, own label
    std::map<std::string, std::map<std::string, std::string>> attributes_of;  ///< of edges, by their labels

  private:
    using Attributes = std::map<std::string, std::string>;

    void statement() {
        const std::string id = word();
        skip_space();
        if (text_.compare(at_, 2, "->") == 0) {
            at_ += 2;
            const std::string to = word();
            const Attributes attributes = list();
            if (labels.count(id) == 0 || labels.count(to) == 0) fail("an edge of no box");
            edges.insert({labels[id], labels[to], attributes.at("label")});
            attributes_of[attributes.at("label")] = attributes;
        } else {
            const Attributes attributes = list();
            if (id != "node") labels[id] = attributes.at("label");
        }
        expect(';');
    }
    Attributes list() {
        Attributes attributes;
        expect('[');
        do {
            const std::string key = word();
            expect('=');
            attributes[key] = word();
        } while (accept(','));
        expect(']');
        return attributes;
    }
    /// An identifier, or a quoted string with its escapes taken out.
    std::string word() {
        skip_space();
        std::string found;
        if (at_ < text_.size() && text_[at_] == '"') {
            for (++at_; at_ < text_.size() && text_[at_] != '"'; ++at_) {
                if (static_cast<unsigned char>(text_[at_]) < 0x20) fail("a control character");
                if (text_[at_] == '\\' && ++at_ < text_.size() && text_[at_] == 'n') {
                    found += '\n';
                } else {
                    found += text_[at_];
                }
            }
            if (at_++ >= text_.size()) fail("a string without end");
            return found;
        }
        while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) != 0 || text_[at_] == '_')) {
            found += text_[at_++];
        }
        if (found.empty()) fail("no word");
        return found;
    }
    void expect_word(const std::string& expected) {
        if (word() != expected) fail("no " + expected);
    }
    void expect(char c) {
        if (!accept(c)) fail(std::string("no ") + c);
    }
    bool accept(char c) {
        skip_space();
        if (at_ >= text_.size() || text_[at_] != c) return false;
        ++at_;
        return true;
    }
    void skip_space() {
        while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
    }
    [[noreturn]] void fail(const std::string& what) const {
        throw std::runtime_error(what + " at " + std::to_string(at_) + " of " + text_);
    }

    const std::string text_;
    std::size_t at_ = 0;
};

using Edges = std::set<std::tuple<std::string, std::string, std::string>>;

Config drawn(const GraphDrawing& drawing = {}) {
    Config config = small_machine();
    config.drawing = drawing;
    return config;
}

const auto nothing = [] {};

}  // namespace

TEST_CASE("a drawing shows every hazard by its name, whenever the tasks ran", "[sanitize]") {
    const Watchdog watchdog;
    const bool one_by_one = GENERATE(false, true);
    CAPTURE(one_by_one);
    Runtime rt(drawn());
    Array<int> x(rt, 4, "x"), y(rt, 4, "y");
    const auto submit = [&](TaskName name, auto&&... accesses) {
        rt.submit({.name = name}, accesses..., nothing);
        if (one_by_one) rt.wait();  // nothing is left to wait for
    };
    submit("w", write(x));
    submit("r1", read(x));
    submit("r2", read(x), readwrite(y));
    submit("w2", write(x));
    submit("w3", write(x), read(y));
    submit("rw", readwrite(x));
    submit("c1", commute(x));
    submit("c2", commute(x));
    submit("c3", commute(x));
    submit("r3", read(x.rows(0, 2)));
    submit("other part", write(x.rows(2, 4)));
    rt.wait();
    const Dot dot(rt.drawing());
    CHECK(dot.labels.size() == 11);
    CHECK(dot.edges == Edges{{"w\n#0", "r1\n#1", "RaW x"},
                             {"w\n#0", "r2\n#2", "RaW x"},
                             {"r1\n#1", "w2\n#3", "WaR x"},
                             {"r2\n#2", "w2\n#3", "WaR x"},
                             {"r2\n#2", "w3\n#4", "RaW y"},
                             {"w2\n#3", "w3\n#4", "WaW x"},
                             {"w3\n#4", "rw\n#5", "RaW x"},
                             {"rw\n#5", "c1\n#6", "RaW x"},
                             {"rw\n#5", "c2\n#7", "RaW x"},
                             {"rw\n#5", "c3\n#8", "RaW x"},
                             {"c1\n#6", "c2\n#7", "commute x"},
                             {"c2\n#7", "c3\n#8", "commute x"},
                             {"c1\n#6", "r3\n#9", "RaW x"},
                             {"c2\n#7", "r3\n#9", "RaW x"},
                             {"c3\n#8", "r3\n#9", "RaW x"},
                             {"c1\n#6", "other part\n#10", "WaW x"},
                             {"c2\n#7", "other part\n#10", "WaW x"},
                             {"c3\n#8", "other part\n#10", "WaW x"}});
    CHECK(dot.attributes_of.at("commute x").at("dir") == "none");
}

TEST_CASE("a drawing shows hazards between an array and blocks of different partitions", "[sanitize]") {
    const Watchdog watchdog;
    const bool one_by_one = GENERATE(false, true);
    CAPTURE(one_by_one);
    Runtime rt(drawn());
    Array<int> x(rt, 6, "x");
    const auto halves = x.split(2), thirds = x.split(3);
    const auto submit = [&](TaskName name, const auto& access) {
        rt.submit({.name = name}, access, nothing);
        if (one_by_one) rt.wait();  // nothing is left to wait for
    };
    submit("all", write(x));
    submit("half 0", readwrite(halves[0]));
    submit("half 1", readwrite(halves[1]));
    submit("third 0", read(thirds[0]));
    submit("third 1", readwrite(thirds[1]));
    submit("third 2", read(thirds[2]));
    submit("sum", read(x));
    rt.wait();
    const Dot dot(rt.drawing());
    std::set<std::pair<std::string, std::string>> arrows;
    for (const auto& [from, to, label] : dot.edges) arrows.emplace(from, to);
    CHECK(arrows == std::set<std::pair<std::string, std::string>>{{"all\n#0", "half 0\n#1"},
                                                                  {"all\n#0", "half 1\n#2"},
                                                                  {"half 0\n#1", "third 0\n#3"},
                                                                  {"half 0\n#1", "third 1\n#4"},
                                                                  {"half 1\n#2", "third 1\n#4"},
                                                                  {"half 1\n#2", "third 2\n#5"},
                                                                  {"half 0\n#1", "sum\n#6"},
                                                                  {"half 1\n#2", "sum\n#6"},
                                                                  {"third 1\n#4", "sum\n#6"}});
}

TEST_CASE("a drawing tells a reduction from another one and from tasks that commute", "[sanitize]") {
    const Watchdog watchdog;
    Runtime rt(drawn());
    Array<int> x(rt, 4, "x");
    const auto sum = [&] { return reduce(x, 0, std::plus<>()); };
    const auto product = [&] { return reduce(x, 1, std::multiplies<>()); };
    const auto add_nothing = [](View<int>) {};
    rt.submit({.name = "write"}, write(x), nothing);
    rt.submit({.name = "sum"}, sum(), add_nothing);
    rt.submit({.name = "sum too"}, sum(), add_nothing);
    rt.submit({.name = "product"}, product(), add_nothing);
    rt.submit({.name = "commute"}, commute(x), nothing);
    rt.submit({.name = "read"}, read(x), nothing);
    rt.submit({.name = "commute again"}, commute(x), nothing);
    rt.wait();
    CHECK(Dot(rt.drawing()).edges == Edges{{"write\n#0", "sum\n#1", "RaW x"},
                                           {"write\n#0", "sum too\n#2", "RaW x"},
                                           {"sum\n#1", "sum too\n#2", "reduce x"},
                                           {"sum\n#1", "product\n#3", "RaW x"},
                                           {"sum too\n#2", "product\n#3", "RaW x"},
                                           {"product\n#3", "commute\n#4", "RaW x"},
                                           {"commute\n#4", "read\n#5", "RaW x"},
                                           {"read\n#5", "commute again\n#6", "WaR x"}});
}

TEST_CASE("a drawing shows the tasks inside a task, and hazards among those", "[sanitize]") {
    const Watchdog watchdog;
    Runtime rt(drawn());
    Graph graph(rt);
    Array<int> x(rt, 4, "x");
    graph.submit({.name = "parent", .tile = {1, 2}}, readwrite(x), [&](View<int>) {
        rt.submit({.name = "first"}, write(x), nothing);
        rt.submit({.name = "second"}, read(x), nothing);
    });
    graph.wait();
    const Dot dot(rt.drawing());
    CHECK(dot.edges == Edges{{"parent(1,2)\n#0", "first\n#1", "child"},
                             {"parent(1,2)\n#0", "second\n#2", "child"},
                             {"first\n#1", "second\n#2", "RaW x"}});
    CHECK(dot.attributes_of.at("child").at("style") == "dotted");
}

TEST_CASE("a drawing shows precedence that was asked for, whether the task had completed or not") {
    const Watchdog watchdog;
    Runtime rt(drawn());
    const TaskHandle first = rt.submit({.name = "first"}, nothing);
    const TaskHandle second = rt.submit({.name = "second"}, nothing);
    rt.wait();
    rt.submit({.name = "third"}, after(first, second, TaskHandle()), nothing);
    first.then({.name = "fourth"}, nothing);
    rt.wait();
    CHECK(Dot(rt.drawing()).edges == Edges{{"first\n#0", "third\n#2", "after"},
                                           {"second\n#1", "third\n#2", "after"},
                                           {"first\n#0", "fourth\n#3", "after"}});
}

TEST_CASE("names are quoted, whatever they contain") {
    const Watchdog watchdog;
    Runtime rt(drawn());
    const std::string data = "a \"quoted\" \\ name\twith\x01 controls\nand lines";
    Array<int> x(rt, 1, data.c_str()), y(rt, 1, "gr\xc3\xbc\xc3\x9f -> { ; } [ ] // \xff");
    rt.submit({.name = TaskName::intern("\"]; evil -> t0; \\")}, write(x), write(y), nothing);
    rt.submit({.name = TaskName::intern("back\\slash\\")}, read(x), read(y), nothing);
    rt.wait();
    const Dot dot(rt.drawing());
    CHECK(dot.labels.at("t0") == "\"]; evil -> t0; \\\n#0");
    CHECK(dot.labels.at("t1") == "back\\slash\\\n#1");
    REQUIRE(dot.edges.size() == 1);
    CHECK(std::get<2>(*dot.edges.begin()) ==
          "RaW a \"quoted\" \\ name?with? controls\nand lines\nRaW gr\xc3\xbc\xc3\x9f -> { ; } [ ] // ?");
}

TEST_CASE("a drawing shows a window of the tasks, with many readers too") {
    const Watchdog watchdog;
    Runtime rt(drawn({.first = 5, .count = 300}));
    Array<int> x(rt, 1, "x");
    for (int i = 0; i < 400; ++i) {
        if (i % 200 == 5) {
            rt.submit({.name = "write"}, readwrite(x), nothing);
        } else {
            rt.submit({.name = "read"}, read(x), nothing);
        }
    }
    rt.wait();
    const Dot dot(rt.drawing());
    CHECK(dot.labels.size() == 300);
    CHECK(dot.labels.at("t0") == "write\n#5");
    CHECK(dot.labels.at("t299") == "read\n#304");
    const auto count = [&](const std::string& label) {
        return std::count_if(dot.edges.begin(), dot.edges.end(),
                             [&](const auto& e) { return std::get<2>(e) == label; });
    };
    CHECK(count("RaW x") == 199 + 99);
    CHECK(count("WaR x") == 199);
    CHECK(dot.edges.size() == 199 + 99 + 199);
}

TEST_CASE("a drawing is made while several threads submit", "[sanitize]") {
    const Watchdog watchdog;
    Runtime rt(drawn({.count = 500}));
    Array<int> x(rt, 1, "x");
    std::vector<std::thread> threads;
    for (int t = 0; t < 3; ++t) {
        threads.emplace_back([&] {
            for (int i = 0; i < 300; ++i) {
                rt.submit({.name = "t"}, commute(x), [&](View<int>) { rt.submit({.name = "child"}, nothing); });
            }
        });
    }
    for (int i = 0; i < 5; ++i) CHECK(Dot(rt.drawing()).labels.size() <= 500);
    for (std::thread& thread : threads) thread.join();
    rt.wait();
    CHECK(Dot(rt.drawing()).labels.size() == 500);
}

TEST_CASE("a drawing is written when its runtime ends") {
    const Watchdog watchdog;
    const TemporaryFolder folder;
    {
        Runtime rt(drawn({.file = folder.path("graph.dot")}));
        rt.submit({.name = "only"}, nothing);
    }
    CHECK(Dot(folder.read("graph.dot")).labels.at("t0") == "only\n#0");
    { Runtime rt(drawn({.file = folder.path("none/graph.dot")})); }  // logged
    Runtime without(small_machine());
    CHECK(mentions(error_of<UsageError>([&] { without.drawing(); }), "without Config::drawing"));
}
