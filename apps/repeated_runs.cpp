#include "apps/repeated_runs.hpp"

#include <fmt/format.h>

#include "apps/exit_status.hpp"
#include "apps/interrupt.hpp"
#include "apps/progress.hpp"
#include "basalt/error.hpp"

namespace basalt {

Index run_repeatedly(Runtime& runtime, Index repeat, const RepeatedRun& run) {
    const Interrupt interrupt([&runtime] { runtime.cancel(); });
    Progress progress(run.flops * static_cast<double>(repeat), run.rate);
    Index runs = 0;
    try {
        while (runs < repeat && !Interrupt::requested()) {
            progress.begin_run(run.flops);
            run.once();
            ++runs;
            progress.end_run();
            run.tell();
        }
    } catch (const Cancelled&) {
        if (!Interrupt::requested()) throw;
    }
    return runs;
}

void require_completed(Index runs, Index repeat) {
    if (runs < repeat) throw Interrupted(fmt::format("interrupted after {} of {} runs", runs, repeat));
}

}  // namespace basalt
