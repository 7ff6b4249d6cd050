#pragma once

#include <algorithm>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "basalt/error.hpp"

namespace basalt::detail {

/// Makers by name, such as those of schedulers. Thread-safe.
template <class Make>
class NamedRegistry {
  public:
    struct Entry {
        std::string name;
        Make make;
    };

    /// `kind` is the word of messages for one entry.
    NamedRegistry(const char* kind, std::vector<Entry> entries) : kind_(kind), entries_(std::move(entries)) {}

    /// Throws UsageError for an empty name or maker, and where the name is taken.
    void add(const std::string& name, Make make) {
        const std::string call = "register_" + kind_;
        if (name.empty()) throw UsageError(call + ": the name is empty");
        if (!make) throw UsageError(call + ": the factory of " + kind_ + " '" + name + "' is empty");
        const std::lock_guard guard(lock_);
        if (find(name) != entries_.end()) {
            throw UsageError(call + ": there is a " + kind_ + " '" + name + "' already; taken are: " + all());
        }
        entries_.push_back({name, std::move(make)});
    }

    /// A copy, so that no lock is held while the program's maker runs. Throws UsageError for an unknown name.
    Make maker(std::string_view name) const {
        const std::lock_guard guard(lock_);
        const auto entry = find(name);
        if (entry != entries_.end()) return entry->make;
        throw UsageError(kind_ + " '" + std::string(name) + "' is unknown; allowed are: " + all());
    }

    std::vector<std::string> names() const {
        const std::lock_guard guard(lock_);
        std::vector<std::string> names;
        for (const Entry& entry : entries_) names.push_back(entry.name);
        return names;
    }

  private:
    typename std::vector<Entry>::const_iterator find(std::string_view name) const {
        return std::find_if(entries_.begin(), entries_.end(), [&](const Entry& entry) { return entry.name == name; });
    }
    std::string all() const {
        std::string text;
        for (const Entry& entry : entries_) text += (text.empty() ? "" : ", ") + entry.name;
        return text;
    }

    const std::string kind_;
    mutable std::mutex lock_;  // guards entries_
    std::vector<Entry> entries_;
};

}  // namespace basalt::detail
