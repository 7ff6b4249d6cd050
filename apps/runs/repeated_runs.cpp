#include "apps/runs/repeated_runs.hpp"

#include <fmt/format.h>

#include "apps/exit_status.hpp"
#include "apps/runs/interrupt.hpp"
#include "apps/runs/progress.hpp"
#include "basalt/error.hpp"
#include "io/files/json_record.hpp"

namespace basalt {

namespace {

/// Takes the Cancelled that the next wait() would throw after a Ctrl-C. No Interrupt exists any more, whose thread
/// would cancel.
void clear_cancellation(Runtime& runtime) {
    if (!Interrupt::requested()) return;
    try {
        runtime.wait();
    } catch (const Cancelled&) {  // that of the signal
    }
}

}  // namespace

void until_interrupted(Runtime& runtime, const std::function<void()>& work) {
    {
        const Interrupt interrupt([&runtime] { runtime.cancel(); });
        try {
            work();
        } catch (const Cancelled&) {
            if (!Interrupt::requested()) throw;
        } catch (const Error&) {  // of data that a task should have written which was cancelled
            if (!Interrupt::requested() || !runtime.cancelled()) throw;
        }
    }
    clear_cancellation(runtime);
}

Index run_repeatedly(Runtime& runtime, Index repeat, const RepeatedRun& run) {
    Index runs = 0;
    until_interrupted(runtime, [&] {
        Progress progress(run.flops * static_cast<double>(repeat), run.rate);
        while (runs < repeat && !Interrupt::requested()) {
            progress.begin_run(run.flops);
            run.once();
            ++runs;
            progress.end_run();
            run.tell();
        }
    });
    return runs;
}

std::string median_line(const std::string& what, const std::vector<double>& seconds, double flops) {
    const double middle = median(seconds);
    return fmt::format("{}  median of {} runs  {:.4f} s  {:.2f} Gflop/s\n", what, seconds.size(), middle,
                       middle > 0 ? flops / middle * 1e-9 : 0);
}

void require_completed(Index runs, Index repeat) {
    if (runs < repeat) {
        throw Interrupted(fmt::format("interrupted after {} of {} runs", runs, repeat), Interrupt::status());
    }
}

}  // namespace basalt
