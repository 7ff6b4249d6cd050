#include "tasks/gpu_lu_state.hpp"

#include <algorithm>

#include "kernels/cpu/gemm.hpp"
#include "runtime/engine.hpp"

namespace basalt::detail {

namespace {

template <class T>
PanelLogs logs_of(const LuState<T>& lu, const LuChoices& choices) {
    if (!choices.panel_log || !lu.runtime.engine().trace().enabled()) return {};
    return {lu.runtime, lu.panels, lu.grid().rows()};
}

}  // namespace

template <class T>
GpuLuState<T>::GpuLuState(LuState<T>& lu, const LuChoices& choices)
    : lu(lu),
      gpus(lu.runtime.gpus()),
      deal(lu.a->deal()),
      memory_(lu.grid(), sizeof(T), choices, lu.runtime.engine().device(0).emulated()),
      nb(memory_.panel_width()),
      block_width(memory_.block_width()),
      panel_slots(memory_.panel_slots()),
      fitting(fitting_columns(
          lu.runtime, lu.grid(), sizeof(T), [&](Index columns) { return memory_.workspace(columns); },
          lu.a->adopted())),
      panels_come_home(choices.mode != LuMode::gpu || out_of_core() || !gpus_reach_each_other(lu.runtime)),
      logs(logs_of(lu, choices)),
      inverse_is_safe(lu.panels.size()) {
    register_panels();
    register_travelling(choices.mode);
    if (choices.mode != LuMode::gpu) register_packed();
    if (block_width > 0) register_blocks();
    register_on_devices();
}

template <class T>
void GpuLuState<T>::register_panels() {
    const Index m = lu.grid().rows(), panel = aligned(m * nb);
    const std::size_t bytes = static_cast<std::size_t>(panel_slots * panel) * sizeof(T);
    if (panels_come_home) {
        travelling_panels_ = PooledBuffer(lu.runtime.engine().pinned(), bytes);
    } else {
        panel_addresses_ = HostBuffer(bytes, HostBacking::untouched);
    }
    T* next = static_cast<T*>(panels_come_home ? travelling_panels_.data() : panel_addresses_.data());
    for (Index s = 0; s < panel_slots; ++s, next += panel) panels.emplace_back(lu.runtime, next, m, nb, "panel");
}

template <class T>
void GpuLuState<T>::register_travelling(LuMode mode) {
    Runtime& runtime = lu.runtime;
    const auto steps = static_cast<Index>(lu.panels.size());
    const Index inverted = mode == LuMode::gpu ? 0 : steps;  // of panels that cores factor

    const Index inverse = aligned(nb * inverted_block);
    const Index numbers = aligned(2 * nb), result = aligned(nb + 1), gate = aligned(1);
    const auto elements = static_cast<std::size_t>(inverted * inverse);
    const auto indices = static_cast<std::size_t>(steps * (numbers + result + gate));
    travelling_ = PooledBuffer(runtime.engine().pinned(), elements * sizeof(T) + indices * sizeof(Index));
    T* next = static_cast<T*>(travelling_.data());
    for (Index k = 0; k < inverted; ++k, next += inverse) {
        inverses.emplace_back(runtime, next, nb, inverted_block, "inverses");
    }
    Index* number = reinterpret_cast<Index*>(next);
    for (Index k = 0; k < steps; ++k, number += numbers) moves.emplace_back(runtime, number, 2 * nb, 1, "row moves");
    for (Index k = 0; k < steps; ++k, number += result) {
        results.emplace_back(runtime, number, nb + 1, 1, "pivots of a panel");
    }
    for (Index k = 0; k < steps; ++k, number += gate) gates.emplace_back(runtime, number, 1, 1, "gate");
}

template <class T>
void GpuLuState<T>::register_packed() {
    const Index block = aligned(packed_size<T>(nb, nb));
    packed_memory_ = HostBuffer(static_cast<std::size_t>(panel_slots * block) * sizeof(T));
    T* next = static_cast<T*>(packed_memory_.data());
    for (Index s = 0; s < panel_slots; ++s, next += block) packed.emplace_back(lu.runtime, next, block, 1, "packed U");
}

template <class T>
void GpuLuState<T>::register_blocks() {
    constexpr int slots = 2;  // one is gathered while the other is multiplied by
    const Index m = lu.grid().rows(), block = aligned(m * block_width);
    block_addresses_ = HostBuffer(static_cast<std::size_t>(slots * block) * sizeof(T),
                                  panels_come_home ? HostBacking::promised : HostBacking::untouched);
    T* next = static_cast<T*>(block_addresses_.data());
    for (int s = 0; s < slots; ++s, next += block)
        blocks.emplace_back(lu.runtime, next, m, block_width, "block of panels");
}

template <class T>
void GpuLuState<T>::register_on_devices() {
    Runtime& runtime = lu.runtime;
    const Index width = lu.grid().shape().width;
    const Index share = ceil_div(std::min(fitting.group, lu.grid().tile_cols()), gpus);
    const Index lead = aligned(nb * nb), rest = aligned(memory_.deepest() * width * share);
    const Index panel_numbers = memory_.panel_numbers();
    const Index lead_numbers = memory_.pieces_numbers(nb), rest_numbers = memory_.pieces_numbers(width * share);
    const Index all_numbers = panel_numbers + lead_numbers + rest_numbers;
    on_devices_ = HostBuffer(static_cast<std::size_t>(gpus * (lead + rest)) * sizeof(T) +
                                 static_cast<std::size_t>(gpus * all_numbers) * sizeof(Index),
                             HostBacking::untouched);
    T* next = static_cast<T*>(on_devices_.data());
    for (int g = 0; g < gpus; ++g) {
        lead_rows.emplace_back(runtime, next, lead, 1, "leading rows");
        rest_rows.emplace_back(runtime, next + lead, rest, 1, "top rows");
        next += lead + rest;
    }
    Index* number = reinterpret_cast<Index*>(next);
    for (int g = 0; g < gpus; ++g, number += all_numbers) {
        panel_workspaces.emplace_back(runtime, number, panel_numbers, 1, "panel workspace");
        lead_pieces.emplace_back(runtime, number + panel_numbers, lead_numbers, 1, "pieces");
        rest_pieces.emplace_back(runtime, number + panel_numbers + lead_numbers, rest_numbers, 1, "pieces");
    }
}

template struct GpuLuState<float>;
template struct GpuLuState<double>;

}  // namespace basalt::detail
