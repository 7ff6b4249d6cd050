// Replaces the cuda_ files where the library is built without CUDA.
#include "basalt/cuda_info.hpp"
#include "runtime/device/cuda_graph.hpp"
#include "runtime/device/device.hpp"

namespace basalt {

CudaInfo cuda_info() { return {}; }

namespace detail {

std::vector<std::unique_ptr<Device>> make_cuda_devices(int, const TuningTables&) { return {}; }

// No stream is a real device's here, so nothing is ever captured.
struct CudaGraph::Handles {};
CudaGraph::CudaGraph() = default;
CudaGraph::~CudaGraph() = default;
bool CudaGraph::capture(Stream, const std::function<void()>&) { return false; }
void CudaGraph::launch(Stream) const {}

}  // namespace detail

}  // namespace basalt
