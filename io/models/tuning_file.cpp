// Tuning files: JSON of the form {"cpu": {"avx512": {...}}, "gpu": {"sm_90": {...}}} with the names of
// base/tuning_fields.hpp.
#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <limits>
#include <stdexcept>
#include <system_error>
#include <type_traits>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "basalt/error.hpp"
#include "basalt/tuning.hpp"
#include "base/tuning_fields.hpp"
#include "io/files/atomic_file.hpp"
#include "io/files/json_text.hpp"
#include "io/files/quoted_text.hpp"
#include "io/files/small_file.hpp"

namespace basalt {

namespace {

using Json = nlohmann::ordered_json;

constexpr const char* any_size_text = "any";
constexpr std::size_t most_tuning_bytes = std::size_t{16} << 20;

/// A visitor that makes a JSON object of the numbers of an entry.
class Writer {
  public:
    Json object = Json::object();

    template <class T>
    void number(std::string_view name, const T& value, T, T) {
        object[std::string(name)] = value;
    }
    template <class Numbers>
    void choice(std::string_view name, const int& value, const Numbers&) {
        object[std::string(name)] = value;
    }
    void size(std::string_view name, const Index& value) {
        object[std::string(name)] = value == any_size ? Json(any_size_text) : Json(value);
    }
    void design(std::string_view name, const GpuPanelDesign& value) {
        object[std::string(name)] = panel_design_names[static_cast<std::size_t>(value)];
    }
    template <class F>
    void group(std::string_view name, const F& visit) {
        Writer inner;
        visit(inner);
        object[std::string(name)] = std::move(inner.object);
    }
    template <class Element, class F>
    void list(std::string_view name, const std::vector<Element>& elements, ListLength, const F& visit) {
        Json array = Json::array();
        for (const Element& element : elements) {
            Writer inner;
            visit(inner, element);
            array.push_back(std::move(inner.object));
        }
        object[std::string(name)] = std::move(array);
    }
};

[[noreturn]] void refuse(const std::string& path, const Json& value, const std::string& allowed) {
    throw UsageError(fmt::format("{} = {}; allowed is {}", path, short_json(value), allowed));
}

enum class Completeness {
    partial,   ///< names that an object lacks leave the entry as it is
    complete,  ///< an object that lacks a name is an error
};

/// A visitor that stores the numbers of an object in an entry. `path` names the object: the file and the keys.
class EntryReader {
  public:
    EntryReader(const Json& object, std::string path, Completeness completeness)
        : object_(object), path_(std::move(path)), completeness_(completeness) {
        if (!object.is_object()) refuse(path_, object, "an object");
    }

    template <class T>
    void number(std::string_view name, T& value, T low, T high) {
        const Json* const found = find(name);
        if (found == nullptr) return;
        const auto allowed = [&] { return fmt::format("{} to {}", low, high); };
        if constexpr (std::is_floating_point_v<T>) {
            if (!found->is_number()) refuse(path_of(name), *found, allowed());
            const T number = found->template get<T>();
            if (!(low <= number && number <= high)) refuse(path_of(name), *found, allowed());
            value = number;
        } else {
            const Index number = integer(name, *found, allowed());
            if (number < static_cast<Index>(low) || number > static_cast<Index>(high)) {
                refuse(path_of(name), *found, allowed());
            }
            value = static_cast<T>(number);
        }
    }

    template <class Numbers>
    void choice(std::string_view name, int& value, const Numbers& allowed) {
        const Json* const found = find(name);
        if (found == nullptr) return;
        const std::string numbers = fmt::format("{}", fmt::join(allowed, ", "));
        const Index number = integer(name, *found, numbers);
        const auto position = std::find(allowed.begin(), allowed.end(), number);
        if (position == allowed.end()) refuse(path_of(name), *found, numbers);
        value = *position;
    }

    void size(std::string_view name, Index& value) {
        const Json* const found = find(name);
        if (found == nullptr) return;
        if (*found == any_size_text) {
            value = any_size;
            return;
        }
        const std::string allowed = fmt::format("\"{}\" or a whole number from 0 on", any_size_text);
        const Index number = integer(name, *found, allowed);
        if (number < 0) refuse(path_of(name), *found, allowed);
        value = number;
    }

    void design(std::string_view name, GpuPanelDesign& value) {
        const Json* const found = find(name);
        if (found == nullptr) return;
        const auto position = std::find_if(panel_design_names.begin(), panel_design_names.end(),
                                           [&](std::string_view known) { return *found == known; });
        if (position == panel_design_names.end()) {
            refuse(path_of(name), *found, fmt::format("{}", fmt::join(panel_design_names, ", ")));
        }
        value = static_cast<GpuPanelDesign>(position - panel_design_names.begin());
    }

    template <class F>
    void group(std::string_view name, const F& visit) {
        const Json* const found = find(name);
        if (found == nullptr) return;
        EntryReader inner(*found, path_of(name), completeness_);
        visit(inner);
        inner.refuse_others();
    }

    template <class Element, class F>
    void list(std::string_view name, std::vector<Element>& elements, ListLength, const F& visit) {
        const Json* const found = find(name);
        if (found == nullptr) return;
        if (!found->is_array()) refuse(path_of(name), *found, "a list");
        elements.clear();
        for (const Json& item : *found) {
            EntryReader inner(item, fmt::format("{}[{}]", path_of(name), elements.size()), Completeness::complete);
            visit(inner, elements.emplace_back());
            inner.refuse_others();
        }
    }

    /// Throws where the object has a name that none of the calls above has asked for.
    void refuse_others() const {
        for (const auto& [name, value] : object_.items()) {
            if (std::find(known_.begin(), known_.end(), name) != known_.end()) continue;
            throw UsageError(fmt::format("{}: no such name; allowed are {}", path_of(name), fmt::join(known_, ", ")));
        }
    }

  private:
    std::string path_of(std::string_view name) const { return fmt::format("{}.{}", path_, cut_text(name)); }

    const Json* find(std::string_view name) {
        known_.emplace_back(name);
        const auto found = object_.find(std::string(name));
        if (found != object_.end()) return &*found;
        if (completeness_ == Completeness::complete) throw UsageError(fmt::format("{} is missing", path_of(name)));
        return nullptr;
    }

    Index integer(std::string_view name, const Json& found, const std::string& allowed) const {
        const bool fits =
            found.is_number_integer() &&
            (!found.is_number_unsigned() || found.get<std::uint64_t>() <= static_cast<std::uint64_t>(any_size));
        if (!fits) refuse(path_of(name), found, allowed);
        return found.get<Index>();
    }

    const Json& object_;
    const std::string path_;
    const Completeness completeness_;
    std::vector<std::string> known_;
};

/// The entry of that architecture. If there is none, it is made as a copy of `nearest`.
template <class Entry>
Entry& entry_of(std::vector<Entry>& entries, const Entry& nearest, const std::string& architecture) {
    const auto found = std::find_if(entries.begin(), entries.end(),
                                    [&](const Entry& entry) { return entry.architecture == architecture; });
    if (found != entries.end()) return *found;
    Entry entry = nearest;
    entry.architecture = architecture;
    entries.push_back(std::move(entry));
    return entries.back();
}

bool is_gpu(std::string_view name) {
    constexpr std::string_view prefix = "sm_", digits = "0123456789";
    const std::string_view number = name.substr(std::min(prefix.size(), name.size()));
    return name.substr(0, prefix.size()) == prefix && (number.size() == 2 || number.size() == 3) &&
           number.front() != '0' && number.find_first_not_of(digits) == number.npos;
}

void read_cpus(TuningTables& tables, const Json& cpus, const std::string& path) {
    if (!cpus.is_object()) refuse(path, cpus, "an object");
    for (const auto& [name, numbers] : cpus.items()) {
        if (name != "avx512" && name != "avx2" && name != "generic") {
            throw UsageError(
                fmt::format("{}.{}: no such instruction set; allowed are avx512, avx2, generic", path, cut_text(name)));
        }
        EntryReader reader(numbers, fmt::format("{}.{}", path, name), Completeness::partial);
        visit_cpu_tuning(reader, entry_of(tables.cpus, tables.for_cpu(name), name));
        reader.refuse_others();
    }
}

void read_gpus(TuningTables& tables, const Json& gpus, const std::string& path) {
    if (!gpus.is_object()) refuse(path, gpus, "an object");
    for (const auto& [name, numbers] : gpus.items()) {
        if (!is_gpu(name)) {
            throw UsageError(
                fmt::format("{}.{}: no such architecture; allowed is sm_ with a compute capability, "
                            "e.g. sm_90",
                            path, cut_text(name)));
        }
        EntryReader reader(numbers, fmt::format("{}.{}", path, name), Completeness::partial);
        visit_gpu_tuning(reader, entry_of(tables.gpus, tables.for_gpu(name), name));
        reader.refuse_others();
    }
}

}  // namespace

TuningTables read_tuning_file(const std::string& path) {
    Json json;
    try {
        const auto text = read_small_file(path, most_tuning_bytes, FileKind::any);
        if (!text) throw std::runtime_error(std::generic_category().message(ENOENT));
        json = parse_json(*text);
    } catch (const std::runtime_error& error) {
        throw UsageError(fmt::format("{}: {}; allowed is a tuning file", path, error.what()));
    }
    if (!json.is_object()) refuse(path, json, "an object with \"cpu\" and \"gpu\"");
    TuningTables tables = TuningTables::built_in();
    for (const auto& [name, value] : json.items()) {
        if (name == "cpu") {
            read_cpus(tables, value, path + ": cpu");
        } else if (name == "gpu") {
            read_gpus(tables, value, path + ": gpu");
        } else {
            throw UsageError(fmt::format("{}: {}: no such name; allowed are cpu, gpu", path, cut_text(name)));
        }
    }
    tables.check(path);
    return tables;
}

void write_tuning_file(const std::string& path, const TuningTables& tables) {
    Json json = {{"cpu", Json::object()}, {"gpu", Json::object()}};
    for (const CpuTuning& entry : tables.cpus) {
        Writer writer;
        visit_cpu_tuning(writer, entry);
        json["cpu"][entry.architecture] = std::move(writer.object);
    }
    for (const GpuTuning& entry : tables.gpus) {
        Writer writer;
        visit_gpu_tuning(writer, entry);
        json["gpu"][entry.architecture] = std::move(writer.object);
    }
    const auto folder = std::filesystem::path(path).parent_path();
    if (!folder.empty()) std::filesystem::create_directories(folder);
    write_file_atomically(path, json.dump(2) + '\n');
}

}  // namespace basalt
