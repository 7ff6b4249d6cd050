// What was measured, by architecture. docs/decisions names the measurements: 0004 and 0005 for cores, 0007 for links,
// 0009 and 0010 for GPUs, 0011 for Cholesky, 0012 for QR.
#include <algorithm>
#include <array>
#include <charconv>
#include <string>

#include "basalt/error.hpp"
#include "basalt/tuning.hpp"
#include "base/instruction_set.hpp"

namespace basalt {

namespace {

constexpr std::size_t KiB = std::size_t{1} << 10, MiB = std::size_t{1} << 20;

/// Measured on Zen 5 and on the Xeons of machines with H200s, both with AVX-512.
CpuTuning avx512() {
    CpuTuning cpu;
    cpu.architecture = "avx512";
    cpu.copying_threads = 4;
    cpu.product_rows = 1024;
    cpu.lu.sizes = {{256, {128, 32}, 32}, {768, {256, 64}, 64}, {3000, {512, 128}, 128}, {any_size, {512, 256}, 256}};
    // A column costs every member an exchange of about half a microsecond whatever its rows, and 256 columns cost it
    // 1.3 us a row. On cores alone, a thread that is half idle in the panel is missed by the updates: 512 rows, where
    // waiting is a fifth. In hybrid mode the cores have little else to do, and the next panel is what the GPUs wait for
    // at the end: 256 rows, below which another thread gains next to nothing.
    cpu.lu.team = {.rows_a_thread = 512, .most = 16};
    cpu.lu.team_beside_gpus = {.rows_a_thread = 256, .most = 32};
    cpu.lu.panel_column_seconds = 8e-6;
    cpu.lu.panel_element_seconds = 3.5e-12;
    cpu.lu.update_rows = 2048;
    cpu.lu.solve_rows = 1024;
    cpu.lu.interchanged_columns = 128;
    cpu.lu.depth = {.columns = 512, .left_a_column = 4};
    cpu.cholesky.sizes = {{256, {128, 32}, 32},
                          {768, {256, 64}, 64},
                          {2000, {512, 128}, 128},
                          {5000, {512, 192}, 192},
                          {any_size, {512, 256}, 256}};
    cpu.cholesky.diagonal_seconds = 4e-4;
    cpu.cholesky.diagonal_rate = 20e9;
    cpu.cholesky.depth = {.columns = 512, .left_a_column = 4};
    cpu.cholesky.solve_rows = 256;  // below, a core takes longer to wake up
    cpu.qr.sizes = {{256, {128, 32}, 32}, {768, {256, 64}, 64}, {3200, {512, 128}, 128}, {any_size, {512, 192}, 192}};
    // below, a member's column of products costs no more than the meeting
    cpu.qr.team = {.rows_a_thread = 512, .most = 32};
    cpu.qr.shared_panels = 4;
    cpu.qr.panel_column_seconds = 20e-6;
    cpu.qr.panel_row_seconds = 3.4e-9;
    // with two threads: with more of them flat trees are deeper than they need to be, which was not measured
    cpu.qr.tile_sizes = {{512, {512, 128}, 32}, {any_size, {512, 128}, 64}};
    cpu.qr.tile_aspect = 3;
    cpu.qr.domain_aspect = 64;
    cpu.qr.domain_tiles = 8;
    cpu.qr.tree_bytes = 128e6;  // where it is as fast; below, twice the operations cost more than passes over memory
    cpu.qr.apply_rows = 512;
    cpu.qr.solve_rows = 1024;
    return cpu;
}

/// Nothing of it was measured apart; the exchange of a column, which the sizes hang on, is the same.
CpuTuning like_avx512(const char* architecture) {
    CpuTuning cpu = avx512();
    cpu.architecture = architecture;
    return cpu;
}

/// Measured: Cholesky's factorization on an H200 (decision 35), LU and QR on an H100 (decisions 34, 36). A narrow panel
/// has few registers, so that more blocks are resident. Where shared memory holds one or two blocks anyway, wide panels
/// have fewer barriers.
GpuTuning::Batch panels_of_batches() {
    const std::vector<GpuBatchWidth> cholesky{{128, 8}, {any_size, 32}}, qr{{96, 4}, {any_size, 8}};
    return {.single_precision = {cholesky, cholesky, {{any_size, 16}}, qr},
            .double_precision = {cholesky, cholesky, {{64, 8}, {any_size, 16}}, qr}};
}

/// Measured on H200s with NVLink, PCIe 5 and CUDA 13.
GpuTuning sm_90() {
    GpuTuning gpu;
    gpu.architecture = "sm_90";
    gpu.blas_workspace_bytes = 32 * MiB;  // what cuBLAS recommends for Hopper
    gpu.launch_seconds = 3.3e-6;
    // few blocks, as long as they hold the panel: the update runs at the same time
    gpu.panels = {{16384, GpuPanelDesign::cluster, 0, 0, 0},
                  {any_size, GpuPanelDesign::grid, 32, 0, 0},
                  {any_size, GpuPanelDesign::grid, 64, 0, 0},
                  {any_size, GpuPanelDesign::grid, 0, 0, 0}};
    gpu.fitting = {.fewest = 4, .enough = 12, .narrowest_tile = 64};
    gpu.links.peer_chunk_bytes = 1.1e6;  // 2.8 us: copy, event and wait
    gpu.links.host_chunk_bytes = 1.6e6;  // 4 us
    gpu.links.host_bytes_a_second = 55e9;
    gpu.links.peer_bytes_a_second = 382e9;
    gpu.links.least_ring_bytes = 4 * MiB;
    gpu.links.least_share_bytes = 256 * KiB;
    gpu.links.relay = {.blocks = 128, .warps = 3, .chunk_bytes = 8 * KiB};
    // a millisecond: hides what it costs to begin; an urgent copy need not wait long
    gpu.links.stripe_bytes = 64 * MiB;
    gpu.links.stripes_of_memory = 32;
    gpu.conversion = {.parts = 16, .least_bytes = 16 * MiB};
    gpu.lu.sizes = {{2047, 64, 128, 512},
                    {4096, 128, 128, 512},
                    {8192, 128, 256, 1024},
                    {16384, 256, 512, 4096},
                    {any_size, 256, 1024, 4096}};
    gpu.lu.resident = {.tile = 16384, .up_to = 65536};
    gpu.lu.deal = {.tile_columns_a_gpu = 8, .smallest_tile = 512, .widest_tile = 1024};
    gpu.lu.in_place = {.tile_columns = 16, .narrowest_tile = 512};
    gpu.lu.narrowing = {.left_a_panel_column = 16, .narrowest_panel = 128};
    gpu.lu.blocks = {.least_order = 32768, .width = 4096};
    gpu.lu.splitting = {.least_depth = 256, .least_multiplications = 0x1p31};
    gpu.lu.panel_room = {.multiprocessors = 32,
                         .column_seconds = 1.3e-6,
                         .element_seconds = 1.2e-10,
                         .multiplications_a_second = 2.65e14};
    gpu.lu.least_fp16_order = Index{1} << 39;  // never: rows of very different sizes lose digits
    gpu.lu.solved_at_once = 256;
    gpu.lu.leading_rows = 4096;  // all that its kernel takes
    gpu.lu.early_solves_from = 8192;
    gpu.lu.smallest_order = 2048;
    gpu.lu.update_rate = 50e12;
    gpu.lu.narrow_hybrid_below = 12288;
    gpu.lu.narrowest_hybrid_panel = 64;
    gpu.lu.wide_hybrid_above = 40960;
    gpu.lu.wide_hybrid_panel = 512;
    gpu.cholesky.sizes = {
        {2048, 128, 256, 2048}, {8192, 256, 512, 8192}, {32768, 512, 1024, 8192}, {any_size, 1024, 1024, 8192}};
    gpu.cholesky.deal = {.tile_columns_a_gpu = 8, .smallest_tile = 512, .widest_tile = 4096};
    gpu.cholesky.narrowing = {.left_a_panel_column = 8, .narrowest_panel = 256};
    gpu.cholesky.smallest_order = 2048;
    gpu.cholesky.update_rate = 42e12;
    gpu.cholesky.solve_rate = 4e12;
    gpu.cholesky.tile_height = 512;
    gpu.cholesky.least_split_order = 12288;
    gpu.cholesky.least_split_depth = 256;
    gpu.cholesky.least_split_side = 512;
    gpu.cholesky.wide_panels_from = 24576;  // measured on an H100
    gpu.cholesky.wide_panel = 2048;
    gpu.cholesky.batched_below = 2048;
    gpu.cholesky.leaf = {.columns = 128, .tile = 32};
    gpu.cholesky.fused_order = 8192;
    gpu.cholesky.fused_wide_from = 7168;
    gpu.cholesky.multiplications_during_panel = 4e10;
    gpu.qr.sizes = {{4096, 128, 128, 512},
                    {8192, 128, 256, 1024},
                    {16384, 128, 512, 4096},
                    {32768, 128, 1024, 4096},
                    {any_size, 256, 1024, 4096}};
    gpu.qr.deal = {.tile_columns_a_gpu = 8, .smallest_tile = 512, .widest_tile = 1024, .panels_alone_below = any_size};
    gpu.qr.narrowing = {.left_a_panel_column = 16, .narrowest_panel = 256};
    gpu.qr.splitting = {.least_depth = 256, .least_multiplications = 0x1p33};
    gpu.qr.least_work = 1e10;
    gpu.qr.update_rate = 45e12;
    gpu.qr.wide_leaves_from = Index{1} << 17;
    gpu.batch = panels_of_batches();
    return gpu;
}

/// An estimate: there are no clusters before Hopper, and the update runs at four fifths of what the vendor publishes
/// for products of doubles (19.5 Tflop/s for an A100); PCIe 4 moves half as much as PCIe 5.
GpuTuning sm_80() {
    GpuTuning gpu = sm_90();
    gpu.architecture = "sm_80";
    gpu.panels.erase(gpu.panels.begin());
    gpu.lu.leading_rows = 0;  // its kernel needs clusters
    gpu.lu.update_rate = 16e12;
    gpu.cholesky.fused_wide_from = gpu.cholesky.fused_order + 1;  // none: it takes more shared memory than there is
    gpu.cholesky.update_rate = 16e12;
    gpu.cholesky.multiplications_during_panel = 1.5e10;  // as much time at that rate
    gpu.cholesky.solve_rate = 1.5e12;
    gpu.qr.update_rate = 16e12;
    gpu.links.host_bytes_a_second = 25e9;
    gpu.links.peer_bytes_a_second = 250e9;
    gpu.links.relay = {};  // not measured there
    return gpu;
}

/// The same for cards whose doubles have a sixty-fourth of the rate of single precision (0.6 Tflop/s for an A40).
GpuTuning sm_86() {
    GpuTuning gpu = sm_80();
    gpu.architecture = "sm_86";
    gpu.links.peer_bytes_a_second = 25e9;  // by PCI Express
    gpu.lu.update_rate = 0.5e12;
    gpu.cholesky.update_rate = 0.5e12;
    gpu.cholesky.solve_rate = 0.25e12;
    gpu.qr.update_rate = 0.5e12;
    gpu.cholesky.smallest_order = Index{1} << 40;  // none: its panels are multiplied in doubles
    gpu.cholesky.fused_order = 0;                  // so is all of that
    gpu.cholesky.leaf.columns = 64;                // wider ones take more shared memory than these have
    return gpu;
}

/// The same for cards with Blackwell GPUs, whose blocks also have 99 KB of shared memory.
GpuTuning sm_120() {
    GpuTuning gpu = sm_86();
    gpu.architecture = "sm_120";
    return gpu;
}

/// From "sm_90" 90; 0 where the name is none of a GPU.
int capability(std::string_view architecture) {
    constexpr std::string_view prefix = "sm_";
    if (architecture.substr(0, prefix.size()) != prefix) return 0;
    const std::string_view digits = architecture.substr(prefix.size());
    int number = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    return error == std::errc() && end == digits.data() + digits.size() ? number : 0;
}

/// From the widest on.
constexpr std::array<std::string_view, 3> instruction_sets{"avx512", "avx2", "generic"};

std::size_t narrowness(std::string_view architecture) {
    return static_cast<std::size_t>(std::find(instruction_sets.begin(), instruction_sets.end(), architecture) -
                                    instruction_sets.begin());
}

/// The entry of least distance; the first of equals.
template <class Entry, class Distance>
const Entry& nearest(const std::vector<Entry>& entries, const char* list, const Distance& distance) {
    if (entries.empty())
        throw UsageError(std::string("TuningTables::") + list + " is empty; allowed is one entry or more");
    return *std::min_element(entries.begin(), entries.end(),
                             [&](const Entry& a, const Entry& b) { return distance(a) < distance(b); });
}

}  // namespace

const TuningTables& TuningTables::built_in() {
    static const TuningTables tables{{avx512(), like_avx512("avx2"), like_avx512("generic")},
                                     {sm_80(), sm_86(), sm_90(), sm_120()}};
    return tables;
}

const CpuTuning& TuningTables::for_cpu(std::string_view architecture) const {
    const std::size_t wanted = narrowness(architecture), apart = instruction_sets.size();
    return nearest(cpus, "cpus", [&](const CpuTuning& entry) {
        const std::size_t found = narrowness(entry.architecture);
        return found >= wanted ? found - wanted : apart + wanted - found;
    });
}

const GpuTuning& TuningTables::for_gpu(std::string_view architecture) const {
    constexpr int above = 1 << 20;
    const int wanted = capability(architecture);
    return nearest(gpus, "gpus", [&](const GpuTuning& entry) {
        const int found = capability(entry.architecture);
        return found <= wanted ? wanted - found : above + found - wanted;
    });
}

const char* cpu_architecture() { return widest_instruction_set(); }

}  // namespace basalt
