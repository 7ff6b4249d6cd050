// The policies that choose places, by name.
#include <algorithm>
#include <mutex>
#include <string>
#include <utility>

#include "basalt/error.hpp"
#include "basalt/policy.hpp"
#include "runtime/placement/place_chooser.hpp"
#include "schedulers/heft.hpp"
#include "schedulers/owner.hpp"

namespace basalt {

namespace {

class PolicyRegistry {
  public:
    static PolicyRegistry& instance() {
        static PolicyRegistry registry;
        return registry;
    }

    void add(const std::string& name, PolicyFactory factory) {
        if (name.empty()) throw UsageError("register_policy: the name is empty");
        if (!factory) throw UsageError("register_policy: the factory of policy '" + name + "' is empty");
        const std::lock_guard guard(lock_);
        if (find(name) != entries_.end()) {
            throw UsageError("register_policy: there is a policy '" + name + "' already; taken are: " + all());
        }
        entries_.push_back({name, std::move(factory)});
    }

    std::unique_ptr<Policy> make(const std::string& name) {
        PolicyFactory factory;
        {
            const std::lock_guard guard(lock_);
            const auto entry = find(name);
            if (entry == entries_.end()) {
                throw UsageError("policy '" + name + "' is unknown; allowed are: " + all());
            }
            factory = entry->factory;
        }
        if (!factory) return nullptr;
        auto policy = factory();  // the user's: it may register others
        if (policy == nullptr) throw UsageError("the factory of policy '" + name + "' returns none");
        return policy;
    }

    std::vector<std::string> names() {
        const std::lock_guard guard(lock_);
        std::vector<std::string> names;
        for (const Entry& entry : entries_) names.push_back(entry.name);
        return names;
    }

  private:
    struct Entry {
        std::string name;
        PolicyFactory factory;  ///< empty: the runtime needs none
    };

    std::vector<Entry>::const_iterator find(const std::string& name) const {
        return std::find_if(entries_.begin(), entries_.end(), [&](const Entry& entry) { return entry.name == name; });
    }
    std::string all() const {
        std::string text;
        for (const Entry& entry : entries_) text += (text.empty() ? "" : ", ") + entry.name;
        return text;
    }

    std::mutex lock_;  // guards entries_
    std::vector<Entry> entries_{{"gpu", nullptr},
                                {"heft", [] { return std::make_unique<detail::Heft>(); }},
                                {"owner", [] { return std::make_unique<detail::Owner>(); }}};
};

}  // namespace

void register_policy(const std::string& name, PolicyFactory factory) {
    PolicyRegistry::instance().add(name, std::move(factory));
}

std::vector<std::string> policy_names() { return PolicyRegistry::instance().names(); }

std::unique_ptr<Policy> detail::make_policy(const std::string& name) { return PolicyRegistry::instance().make(name); }

}  // namespace basalt
