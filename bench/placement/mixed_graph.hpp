#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "basalt/array.hpp"
#include "basalt/runtime.hpp"

namespace bench {

/// Milliseconds that a kernel sleeps: so two real cores do for four, and for GPUs. `gpu` is that of GPU 0; the
/// emulation makes the others slower.
struct KernelTimes {
    basalt::TaskName name;
    double core;
    double gpu;
};

/// The kernels of a tile Cholesky factorization. The panel suits a core, the rest suits a GPU, the products most.
struct CholeskyTimes {
    KernelTimes panel{"panel", 2, 4};
    KernelTimes solve{"solve", 6, 2};
    KernelTimes square{"square", 6, 2};
    KernelTimes product{"product", 12, 2};
};

/// Where the task that writes tile (i, j) runs.
using Placement = std::function<basalt::Place(const KernelTimes& kernel, int i, int j)>;

/// The graph of a Cholesky factorization of tiles x tiles tiles, without its arithmetic: 4 kinds of tasks, each of
/// which could run anywhere, and a critical path through all of them.
class MixedGraph {
  public:
    MixedGraph(basalt::Runtime& runtime, int tiles, std::size_t tile_bytes) : runtime_(runtime), tiles_(tiles) {
        const auto elements = static_cast<basalt::Index>(tile_bytes / sizeof(double));
        for (int i = 0; i < tiles * tiles; ++i) data_.emplace_back(runtime, elements);
    }

    int tasks() const { return tiles_ * (tiles_ + 1) * (tiles_ + 2) / 6; }

    /// Submits it all; the caller waits.
    void submit(const Placement& placement) {
        for (int k = 0; k < tiles_; ++k) {
            submit(times_.panel, k, k, placement, priority(k), readwrite(tile(k, k)));
            for (int i = k + 1; i < tiles_; ++i)
                submit(times_.solve, i, k, placement, priority(k), read(tile(k, k)), readwrite(tile(i, k)));
            for (int j = k + 1; j < tiles_; ++j) {
                submit(times_.square, j, j, placement, priority(j), read(tile(j, k)), readwrite(tile(j, j)));
                for (int i = j + 1; i < tiles_; ++i) {
                    submit(times_.product, i, j, placement, priority(j), read(tile(i, k)), read(tile(j, k)),
                           readwrite(tile(i, j)));
                }
            }
        }
    }

    /// The tiles come home, so that each run begins alike.
    void bring_home() {
        for (auto& tile : data_) tile.host_view();
    }

  private:
    basalt::Array<double>& tile(int i, int j) { return data_[static_cast<std::size_t>(i * tiles_ + j)]; }
    /// What is nearer to the next panel comes first.
    int priority(int column) const { return tiles_ - column; }

    template <class... Access>
    void submit(const KernelTimes& kernel, int i, int j, const Placement& placement, int priority, Access&&... access) {
        const auto sleep = [](double milliseconds) {
            std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(milliseconds));
        };
        runtime_.submit(
            {.name = kernel.name, .priority = priority, .tile = {i, j}, .place = placement(kernel, i, j)},
            std::forward<Access>(access)..., [sleep, ms = kernel.core] { sleep(ms); },
            basalt::detail::on_any_device<basalt::detail::KernelStreams::any>(
                [sleep, ms = kernel.gpu](basalt::Stream, auto&&...) { sleep(ms); }));
    }

    basalt::Runtime& runtime_;
    const int tiles_;
    const CholeskyTimes times_{};
    std::vector<basalt::Array<double>> data_;
};

}  // namespace bench
