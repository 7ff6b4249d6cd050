#pragma once

#include <cstddef>

#include "basalt/qr.hpp"
#include "runtime/engine/gpu_data.hpp"
#include "runtime/engine/runtime_access.hpp"

namespace basalt::detail {

/// How QR factors a copy of an m x n matrix: the method, the tiles of the copy, and the place that makes it.
template <class T>
struct QrCopyPlan {
    QrCopyPlan(Runtime& runtime, const QrOptions& given, Index m, Index n) {
        constexpr char precision = sizeof(T) == sizeof(float) ? 's' : 'd';
        options =
            with_chosen_qr_method(runtime.tuning(), given,
                                  choose_qr_mode(runtime, given, {.m = m, .n = n, .precision = precision}).mode, m, n);
        const bool on_cores = options.mode == QrMode::cpu;
        const int gpus = on_cores ? 0 : gpu_data(runtime).gpus_to_deal_to();
        tile = default_qr_tile(runtime.tuning(), m, n, gpus, options.method);
        if (!on_cores) tile = fitting_tile(runtime, tile, m, n, sizeof(T));
        place = on_cores ? Place::cpu() : Place::any();
    }

    QrOptions options;  ///< with mode and method
    TileShape tile;
    Place place = Place::cpu();
};

}  // namespace basalt::detail
