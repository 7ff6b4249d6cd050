#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "basalt/runtime.hpp"
#include "tests/common/watchdog.hpp"

namespace basalt_tests {

/// What a runtime test runs under: a policy and a number of workers (more than there are cores, too).
struct Setting {
    std::string scheduler;
    int workers;

    basalt::Config config() const {
        basalt::Config config;
        config.workers = workers;
        config.scheduler = scheduler;
        return config;
    }
    std::string text() const { return scheduler + ", " + std::to_string(workers) + " workers"; }
    friend std::ostream& operator<<(std::ostream& out, const Setting& setting) { return out << setting.text(); }
};

/// The setting of a test, which failures name; the test ends when it hangs.
class WatchedSetting : public Setting {
  public:
    explicit WatchedSetting(const Setting& setting) : Setting(setting), shown_(text()), watchdog_(text()) {}

  private:
    const ShownText shown_;
    const Watchdog watchdog_;
};

/// Two workers and, if asked for, emulated GPUs, whatever the machine has.
inline basalt::Config small_machine(int emulated_gpus = 0) {
    basalt::Config config;
    config.workers = 2;
    config.gpus = 0;
    config.emulation.gpus = emulated_gpus;
    return config;
}

inline std::vector<Setting> every_setting(const std::vector<int>& workers = {1, 2, 4, 8}) {
    std::vector<Setting> settings;
    for (const std::string& scheduler : basalt::scheduler_names()) {
        for (const int count : workers) settings.push_back({scheduler, count});
    }
    return settings;
}

}  // namespace basalt_tests
