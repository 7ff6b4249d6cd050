#include "apps/input/option_names.hpp"

#include <array>
#include <cctype>
#include <string_view>

namespace basalt {

namespace {

/// A field of the library's option structs and what sets it.
struct OptionName {
    std::string_view field;
    std::string_view option;
    const char* variable;  ///< of the setting; nullptr for an option without one
};

constexpr std::array option_words{
    OptionName{"gpu_panels_below", "--gpu-panels-below", nullptr},
    OptionName{"single_update_task", "--single-update-task", nullptr},
    OptionName{"broadcast_from_host", "--broadcast-from-host", nullptr},
    OptionName{"solve_by_inverse", "--plain-solve", nullptr},
    OptionName{"rows_on_cores", "--rows-on-cores", nullptr},
    OptionName{"left_looking", "--left-looking", nullptr},
    OptionName{"inner_width", "--inner-width", nullptr},
    OptionName{"panel_log", "--panel-log", nullptr},
    OptionName{"method", "--method", nullptr},
    OptionName{"tree", "--tree", nullptr},
    OptionName{"substitution", "--substitution", nullptr},
    OptionName{"substitution_lookahead", "--substitution-lookahead", nullptr},
    OptionName{"refinement", "--refinement", nullptr},
    OptionName{"iteration_limit", "--iteration-limit", nullptr},
    OptionName{"products", "--tf32", nullptr},
    OptionName{"mode", "--mode", "BASALT_MODE"},
    OptionName{"lookahead", "--lookahead", "BASALT_LOOKAHEAD"},
    OptionName{"panel_width", "--nb", "BASALT_NB"},
    OptionName{"panel_threads", "--panel-threads", "BASALT_PANEL_THREADS"},
    OptionName{"gpu_memory", "--gpu-mem", "BASALT_GPU_MEM"},
    OptionName{"scheduler", "--scheduler", "BASALT_SCHEDULER"},
    OptionName{"workers", "--cpus", "BASALT_WORKERS"},
    OptionName{"gpus", "--gpus", "BASALT_GPUS"},
};

bool is_part_of_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-'; }

/// The start of "Struct::" that ends at `end`; `end` where there is none.
std::size_t qualifier_begin(const std::string& text, std::size_t end) {
    if (end < 2 || text.compare(end - 2, 2, "::") != 0) return end;
    std::size_t begin = end - 2;
    while (begin > 0 && is_part_of_name(text[begin - 1])) --begin;
    return begin;
}

std::string name_in(const Settings& settings, const OptionName& name) {
    if (name.variable == nullptr) return std::string(name.option);
    const std::string& origin = settings.value(name.variable).origin;
    return origin == "default" ? std::string(name.option) : origin;
}

void replace(std::string& text, const OptionName& name, const std::string& option) {
    for (std::size_t at = text.find(name.field); at != text.npos; at = text.find(name.field, at)) {
        const std::size_t end = at + name.field.size();
        const std::size_t begin = qualifier_begin(text, at);
        const bool whole =
            (at == 0 || !is_part_of_name(text[at - 1])) && (end == text.size() || !is_part_of_name(text[end]));
        const bool assigned = text.compare(end, 3, " = ") == 0;
        if (!whole || (begin == at && !assigned)) {  // a word of the sentence
            at = end;
            continue;
        }
        text.replace(begin, end - begin, option);
        at = begin + option.size();
    }
}

}  // namespace

std::string in_terms_of_options(const std::string& message, const Settings& settings) {
    std::string text = message;
    for (const OptionName& name : option_words) replace(text, name, name_in(settings, name));
    return text;
}

}  // namespace basalt
