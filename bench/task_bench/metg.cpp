#include "bench/task_bench/metg.hpp"

#include <algorithm>

namespace bench {

namespace {

void find_metg(GridCurve& curve) {
    curve.metg_ns.reset();
    // From the small end: noise may push a larger size below one half.
    for (std::size_t i = curve.points.size(); i-- > 1;) {
        const GridPoint& above = curve.points[i - 1];
        const GridPoint& below = curve.points[i];
        if (above.efficiency < metg_threshold || below.efficiency >= metg_threshold) continue;
        const double part = (metg_threshold - below.efficiency) / (above.efficiency - below.efficiency);
        curve.metg_ns = below.granularity_ns + part * (above.granularity_ns - below.granularity_ns);
        return;
    }
}

}  // namespace

void rate_curves(std::vector<GridCurve>& curves) {
    for (GridCurve& curve : curves) {
        double best = 0;
        for (const GridCurve& other : curves) {
            if (other.workers != curve.workers) continue;
            for (const GridPoint& point : other.points) best = std::max(best, point.iterations_per_ns);
        }
        for (GridPoint& point : curve.points) point.efficiency = best > 0 ? point.iterations_per_ns / best : 0;
        find_metg(curve);
    }
}

}  // namespace bench
