#pragma once

#include <vector>

#include <basalt/device.hpp>
#include <basalt/tuning.hpp>

namespace basalt::detail {

/// Columns of a panel for matrices of order n: of the first entry whose up_to is at least n, otherwise 8.
int batch_width(const std::vector<GpuBatchWidth>& entries, Index n);

/// The tuning entry of the stream's device. For a stream of the user's that is the entry for GPU `device` by the file
/// that BASALT_TUNING names, or else by the built-in tables; they are read once.
const GpuTuning& tuning_of(Stream stream);

/// The lists of the precision.
template <class T>
const GpuBatchWidths& batch_widths(Stream stream) {
    const GpuTuning::Batch& batch = tuning_of(stream).batch;
    return sizeof(T) == 4 ? batch.single_precision : batch.double_precision;
}

}  // namespace basalt::detail
