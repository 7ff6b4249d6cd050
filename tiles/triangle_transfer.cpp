#include "tiles/triangle_transfer.hpp"

namespace basalt::detail {

double transfer_seconds(const GpuTuning& gpu, const TriangleStrips& strips, std::size_t element_size) {
    const double bytes = static_cast<double>(strips.elements()) * static_cast<double>(element_size);
    return bytes / gpu.links.host_bytes_a_second + static_cast<double>(strips.count()) * gpu.launch_seconds;
}

TriangleStrips strips_of_least_time(const GpuTuning& gpu, Index order, std::size_t element_size) {
    constexpr Index most = 64;  // the last of these strips saves less than a thousandth of the triangle
    TriangleStrips best(order, 1);
    double least = transfer_seconds(gpu, best, element_size);
    for (Index count = 2; count <= std::min(order, most); ++count) {
        const TriangleStrips strips(order, count);
        const double seconds = transfer_seconds(gpu, strips, element_size);
        if (seconds >= least) continue;
        best = strips;
        least = seconds;
    }
    return best;
}

}  // namespace basalt::detail
