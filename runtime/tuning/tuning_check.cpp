#include <algorithm>
#include <string>
#include <type_traits>

#include "basalt/error.hpp"
#include "base/tuning_fields.hpp"

namespace basalt {

namespace {

template <class T>
std::string text_of(T value) {
    if constexpr (std::is_floating_point_v<T>) {
        std::string text(32, ' ');
        text.resize(
            static_cast<std::size_t>(std::snprintf(text.data(), text.size(), "%g", static_cast<double>(value))));
        return text;
    } else {
        return std::to_string(value);
    }
}

/// A visitor (base/tuning_fields.hpp) that refuses values out of range. `path` names the struct that they are in.
class Checker {
  public:
    explicit Checker(std::string path) : path_(std::move(path)) {}

    template <class T>
    void number(std::string_view name, const T& value, T low, T high) {
        if (!(low <= value && value <= high)) refuse(name, text_of(value), text_of(low) + " to " + text_of(high));
    }
    template <class Numbers>
    void choice(std::string_view name, const int& value, const Numbers& allowed) {
        if (std::find(allowed.begin(), allowed.end(), value) != allowed.end()) return;
        std::string numbers;
        for (const int number : allowed) numbers += (numbers.empty() ? "" : ", ") + text_of(number);
        refuse(name, text_of(value), numbers);
    }
    void size(std::string_view name, const Index& value) {
        if (value < 0) refuse(name, text_of(value), "at least 0");
    }
    void design(std::string_view name, const GpuPanelDesign& value) {
        const auto number = static_cast<std::size_t>(value);
        if (number >= panel_design_names.size()) refuse(name, text_of(number), "the values of GpuPanelDesign");
    }
    template <class F>
    void group(std::string_view name, const F& visit) {
        Checker inner(path_ + '.' + std::string(name));
        visit(inner);
    }
    template <class Element, class F>
    void list(std::string_view name, const std::vector<Element>& elements, ListLength length, const F& visit) {
        if (elements.empty() && length == ListLength::one_or_more) refuse(name, "[]", "one entry or more");
        for (std::size_t i = 0; i < elements.size(); ++i) {
            Checker inner(path_ + '.' + std::string(name) + '[' + std::to_string(i) + ']');
            visit(inner, elements[i]);
            if (i > 0 && elements[i].up_to < elements[i - 1].up_to) {
                inner.refuse("up_to", text_of(elements[i].up_to), "not below its predecessor");
            }
        }
    }

  private:
    [[noreturn]] void refuse(std::string_view name, const std::string& value, const std::string& allowed) const {
        throw UsageError(path_ + '.' + std::string(name) + " = " + value + "; allowed is " + allowed);
    }

    const std::string path_;
};

template <class Entry>
std::string path_of(std::string_view origin, const char* kind, const Entry& entry) {
    return std::string(origin) + ": " + kind + '.' + entry.architecture;
}

}  // namespace

void TuningTables::check(std::string_view origin) const {
    for_cpu("generic");
    for_gpu("sm_90");
    for (const CpuTuning& entry : cpus) {
        Checker checker(path_of(origin, "cpu", entry));
        visit_cpu_tuning(checker, entry);
    }
    for (const GpuTuning& entry : gpus) {
        Checker checker(path_of(origin, "gpu", entry));
        visit_gpu_tuning(checker, entry);
    }
}

}  // namespace basalt
