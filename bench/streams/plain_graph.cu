#include "bench/streams/plain_graph.hpp"

#include <stdexcept>
#include <string>

#include <cuda_runtime_api.h>

#include "bench/streams/spin.hpp"

namespace bench {

namespace {

void check(cudaError_t status, const char* call) {
    if (status != cudaSuccess) throw std::runtime_error(std::string(call) + ": " + cudaGetErrorString(status));
}

}  // namespace

struct PlainGraph::Handles {
    cudaStream_t stream = nullptr;
    cudaGraphExec_t executable = nullptr;

    Handles() = default;
    Handles(const Handles&) = delete;
    Handles& operator=(const Handles&) = delete;
    ~Handles() {
        if (executable != nullptr) cudaGraphExecDestroy(executable);
        if (stream != nullptr) cudaStreamDestroy(stream);
    }
};

PlainGraph::PlainGraph(int kernels) : handles_(std::make_unique<Handles>()) {
    check(cudaStreamCreateWithFlags(&handles_->stream, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
    check(cudaStreamBeginCapture(handles_->stream, cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
    const basalt::BorrowedStream stream(handles_->stream);
    for (int i = 0; i < kernels; ++i) spin(stream, 0);
    cudaGraph_t graph = nullptr;
    check(cudaStreamEndCapture(handles_->stream, &graph), "cudaStreamEndCapture");
    const cudaError_t status = cudaGraphInstantiate(&handles_->executable, graph, 0);
    cudaGraphDestroy(graph);
    check(status, "cudaGraphInstantiate");
}

PlainGraph::~PlainGraph() = default;

void PlainGraph::run(int runs) {
    for (int i = 0; i < runs; ++i) check(cudaGraphLaunch(handles_->executable, handles_->stream), "cudaGraphLaunch");
    check(cudaStreamSynchronize(handles_->stream), "cudaStreamSynchronize");
}

}  // namespace bench
