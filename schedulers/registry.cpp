#include <string>

#include "basalt/runtime.hpp"
#include "runtime/execution/scheduler.hpp"
#include "schedulers/fifo.hpp"
#include "schedulers/priority_stealing.hpp"

namespace basalt {

const std::vector<std::string>& scheduler_names() {
    static const std::vector<std::string> names{"priority", "fifo"};
    return names;
}

namespace detail {

std::unique_ptr<Scheduler> make_scheduler(std::string_view name, const Neighbours& places) {
    if (name == "priority") return std::make_unique<PriorityStealing>(places);
    if (name == "fifo") return std::make_unique<Fifo>();
    std::string allowed;
    for (const std::string& known : scheduler_names()) allowed += (allowed.empty() ? "" : ", ") + known;
    throw UsageError("scheduler '" + std::string(name) + "' is unknown; allowed are: " + allowed);
}

}  // namespace detail

}  // namespace basalt
