// The policies that choose places, by name.
#include <memory>
#include <string>
#include <utility>

#include "basalt/error.hpp"
#include "basalt/policy.hpp"
#include "runtime/placement/place_chooser.hpp"
#include "schedulers/heft.hpp"
#include "schedulers/named_registry.hpp"
#include "schedulers/owner.hpp"

namespace basalt {

namespace {

detail::NamedRegistry<PolicyFactory>& policies() {
    static detail::NamedRegistry<PolicyFactory> registry("policy",
                                                         {{"gpu", nullptr},  // the runtime needs none
                                                          {"heft", [] { return std::make_unique<detail::Heft>(); }},
                                                          {"owner", [] { return std::make_unique<detail::Owner>(); }}});
    return registry;
}

}  // namespace

void register_policy(const std::string& name, PolicyFactory factory) { policies().add(name, std::move(factory)); }

std::vector<std::string> policy_names() { return policies().names(); }

std::unique_ptr<Policy> detail::make_policy(const std::string& name) {
    const PolicyFactory factory = policies().maker(name);
    if (!factory) return nullptr;
    auto policy = factory();  // the user's: it may register others
    if (policy == nullptr) throw UsageError("the factory of policy '" + name + "' returns none");
    return policy;
}

}  // namespace basalt
