#include "apps/input/setting_options.hpp"

#include <algorithm>

namespace basalt {

const std::vector<std::string>& factor_settings() {
    static const std::vector<std::string> names = {
        "BASALT_WORKERS", "BASALT_SCHEDULER", "BASALT_MODE",  "BASALT_GPUS",      "BASALT_EMULATED_GPUS",
        "BASALT_GPU_MEM", "BASALT_DATA",      "BASALT_TILE",  "BASALT_LOOKAHEAD", "BASALT_PANEL_THREADS",
        "BASALT_TUNING",  "BASALT_MODELS",    "BASALT_TRACE", "BASALT_DOT",       "BASALT_JSON"};
    return names;
}

void add_setting_options(CLI::App& command, Settings& settings, const std::vector<std::string>& variables) {
    for (const auto& info : setting_table()) {
        if (std::find(variables.begin(), variables.end(), info.variable) == variables.end()) continue;
        command
            .add_option_function<std::string>(
                info.option,
                [&settings, &info](const std::string& text) { settings.set(info.variable, text, info.option); },
                info.initial.empty() ? info.meaning : info.meaning + " (default: " + info.initial + ")")
            ->type_name("VALUE");
    }
}

}  // namespace basalt
