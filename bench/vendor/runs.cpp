#include "bench/vendor/runs.hpp"

#include <cmath>
#include <exception>
#include <optional>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

namespace bench {

using basalt::Index;

void VendorRuns::choose_block(const std::function<VendorRun(Index)>& run) {
    const auto rank = [](const VendorRun& r) { return std::pair(!(r.residual_ratio < max_ratio), r.seconds); };
    std::optional<VendorRun> best;
    std::exception_ptr refusal;
    for (const Index candidate : blocks) {
        try {
            if (!best) run(candidate);
            const VendorRun found = run(candidate);
            if (best && rank(*best) <= rank(found)) continue;
            best = found;
            block = candidate;
        } catch (const std::exception& error) {
            refusal = std::current_exception();
            fmt::print(stderr, "note: vendor, blocks of {} columns: {}\n", candidate, error.what());
        }
    }
    if (!best) std::rethrow_exception(refusal);
}

void VendorRuns::add(const VendorRun& run) {
    seconds.push_back(run.seconds);
    if (std::isnan(run.residual_ratio) || run.residual_ratio > residual_ratio) residual_ratio = run.residual_ratio;
}

std::string VendorRuns::verdict() const {
    if (vendor != GpuVendor::cusolvermg) return "";
    return fmt::format("; vendor, blocks of {}: {:.3g} {}", block, residual_ratio, passed() ? "passed" : "FAILED");
}

}  // namespace bench
