#include "tasks/batch/gpu_widths.hpp"

#include <cstddef>
#include <string>

#include <basalt/config.hpp>
#include <basalt/cuda_info.hpp>

namespace basalt::detail {

namespace {

/// Entries for the GPUs of this machine, by CUDA's numbers; of that of an H200 where there is none.
std::vector<GpuTuning> tuning_of_gpus() {
    const auto tuning = Config::from_environment().tuning;
    const TuningTables& tables = tuning ? *tuning : TuningTables::built_in();
    std::vector<GpuTuning> entries;
    for (const CudaGpu& gpu : cuda_info().gpus) {
        std::string architecture = "sm_" + gpu.capability;  // "9.0"
        std::erase(architecture, '.');
        entries.push_back(tables.for_gpu(architecture));
    }
    if (entries.empty()) entries.push_back(tables.for_gpu("sm_90"));
    return entries;
}

}  // namespace

int batch_width(const std::vector<GpuBatchWidth>& entries, Index n) {
    for (const GpuBatchWidth& entry : entries) {
        if (n <= entry.up_to) return entry.width;
    }
    return GpuBatchWidth().width;
}

const GpuTuning& tuning_of(Stream stream) {
    if (const GpuTuning* const tuning = stream.context()->tuning) return *tuning;
    static const std::vector<GpuTuning> entries = tuning_of_gpus();
    const auto device = static_cast<std::size_t>(stream.device());
    return entries[device < entries.size() ? device : 0];
}

}  // namespace basalt::detail
