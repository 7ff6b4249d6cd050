// What runs took: how times are learnt, kept and believed, and that mode auto goes by them.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <sys/stat.h>
#include <unistd.h>

#include "basalt/lu.hpp"
#include "basalt/run_models.hpp"
#include "basalt/tuning.hpp"
#include "io/models/run_samples.hpp"
#include "io/models/run_store.hpp"
#include "tests/common/catch.hpp"
#include "tests/common/temporary_folder.hpp"

using basalt::FactorMode;
using basalt::Index;
using basalt::RunCase;
using basalt::RunMachine;
using basalt::RunModels;
using basalt::RunSamples;
using basalt::RunStore;
using basalt_tests::TemporaryFolder;

namespace {

const RunMachine machine{"a CPU", 16, "1 x a GPU"};

RunCase lu_of(Index n) { return {"getrf", 'd', n, n, false, {}}; }

double cube(double x) { return x * x * x; }

/// What a new reader of the file expects.
std::optional<double> expected(const std::string& path, const RunCase& run, FactorMode mode,
                               const RunMachine& on = machine) {
    const auto estimate = RunModels(path).estimate(on, run, mode);
    return estimate ? std::optional(estimate->seconds) : std::nullopt;
}

}  // namespace

TEST_CASE("between measured sizes a power law holds; far from them nothing is believed") {
    RunSamples samples;
    CHECK_FALSE(samples.at(1000));
    samples.add({1000, 1.0});
    samples.add({2000, 4.0});  // grows with the square here
    CHECK(samples.at(1000)->seconds == Approx(1.0).epsilon(1e-12));
    CHECK(samples.at(1500)->seconds == Approx(2.25).epsilon(1e-9));
    CHECK(samples.at(1500)->runs == 2);
    // a little beyond, at the rate of the nearest
    CHECK(samples.at(2200)->seconds == Approx(4.0 * cube(1.1)).epsilon(1e-9));
    CHECK(samples.at(900)->seconds == Approx(cube(0.9)).epsilon(1e-9));
    CHECK_FALSE(samples.at(2600));
    CHECK_FALSE(samples.at(700));
    // two that are too far apart are neighbours of nothing
    samples.add({16000, 100.0});
    CHECK_FALSE(samples.at(6000));
    CHECK(samples.at(14000)->runs == 1);
    CHECK_FALSE(samples.at(0));
    CHECK_FALSE(samples.at(std::numeric_limits<double>::quiet_NaN()));
}

TEST_CASE("a slow run among several of a size changes nothing, and old ones are forgotten") {
    RunSamples samples;
    for (const double seconds : {1.0, 50.0, 1.02}) samples.add({4096, seconds});
    CHECK(samples.at(4096)->seconds == Approx(1.02).epsilon(1e-12));
    RunSamples two;
    for (const double seconds : {30.0, 1.0}) two.add({4096, seconds});
    CHECK(two.at(4096)->seconds == Approx(1.0).epsilon(1e-12));
    // the machine has become twice as fast
    for (std::size_t i = 0; i < RunSamples::most_runs; ++i) samples.add({4100, 0.5});
    CHECK(samples.at(4100)->seconds == Approx(0.5).epsilon(1e-12));
    CHECK(samples.at(4100)->runs == static_cast<int>(RunSamples::most_runs));
    CHECK_THROWS(samples.add({4096, 0}));
    CHECK_THROWS(samples.add({std::numeric_limits<double>::infinity(), 1}));
}

TEST_CASE("what is recorded is expected by later readers of the file, and not by this one") {
    const TemporaryFolder folder;
    const std::string path = folder.path("models.json");
    const RunModels models(path);
    CHECK_FALSE(models.estimate(machine, lu_of(1000), FactorMode::gpu));
    models.record(machine, lu_of(1000), FactorMode::gpu, {0.25, 0.2, 0.3});
    models.record(machine, lu_of(1000), FactorMode::cpu, {2.0});
    CHECK_FALSE(models.estimate(machine, lu_of(1000), FactorMode::gpu));  // the same question, the same answer
    CHECK(expected(path, lu_of(1000), FactorMode::gpu).value() == Approx(0.25).epsilon(1e-9));
    CHECK(expected(path, lu_of(1010), FactorMode::cpu).value() == Approx(2.0 * cube(1.01)).epsilon(1e-9));
    CHECK_FALSE(expected(path, lu_of(1000), FactorMode::hybrid));
    CHECK(RunModels(path).lines().size() == 2);
    CHECK(folder.files() == 1);
}

TEST_CASE("runs that differ in what their time depends on are learnt apart") {
    const TemporaryFolder folder;
    const std::string path = folder.path("models.json");
    RunModels(path).record(machine, lu_of(1000), FactorMode::gpu, {0.25});
    CHECK(expected(path, lu_of(1000), FactorMode::gpu));
    RunCase other = lu_of(1000);
    other.precision = 's';
    CHECK_FALSE(expected(path, other, FactorMode::gpu));
    other = lu_of(1000);
    other.on_gpus = true;
    CHECK_FALSE(expected(path, other, FactorMode::gpu));
    other = lu_of(1000);
    other.options = "nb=64";
    CHECK_FALSE(expected(path, other, FactorMode::gpu));
    other = lu_of(1000);
    other.routine = "potrf";
    CHECK_FALSE(expected(path, other, FactorMode::gpu));
    CHECK_FALSE(expected(path, {"getrf", 'd', 2000, 700, false, {}}, FactorMode::gpu));  // another shape
    CHECK(expected(path, {"getrf", 'd', 1000, 1001, false, {}}, FactorMode::gpu));
    CHECK_FALSE(expected(path, lu_of(1000), FactorMode::gpu, {"a CPU", 16, "2 x a GPU"}));
    CHECK_FALSE(expected(path, lu_of(1000), FactorMode::gpu, {"another CPU", 16, "1 x a GPU"}));
}

TEST_CASE("cores alone are the same machine with a few cores more or less, and share the time") {
    const TemporaryFolder folder;
    const std::string path = folder.path("models.json");
    RunModels(path).record({"a CPU", 16, ""}, lu_of(1000), FactorMode::cpu, {1.5});
    CHECK(expected(path, lu_of(1000), FactorMode::cpu, {"a CPU", 15, "1 x a GPU"}).value() ==
          Approx(1.6).epsilon(1e-9));
    CHECK_FALSE(expected(path, lu_of(1000), FactorMode::cpu, {"a CPU", 8, "1 x a GPU"}));
    RunModels(path).record({"a CPU", 15, ""}, lu_of(1000), FactorMode::cpu, {1.7});
    CHECK(expected(path, lu_of(1000), FactorMode::cpu, {"a CPU", 15, "1 x a GPU"}).value() ==
          Approx(1.7).epsilon(1e-9));
}

TEST_CASE("times and sizes that mean nothing teach nothing") {
    const TemporaryFolder folder;
    const RunModels models(folder.path("models.json"));
    const double nan = std::numeric_limits<double>::quiet_NaN();
    models.record(machine, lu_of(1000), FactorMode::gpu, {0, -1, nan, std::numeric_limits<double>::infinity()});
    models.record(machine, lu_of(0), FactorMode::gpu, {1.0});
    models.record(machine, lu_of(1000), FactorMode::gpu, {});
    CHECK(folder.files() == 0);
    CHECK_FALSE(models.estimate(machine, lu_of(0), FactorMode::gpu));
}

TEST_CASE("times of tasks lie next to those of runs, and replace earlier ones of the same task") {
    const TemporaryFolder folder;
    const std::string path = folder.path("models.json");
    RunModels(path).record(machine, lu_of(1000), FactorMode::gpu, {0.25});
    RunModels(path).record_tasks(machine, {{"add", 800, "cores", {0.5, 0.25}}, {"add", 800, "a GPU", {0.125}}});
    RunModels(path).record_tasks(machine, {{"add", 800, "cores", {0.75}}, {"add", 900, "cores", {1.5}}});
    RunModels(path).record_tasks({"another CPU", 16, {}}, {{"add", 800, "cores", {3.0}}});
    RunModels(path).record_tasks(machine, {});
    const auto runs = RunModels(path).task_runs(machine);
    const auto seconds = [&](std::uint64_t size, const std::string& processor) -> std::vector<double> {
        for (const auto& run : runs) {
            if (run.task == "add" && run.size == size && run.processor == processor) return run.seconds;
        }
        return {};
    };
    CHECK(runs.size() == 3);
    CHECK(RunModels(path).lines().size() == 5);
    CHECK(RunModels(path).lines()[1] == "task add, size 800, on a GPU: 1.25e+05 us; a CPU");
    CHECK(seconds(800, "cores") == std::vector{0.75});
    CHECK(seconds(900, "cores") == std::vector{1.5});
    CHECK(seconds(800, "a GPU") == std::vector{0.125});
    CHECK(expected(path, lu_of(1000), FactorMode::gpu));
    RunModels(path).record(machine, lu_of(2000), FactorMode::gpu, {0.25});
    CHECK(RunModels(path).task_runs(machine).size() == 3);

    std::string whole = folder.read("models.json");
    const auto refused = [&](const std::string& from, const std::string& to) {
        std::string text = whole;
        text.replace(text.find(from), from.size(), to);
        folder.write("models.json", text);
        return RunModels::why_unusable(path);
    };
    CHECK(refused("0.125", "0.125").empty());
    CHECK(refused("0.125", "-0.125").find("task 'add' has times that are not positive") != std::string::npos);
    CHECK_FALSE(refused("0.125", "\"fast\"").empty());
    CHECK_FALSE(refused("\"tasks\"", "\"taks\"").empty());
    // files of the first version have none
    folder.write("models.json", R"({"format": "basalt run models", "version": 1, "models": []})");
    CHECK(RunModels::why_unusable(path).empty());
    CHECK(RunModels(path).task_runs(machine).empty());
}

TEST_CASE("the tasks that were learnt longest ago are forgotten first") {
    RunStore store;
    std::vector<basalt::TaskRuns> many;
    for (std::size_t i = 0; i < RunStore::most_tasks; ++i) many.push_back({"old", i, "cores", {1.0}});
    store.put_tasks("a CPU", 1, many);
    store.put_tasks("a CPU", 2, {{"new", 1, "cores", {1.0}}, {"old", 7, "cores", {2.0}}});
    REQUIRE(store.tasks().size() == RunStore::most_tasks);
    const auto kept = [&](const std::string& task, std::uint64_t size) {
        return std::any_of(store.tasks().begin(), store.tasks().end(),
                           [&](const auto& entry) { return entry.runs.task == task && entry.runs.size == size; });
    };
    CHECK(kept("new", 1));
    CHECK(kept("old", 7));
    CHECK(RunStore::parse(store.text()).tasks().size() == RunStore::most_tasks);
}

TEST_CASE("a file that is damaged or none of ours teaches nothing and is left alone") {
    const TemporaryFolder folder;
    const std::string path = folder.path("models.json");
    RunModels(path).record(machine, lu_of(1000), FactorMode::gpu, {0.25});
    const std::string whole = folder.read("models.json");
    std::string wrong_type = whole;
    wrong_type.replace(wrong_type.find("16"), 2, "\"x\"");
    std::string newer = whole;
    newer.replace(newer.find("\"version\": 2"), 12, "\"version\": 3");
    std::string negative = whole;
    negative.replace(negative.find("0.25"), 4, "-0.5");
    const std::vector<std::string> bad{"{",
                                       whole.substr(0, whole.size() / 2),
                                       "[1, 2]",
                                       "null",
                                       "not JSON at all",
                                       R"({"format": "something else", "version": 1, "models": []})",
                                       std::string("\0\1\2\xff", 4),
                                       wrong_type,
                                       newer,
                                       negative,
                                       std::string(100000, '['),
                                       '"' + std::string(3000000, 'x'),
                                       "{\"format\": " + std::string(3000000, '1') + '}'};
    for (const std::string& text : bad) {
        INFO(text.substr(0, 100));
        folder.write("models.json", text);
        CHECK(RunModels::why_unusable(path).size() > 5);
        CHECK(RunModels::why_unusable(path).size() < 200);
        const RunModels models(path);
        CHECK_FALSE(models.estimate(machine, lu_of(1000), FactorMode::gpu));
        models.record(machine, lu_of(1000), FactorMode::gpu, {0.5});
        CHECK(folder.read("models.json") == text);
        CHECK(folder.files() == 1);
    }
    CHECK(RunModels::why_unusable(folder.path("new/models.json")).find("there is no folder") == 0);
}

TEST_CASE("an empty file and a link to a missing one are begun; a file of models loses neither links nor mode") {
    const TemporaryFolder folder;
    mkdir(folder.path("there").c_str(), 0755);
    REQUIRE(symlink("there/real.json", folder.path("link.json").c_str()) == 0);
    const std::string link = folder.path("link.json"), target = folder.path("there/real.json");
    for (int run = 0; run < 3; ++run) {
        if (run == 1) folder.write("there/real.json", "");
        if (run == 1) REQUIRE(chmod(target.c_str(), 0600) == 0);
        CHECK(RunModels::why_unusable(link).empty());
        RunModels(link).record(machine, lu_of(1000), FactorMode::gpu, {0.5});
        CHECK(RunModels(target).lines().size() == 1);
        struct stat status {};
        REQUIRE(lstat(link.c_str(), &status) == 0);
        CHECK(S_ISLNK(status.st_mode));
        REQUIRE(stat(target.c_str(), &status) == 0);
        if (run > 0) CHECK((status.st_mode & 0777) == 0600);
        CHECK(folder.files() == 2);
    }
}

TEST_CASE("a file of models that another program damages meanwhile is left alone") {
    const TemporaryFolder folder;
    const RunModels models(folder.path("models.json"));
    folder.write("models.json", "precious");
    models.record(machine, lu_of(1000), FactorMode::gpu, {0.5});
    CHECK(folder.read("models.json") == "precious");
    CHECK(folder.files() == 1);
}

TEST_CASE("only the folder of the default file is made") {
    const TemporaryFolder folder;
    const char* const before = std::getenv("XDG_CACHE_HOME");
    const std::optional<std::string> old = before != nullptr ? std::optional<std::string>(before) : std::nullopt;
    setenv("XDG_CACHE_HOME", folder.path("cache").c_str(), 1);
    RunModels(RunModels::default_path()).record(machine, lu_of(1000), FactorMode::gpu, {0.5});
    RunModels(folder.path("other/models.json")).record(machine, lu_of(1000), FactorMode::gpu, {0.5});
    if (old) {
        setenv("XDG_CACHE_HOME", old->c_str(), 1);
    } else {
        unsetenv("XDG_CACHE_HOME");
    }
    CHECK_FALSE(folder.read("cache/basalt/models.json").empty());
    CHECK(folder.files() == 1);
}

TEST_CASE("where the file cannot be read or written a run goes on without it") {
    const TemporaryFolder folder;
    folder.write("a file", "");
    const RunModels in_a_file(folder.path("a file/models.json"));
    CHECK_FALSE(in_a_file.estimate(machine, lu_of(1000), FactorMode::gpu));
    CHECK_NOTHROW(in_a_file.record(machine, lu_of(1000), FactorMode::gpu, {0.5}));
    mkdir(folder.path("a folder").c_str(), 0755);
    const RunModels is_a_folder(folder.path("a folder"));
    CHECK_FALSE(is_a_folder.estimate(machine, lu_of(1000), FactorMode::gpu));
    CHECK_NOTHROW(is_a_folder.record(machine, lu_of(1000), FactorMode::gpu, {0.5}));
    CHECK(folder.files() == 2);
}

TEST_CASE("writers at the same time never leave a part of a file", "[sanitize]") {
    const TemporaryFolder folder;
    const std::string path = folder.path("models.json");
    constexpr int writers = 4, rounds = 20;
    // far apart: the last one that writes wins, and what another lost is not to be guessed from its neighbours
    const auto order = [](int w) { return 100 * static_cast<int>(std::pow(10, w)); };
    std::vector<std::thread> threads;
    for (int w = 0; w < writers; ++w) {
        threads.emplace_back([&, w] {
            const RunModels models(path);
            for (int r = 0; r < rounds; ++r) models.record(machine, lu_of(order(w)), FactorMode::gpu, {0.5 + w});
        });
    }
    int read = 0;
    std::string trouble;
    for (int tries = 0; tries < 1000000 && read < 200 && trouble.empty(); ++tries) {
        const std::string text = folder.read("models.json");
        if (text.empty()) continue;  // no writer has finished yet
        try {
            RunStore::parse(text);
            ++read;
        } catch (const std::exception& error) {
            trouble = error.what();
        }
    }
    for (std::thread& thread : threads) thread.join();
    CHECK(trouble.empty());
    CHECK(read == 200);
    CHECK(folder.files() == 1);  // no temporary file is left, and none was taken for a bad one
    bool some = false;
    for (int w = 0; w < writers; ++w) {
        const auto seconds = expected(path, lu_of(order(w)), FactorMode::gpu);
        if (seconds) CHECK(*seconds == Approx(0.5 + w).epsilon(1e-9));
        some = some || seconds.has_value();
    }
    CHECK(some);
}

TEST_CASE("the store drops the model whose latest run is the oldest") {
    RunStore store;
    basalt::RunKey key(machine, lu_of(1000), FactorMode::gpu);
    for (std::size_t i = 0; i <= RunStore::most_models; ++i) {
        key.options = std::to_string(i);
        store.add(key, static_cast<std::int64_t>(i == 0 ? 1 : 1000 - i), 1000, {1.0});
    }
    CHECK(store.models().size() == RunStore::most_models);
    key.options = "0";
    CHECK(store.find(key) == nullptr);
    key.options = std::to_string(RunStore::most_models);
    REQUIRE(store.find(key) != nullptr);
    const RunStore again = RunStore::parse(store.text());
    CHECK(again.text() == store.text());
    REQUIRE(again.find(key) != nullptr);
    CHECK(again.find(key)->samples.at(1000)->runs == 1);
}
