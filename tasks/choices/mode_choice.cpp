#include "tasks/choices/mode_choice.hpp"
#include "runtime/engine/gpu_data.hpp"
#include "runtime/engine/runtime_access.hpp"

#include <fmt/format.h>

namespace basalt::detail {

void Differences::note_products(std::optional<ProductPrecision> products) {
    if (products == ProductPrecision::plain) return note("plain-products");
    note_if(products && products != ProductPrecision::split_bf16, "{}",
            name_of(products.value_or(ProductPrecision::plain)));
}

namespace {

constexpr double worth_a_change = 0.97;

}  // namespace

ModeChoice learnt_mode(const Runtime& runtime, FactorMode by_rule, const std::vector<FactorMode>& modes,
                       const std::function<RunCase(FactorMode)>& case_of) {
    const auto ruled = runtime.expected_run(case_of(by_rule), by_rule);
    if (!ruled) return {by_rule, "by the tuning tables, since nothing was learnt of such runs"};
    FactorMode best = by_rule;
    RunEstimate least = *ruled;
    std::string others;
    const auto tell = [&others](FactorMode mode, const RunEstimate& estimate) {
        others += fmt::format("{}{} {:.3g} s", others.empty() ? "" : ", ", name_of(mode), estimate.seconds);
    };
    tell(by_rule, *ruled);
    for (const FactorMode mode : modes) {
        if (mode == by_rule) continue;
        const auto estimate = runtime.expected_run(case_of(mode), mode);
        if (!estimate) continue;
        tell(mode, *estimate);
        const double limit = best == by_rule ? worth_a_change * ruled->seconds : least.seconds;
        if (estimate->seconds >= limit) continue;
        best = mode;
        least = *estimate;
    }
    return {.mode = best,
            .reason = fmt::format("from {} runs near that size: {} expected", least.runs, others),
            .learnt = true};
}

ModeChoice choose_mode(const Runtime& runtime, FactorMode asked, const ModeRules& rules) {
    const bool free = asked == FactorMode::automatic;
    const int gpus = free ? gpu_data(runtime).gpus_to_deal_to() : runtime.gpus();
    FactorMode by_rule = rules.by_tables(gpus);
    if (!free) return {by_rule, "as asked for"};
    if (gpus == 0) return {by_rule, "there is no GPU to deal work to"};
    std::vector<FactorMode> modes = rules.modes(gpus);
    if (rules.without_cpu) {
        std::erase(modes, FactorMode::cpu);
        if (modes.empty()) return {by_rule, "no other mode has these options"};
        if (by_rule == FactorMode::cpu) by_rule = modes.back();
    }
    return learnt_mode(runtime, by_rule, modes, rules.case_of);
}

}  // namespace basalt::detail
