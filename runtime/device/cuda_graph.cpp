#include "runtime/device/cuda_graph.hpp"

#include <spdlog/spdlog.h>

#include "runtime/device/cuda_check.hpp"

namespace basalt::detail {

struct CudaGraph::Handles {
    cudaGraphExec_t executable = nullptr;

    ~Handles() { release(); }
    void release() {
        if (executable != nullptr) try_cuda(cudaGraphExecDestroy(executable), "cudaGraphExecDestroy");
        executable = nullptr;
    }
    /// A graph of the same shape is only updated, which takes a fraction of the time.
    bool update(cudaGraph_t graph) {
        if (executable == nullptr) return false;
        cudaGraphExecUpdateResultInfo result{};
        if (cudaGraphExecUpdate(executable, graph, &result) == cudaSuccess) return true;
        static_cast<void>(cudaGetLastError());  // another shape is no failure
        return false;
    }
};

namespace {

cudaStream_t native_of(Stream stream) { return static_cast<cudaStream_t>(stream.native()); }

/// Ends the capture; nullptr where it was spoilt.
cudaGraph_t end_capture(cudaStream_t stream) {
    cudaGraph_t graph = nullptr;
    const bool ended = try_cuda(cudaStreamEndCapture(stream, &graph), "cudaStreamEndCapture");
    if (!ended) static_cast<void>(cudaGetLastError());
    return ended ? graph : nullptr;
}

}  // namespace

CudaGraph::CudaGraph() : handles_(std::make_unique<Handles>()) {}
CudaGraph::~CudaGraph() = default;

bool CudaGraph::capture(Stream stream, const std::function<void()>& enqueue) {
    // this thread's own calls alone may spoil it
    check_cuda(cudaStreamBeginCapture(native_of(stream), cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
    bool complete = true;
    try {
        enqueue();
    } catch (const std::exception& error) {
        spdlog::debug("basalt: not captured as a CUDA graph: {}", error.what());
        complete = false;
    } catch (...) {
        complete = false;
    }
    cudaGraph_t graph = end_capture(native_of(stream));
    if (graph == nullptr) return false;
    if (complete && !handles_->update(graph)) {
        handles_->release();
        complete = try_cuda(cudaGraphInstantiate(&handles_->executable, graph, 0), "cudaGraphInstantiate");
        if (!complete) handles_->executable = nullptr;
    }
    try_cuda(cudaGraphDestroy(graph), "cudaGraphDestroy");
    return complete;
}

void CudaGraph::launch(Stream stream) const {
    check_cuda(cudaGraphLaunch(handles_->executable, native_of(stream)), "cudaGraphLaunch");
}

}  // namespace basalt::detail
