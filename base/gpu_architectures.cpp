#include "base/gpu_architectures.hpp"

#include <algorithm>
#include <charconv>
#include <sstream>

#ifndef BASALT_GPU_ARCHITECTURES
#define BASALT_GPU_ARCHITECTURES ""
#endif

namespace basalt {

const std::vector<std::string>& built_gpu_architectures() {
    static const std::vector<std::string> names = [] {
        std::istringstream words(BASALT_GPU_ARCHITECTURES);
        std::vector<std::string> all;
        for (std::string word; words >> word;) all.push_back(word);
        return all;
    }();
    return names;
}

int capability_of(std::string_view architecture) {
    const std::size_t underscore = architecture.find('_');
    if (underscore == std::string_view::npos) return 0;
    const std::string_view kind = architecture.substr(0, underscore), digits = architecture.substr(underscore + 1);
    if (kind != "sm" && kind != "compute") return 0;
    int number = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    return error == std::errc() && end == digits.data() + digits.size() ? number : 0;
}

bool has_code_for(const std::vector<std::string>& architectures, int capability) {
    return std::any_of(architectures.begin(), architectures.end(), [&](const std::string& name) {
        const int built = capability_of(name);
        const bool translated = name.starts_with("compute_");
        return built > 0 && built <= capability && (translated || built / 10 == capability / 10);
    });
}

std::string why_no_code_for(std::string_view architecture) {
    const std::vector<std::string>& built = built_gpu_architectures();
    if (has_code_for(built, capability_of(architecture))) return {};
    std::string list;
    for (const std::string& name : built) list += (list.empty() ? "" : ", ") + name;
    return "this build has no GPU kernels for " + std::string(architecture) + ", only for " +
           (list.empty() ? "none" : list) + "; configure with -Dgpu_architectures=" + std::string(architecture) +
           ", or auto on this machine";
}

}  // namespace basalt
