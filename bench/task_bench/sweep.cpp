#include "bench/task_bench/sweep.hpp"

#include <memory>
#include <stdexcept>
#include <string>

#include "bench/common/clock.hpp"
#include "bench/task_bench/task_systems.hpp"
#include "io/files/json_record.hpp"

namespace bench {

namespace {

/// Seconds of a run by a system of its own, whose threads are warm. (oneTBB limits threads for the whole process.)
/// Short runs are repeated: waking one sleeping thread would count as much as all their tasks.
double turn(const GridCurve& curve, const TaskGrid& grid, std::int64_t iterations) {
    constexpr double least_seconds = 0.02;
    let_others_rest(std::chrono::milliseconds(10));
    const std::unique_ptr<GridSystem> system = make_grid_system(curve.system, curve.workers);
    system->run(Work(grid, 0));
    std::vector<double> seconds;
    for (double total = 0; total < least_seconds; total += seconds.back()) {
        const Work work(grid, iterations);
        seconds.push_back(system->run(work));
        if (work.wrong() != 0) {
            throw std::runtime_error(curve.system + ": " + std::to_string(work.wrong()) + " inputs were wrong");
        }
    }
    return basalt::median(seconds);
}

bool runs_on(const GridCurve& curve) {
    return curve.points.empty() || curve.points.back().efficiency >= metg_threshold;
}

}  // namespace

void measure_curves(const TaskGrid& grid, const Sweep& sweep, std::vector<GridCurve>& curves) {
    const auto tasks = static_cast<double>(grid.tasks().size());
    for (const std::int64_t iterations : sweep.sizes) {
        std::vector<GridCurve*> running;
        for (GridCurve& curve : curves) {
            if (!sweep.ends_below_threshold || runs_on(curve)) running.push_back(&curve);
        }
        std::vector<std::vector<double>> seconds(running.size());
        for (int round = 0; round < sweep.rounds; ++round) {
            for (std::size_t i = 0; i < running.size(); ++i) seconds[i].push_back(turn(*running[i], grid, iterations));
        }
        for (std::size_t i = 0; i < running.size(); ++i) {
            const double ns = basalt::median(seconds[i]) * 1e9;
            running[i]->points.push_back(
                {iterations, ns * running[i]->workers / tasks, static_cast<double>(iterations) * tasks / ns});
        }
        rate_curves(curves);
    }
}

}  // namespace bench
