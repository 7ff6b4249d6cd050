#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "basalt/device.hpp"
#include "runtime/device/cuda_graph.hpp"
#include "runtime/recording/recorded_graph.hpp"

namespace basalt::detail {

/// Runs of recorded tasks as one task on one GPU: kernels are called one after the other on one stream, and
/// from the second run on what they enqueue is captured and launched as a CUDA graph.
class CapturedRun {
  public:
    /// Empty unless all tasks have a cuda kernel and the same GPU as their place.
    static std::unique_ptr<CapturedRun> of(const RecordedGraph& recorded);

    /// `recorded` outlives this.
    CapturedRun(const RecordedGraph& recorded, int gpu);
    ~CapturedRun();
    CapturedRun(const CapturedRun&) = delete;
    CapturedRun& operator=(const CapturedRun&) = delete;

    int gpu() const { return gpu_; }
    /// Whether all kernels have twins for emulated GPUs.
    bool emulates() const { return emulates_; }
    /// By any thread; how many runs were launched as a whole.
    std::uint64_t launches() const { return launches_.load(std::memory_order_relaxed); }

    /// Enqueues a run with the data there, by number. Runs of one recording on different streams take turns. Throws
    /// what a kernel throws, with the task's name in front, and CudaFailure.
    void enqueue(Stream stream, const std::vector<void*>& bases);

  private:
    /// The arguments of all kernels for data at certain addresses, and what was captured with them.
    struct Instance {
        std::vector<void*> bases;
        const void* stream = nullptr;  ///< handles and workspaces of libraries that were captured are this stream's
        std::vector<std::byte> arguments;
        std::size_t made = 0;  ///< tasks whose arguments are there
        CudaGraph graph;
        bool is_captured = false;  ///< with these addresses
    };
    Instance& instance_for(Stream stream, const std::vector<void*>& bases);
    void make_arguments(Instance& instance);
    void destroy_arguments(Instance& instance) noexcept;
    void call_kernels(Instance& instance, Stream stream) const;

    const RecordedGraph& recorded_;
    const int gpu_;
    bool emulates_ = true;
    std::vector<std::size_t> offsets_;  ///< of each task's arguments
    std::size_t argument_bytes_ = 0;

    std::mutex lock_;                // guards what follows
    std::list<Instance> instances_;  ///< used last first
    bool warm_ = false;              ///< a run has made what kernels make at their first call
    bool capturable_ = true;
    std::atomic<std::uint64_t> launches_{0};  ///< relaxed: a number for the program to look at
};

}  // namespace basalt::detail
