// The panel on one GPU: every design and cuSOLVER's getrf factor copies of one random matrix in turn, alone or while
// products run on a low-priority stream, as in an LU with lookahead.
#include "bench/panel/gpu.hpp"

#include <fstream>
#include <optional>
#include <stdexcept>
#include <vector>

#include "base/topology.hpp"
#include "bench/kernels/steady_update.hpp"
#include "bench/panel/contest.hpp"
#include "bench/panel/report.hpp"
#include "io/trace/trace_file.hpp"
#include "runtime/device/device.hpp"

namespace bench {

namespace {

using basalt::Index;
using basalt::detail::Device;

std::vector<Index> widths_of(const PanelOptions& options) {
    return options.widths.empty() ? std::vector<Index>{256} : options.widths;
}

template <class T>
void run(Device& device, const PanelOptions& options) {
    PanelReport report(options, device);
    basalt::Trace trace;
    std::optional<SteadyUpdate<T>> update;
    if (options.beside_update) update.emplace(device);
    for (const Index nb : widths_of(options)) {
        for (const Index m : options.heights) {
            PanelContest<T> contest(device, options, m, nb);
            contest.run(update ? &*update : nullptr);
            report.add(m, nb, contest.contestants());
            if (!options.log.empty()) contest.log(trace);
        }
    }
    if (options.log.empty()) return;
    std::ofstream file(options.log);
    write_chrome_trace(file, trace);
    if (!file.flush()) throw std::runtime_error("--log: " + options.log + " could not be written");
}

}  // namespace

void bench_panel_gpu(const PanelOptions& options) {
    const auto devices = basalt::detail::make_cuda_devices(1);
    if (devices.empty()) throw std::runtime_error("--mode gpu: no GPU");
    if (!options.log.empty() && options.precision == "s") {
        throw std::invalid_argument("--log with --precision s; panels log in double precision, d, alone");
    }
    devices.front()->attach_thread();
    constexpr int copies = 3;  // on the GPU; the host has two
    const std::vector<Index> widths = widths_of(options);
    require_panels_fit(options, widths, copies, devices.front()->name().c_str(), devices.front()->free_bytes());
    require_panels_fit(options, widths, copies - 1, "this machine", basalt::detail::usable_memory());
    options.precision == "s" ? run<float>(*devices.front(), options) : run<double>(*devices.front(), options);
}

}  // namespace bench
