// The schedulers, by name.
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "basalt/runtime.hpp"
#include "basalt/scheduler.hpp"
#include "runtime/execution/scheduler.hpp"
#include "schedulers/fifo.hpp"
#include "schedulers/named_registry.hpp"
#include "schedulers/priority_stealing.hpp"
#include "schedulers/scheduler_of_program.hpp"

namespace basalt {

namespace {

using MakeScheduler = std::function<std::unique_ptr<detail::Scheduler>(const detail::Neighbours&)>;

detail::NamedRegistry<MakeScheduler>& schedulers() {
    static detail::NamedRegistry<MakeScheduler> registry(
        "scheduler",
        {{"priority",
          [](const detail::Neighbours& places) { return std::make_unique<detail::PriorityStealing>(places); }},
         {"fifo", [](const detail::Neighbours&) { return std::make_unique<detail::Fifo>(); }}});
    return registry;
}

}  // namespace

std::vector<std::string> scheduler_names() { return schedulers().names(); }

void register_scheduler(const std::string& name, SchedulerFactory factory) {
    if (!factory) return schedulers().add(name, nullptr);  // which refuses it
    schedulers().add(name, [name, factory = std::move(factory)](const detail::Neighbours& neighbours) {
        auto own = factory(detail::SchedulerOfProgram::places_of(neighbours));
        if (own == nullptr) throw UsageError("the factory of scheduler '" + name + "' returns none");
        return std::make_unique<detail::SchedulerOfProgram>(std::move(own));
    });
}

std::unique_ptr<detail::Scheduler> detail::make_scheduler(std::string_view name, const Neighbours& places) {
    return schedulers().maker(name)(places);
}

}  // namespace basalt
