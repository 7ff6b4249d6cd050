#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/spdlog.h>

#include "basalt/run_models.hpp"
#include "basalt/runtime.hpp"
#include "base/byte_size.hpp"
#include "tests/common/catch.hpp"

using namespace basalt;

namespace {

/// Variables of the environment for the time of a test.
class Environment {
  public:
    explicit Environment(const std::vector<std::pair<std::string, std::string>>& variables) {
        for (const auto& [name, value] : variables) {
            setenv(name.c_str(), value.c_str(), 1);
            names_.push_back(name);
        }
    }
    ~Environment() {
        for (const std::string& name : names_) unsetenv(name.c_str());
    }
    Environment(const Environment&) = delete;
    Environment& operator=(const Environment&) = delete;

  private:
    std::vector<std::string> names_;
};

/// What a runtime takes from these variables, and the warnings about them.
std::pair<Config, std::string> config_of(const std::vector<std::pair<std::string, std::string>>& variables) {
    const Environment environment(variables);
    const auto before = spdlog::default_logger();
    std::ostringstream warnings;
    spdlog::set_default_logger(
        std::make_shared<spdlog::logger>("test", std::make_shared<spdlog::sinks::ostream_sink_mt>(warnings)));
    Config config = Config::from_environment();
    spdlog::set_default_logger(before);
    return {std::move(config), warnings.str()};
}

}  // namespace

TEST_CASE("a byte size is a whole number with K, M, G, T or nothing after it") {
    const auto size = [](std::size_t bytes) { return std::optional<std::size_t>(bytes); };
    CHECK(parse_byte_size("0") == size(0));
    CHECK(parse_byte_size("12345") == size(12345));
    CHECK(parse_byte_size("1K") == size(1024));
    CHECK(parse_byte_size("512M") == size(std::size_t{512} << 20));
    CHECK(parse_byte_size("3G") == size(std::size_t{3} << 30));
    CHECK(parse_byte_size("2T") == size(std::size_t{2} << 40));
    CHECK(parse_byte_size("18446744073709551615") == size(~std::size_t{0}));
    CHECK(parse_byte_size("16777215T") == size(std::size_t{16777215} << 40));
    for (const char* text : {"", "K", "-1", "+1", " 1", "1 ", "1.5G", "1GB", "1g", "1KK", "0x10",
                             "18446744073709551616", "16777216T", "99999999999999999999"}) {
        INFO(text);
        CHECK(parse_byte_size(text) == std::nullopt);
    }
}

TEST_CASE("a runtime takes workers, policy and GPUs from the environment") {
    const auto [config, warnings] = config_of({{"BASALT_WORKERS", "3"},
                                               {"BASALT_SCHEDULER", "fifo"},
                                               {"BASALT_POLICY", "heft"},
                                               {"BASALT_WINDOW", "77"},
                                               {"BASALT_BIND", "0"},
                                               {"BASALT_GPUS", "2"},
                                               {"BASALT_EMULATED_GPUS", "4"},
                                               {"BASALT_GPU_MEM", "3G"},
                                               {"BASALT_GPU_STREAMS", "5"},
                                               {"BASALT_DATA", "device"},
                                               {"BASALT_WATCHDOG", "30"},
                                               {"BASALT_DOT", "graph.dot"},
                                               {"BASALT_MODELS", "/some/models.json"}});
    CHECK(warnings.empty());
    CHECK(config.workers == 3);
    CHECK(config.scheduler == "fifo");
    CHECK(config.policy == "heft");
    CHECK(config.window == 77);
    CHECK_FALSE(config.bind);
    CHECK(config.gpus == 2);
    CHECK(config.emulation.gpus == 4);
    CHECK(config.gpu_memory == std::size_t{3} << 30);
    CHECK(config.gpu_streams == 5);
    CHECK(config.watchdog == std::chrono::seconds(30));
    REQUIRE(config.drawing);
    CHECK(config.drawing->file == "graph.dot");
    CHECK(config.models == "/some/models.json");
    CHECK(config_of({}).first.models.empty());
    CHECK(config_of({{"BASALT_MODELS", "none"}}).first.models.empty());
    CHECK(config_of({{"BASALT_MODELS", "auto"}}).first.models == basalt::RunModels::default_path());
}

TEST_CASE("values that are not allowed and unknown names are ignored with a warning that names them") {
    const auto [config, warnings] = config_of({{"BASALT_GPUS", "all"},
                                               {"BASALT_EMULATED_GPUS", "9"},
                                               {"BASALT_GPU_MEM", "3 GB"},
                                               {"BASALT_GPU_STREAMS", "17"},
                                               {"BASALT_TUNING", "/nowhere.json"},
                                               {"BASALT_POLICY", "luck"},
                                               {"BASALT_WATCHDOG", "-1"},
                                               {"BASALT_COLOUR", "grey"}});
    CHECK_FALSE(config.gpus);
    CHECK(config.emulation.gpus == 0);
    CHECK(config.gpu_memory == 0);
    CHECK(config.gpu_streams == 8);
    CHECK(config.tuning == nullptr);
    CHECK(config.policy == "gpu");
    CHECK(config.watchdog.count() == 0);
    CHECK_FALSE(config.drawing);
    for (const char* words : {"BASALT_GPUS = 'all' is ignored; allowed: -1 to 8", "BASALT_EMULATED_GPUS = '9'",
                              "BASALT_GPU_MEM = '3 GB'", "BASALT_GPU_STREAMS = '17' is ignored; allowed: 1 to 16",
                              "BASALT_POLICY = 'luck' is ignored; allowed: gpu, heft, owner",
                              "BASALT_TUNING is ignored: /nowhere.json: No such file",
                              "BASALT_WATCHDOG = '-1' is ignored; allowed: 0 to 86400",
                              "BASALT_COLOUR in the environment is no such setting"}) {
        INFO(warnings);
        CHECK(warnings.find(words) != std::string::npos);
    }
}
