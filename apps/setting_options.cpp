#include "apps/setting_options.hpp"

#include <algorithm>

namespace basalt {

void add_setting_options(CLI::App& command, Settings& settings, const std::vector<std::string>& variables) {
    for (const auto& info : setting_table()) {
        if (std::find(variables.begin(), variables.end(), info.variable) == variables.end()) continue;
        command
            .add_option_function<std::string>(
                info.option,
                [&settings, &info](const std::string& text) {
                    settings.set(info.variable, text, info.option);
                },
                info.meaning)
            ->type_name("VALUE");
    }
}

}  // namespace basalt
