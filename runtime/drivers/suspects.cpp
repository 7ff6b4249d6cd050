#include "runtime/drivers/suspects.hpp"

#include <algorithm>
#include <cstddef>

namespace basalt::detail {

std::vector<Suspect> most_likely(std::vector<Suspect> suspects) {
    const auto is_copy = [](const Suspect& suspect) { return !computes(suspect.stream); };
    if (!std::all_of(suspects.begin(), suspects.end(), is_copy)) std::erase_if(suspects, is_copy);
    return suspects;
}

std::string fault_text(const std::vector<Suspect>& suspects, std::size_t chosen, const std::string& why) {
    std::string text =
        why + "; it is the first task of stream '" + name_of(suspects[chosen].stream) + "' that did not complete";
    if (suspects.size() == 1) return text;
    text += ". On other streams that is ";
    bool first = true;
    for (std::size_t i = 0; i < suspects.size(); ++i) {
        if (i == chosen) continue;
        text += (first ? "" : ", ") + task_label(*suspects[i].task) + " ('" + name_of(suspects[i].stream) + "')";
        first = false;
    }
    return text + ". One of them failed; CUDA_LAUNCH_BLOCKING=1 in the environment tells which one";
}

}  // namespace basalt::detail
