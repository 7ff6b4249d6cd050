// The schedulers, by name.
#include <algorithm>
#include <mutex>
#include <string>
#include <utility>

#include "basalt/runtime.hpp"
#include "basalt/scheduler.hpp"
#include "runtime/execution/scheduler.hpp"
#include "schedulers/fifo.hpp"
#include "schedulers/priority_stealing.hpp"
#include "schedulers/scheduler_of_program.hpp"

namespace basalt {

namespace {

class SchedulerRegistry {
  public:
    using Make = std::function<std::unique_ptr<detail::Scheduler>(const detail::Neighbours&)>;

    static SchedulerRegistry& instance() {
        static SchedulerRegistry registry;
        return registry;
    }

    void add(const std::string& name, Make make) {
        const std::lock_guard guard(lock_);
        if (find(name) != entries_.end()) {
            throw UsageError("register_scheduler: there is a scheduler '" + name + "' already; taken are: " + all());
        }
        entries_.push_back({name, std::move(make)});
    }

    Make maker(std::string_view name) {
        const std::lock_guard guard(lock_);
        const auto entry = find(name);
        if (entry != entries_.end()) return entry->make;
        throw UsageError("scheduler '" + std::string(name) + "' is unknown; allowed are: " + all());
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
        Make make;
    };

    std::vector<Entry>::const_iterator find(std::string_view name) const {
        return std::find_if(entries_.begin(), entries_.end(), [&](const Entry& entry) { return entry.name == name; });
    }
    std::string all() const {
        std::string text;
        for (const Entry& entry : entries_) text += (text.empty() ? "" : ", ") + entry.name;
        return text;
    }

    std::mutex lock_;  // guards entries_
    std::vector<Entry> entries_{
        {"priority",
         [](const detail::Neighbours& places) { return std::make_unique<detail::PriorityStealing>(places); }},
        {"fifo", [](const detail::Neighbours&) { return std::make_unique<detail::Fifo>(); }}};
};

}  // namespace

std::vector<std::string> scheduler_names() { return SchedulerRegistry::instance().names(); }

void register_scheduler(const std::string& name, SchedulerFactory factory) {
    if (name.empty()) throw UsageError("register_scheduler: the name is empty");
    if (!factory) throw UsageError("register_scheduler: the factory of scheduler '" + name + "' is empty");
    SchedulerRegistry::instance().add(name, [name, factory = std::move(factory)](const detail::Neighbours& neighbours) {
        auto own = factory(detail::SchedulerOfProgram::places_of(neighbours));
        if (own == nullptr) throw UsageError("the factory of scheduler '" + name + "' returns none");
        return std::make_unique<detail::SchedulerOfProgram>(std::move(own));
    });
}

std::unique_ptr<detail::Scheduler> detail::make_scheduler(std::string_view name, const Neighbours& places) {
    return SchedulerRegistry::instance().maker(name)(places);
}

}  // namespace basalt
