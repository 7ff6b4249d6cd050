#include "bench/vendor/gpus.hpp"

#include <numeric>
#include <optional>
#include <stdexcept>
#include <type_traits>

// The vendor marks the whole library deprecated. It is still the vendor's only library for several GPUs of one host.
#define DISABLE_CUSOLVERMG_DEPRECATED
#include <cuda_runtime_api.h>
#include <cusolverMg.h>

#include "bench/common/clock.hpp"
#include "bench/common/gpu_check.hpp"
#include "bench/vendor/cuda_type.hpp"
#include "bench/vendor/gpu.hpp"
#include "bench/versus/dealt_matrix.hpp"
#include "runtime/device/cuda_check.hpp"

namespace bench {

using basalt::DealtView;
using basalt::Index;
using basalt::detail::CurrentDevice;

namespace {

/// A runtime of ours shares the GPUs' contexts and may have enabled peer access before.
void enable_peer_access(int gpu, int peer) {
    const CurrentDevice current(gpu);
    int possible = 0;
    check_cuda(cudaDeviceCanAccessPeer(&possible, gpu, peer), "cudaDeviceCanAccessPeer");
    if (possible == 0) {
        throw std::runtime_error("cuSOLVERMg: GPU " + std::to_string(gpu) + " does not reach GPU " +
                                 std::to_string(peer) + ", which it needs");
    }
    const cudaError_t status = cudaDeviceEnablePeerAccess(peer, 0);
    if (status == cudaErrorPeerAccessAlreadyEnabled) {
        static_cast<void>(cudaGetLastError());
    } else {
        check_cuda(status, "cudaDeviceEnablePeerAccess");
    }
}

}  // namespace

struct VendorGpus::State {
    cusolverMgHandle_t handle = nullptr;
    std::vector<int> gpus;

    ~State() {
        if (handle != nullptr) cusolverMgDestroy(handle);
    }
};

VendorGpus::VendorGpus(int gpus) : state_(std::make_unique<State>()) {
    State& s = *state_;
    s.gpus.resize(static_cast<std::size_t>(gpus));
    std::iota(s.gpus.begin(), s.gpus.end(), 0);
    for (const int gpu : s.gpus) {
        for (const int peer : s.gpus) {
            if (gpu != peer) enable_peer_access(gpu, peer);
        }
    }
    const CurrentDevice current(0);
    check_cusolver(cusolverMgCreate(&s.handle), "cusolverMgCreate");
    check_cusolver(cusolverMgDeviceSelect(s.handle, gpus, s.gpus.data()), "cusolverMgDeviceSelect");
}
VendorGpus::~VendorGpus() = default;

namespace {

/// A matrix as cuSOLVERMg sees it, and its workspace.
template <class T>
class Described {
  public:
    Described(const VendorGpus::State& vendor, const DealtView<T>& a)
        : handle(vendor.handle), order(static_cast<int>(a.rows)), parts(a.parts.begin(), a.parts.end()) {
        const auto gpus = static_cast<int>(vendor.gpus.size());
        if (a.rows != a.columns.cols() || !(a.columns.deal() == basalt::ColumnDeal(basalt::Deal::cyclic, gpus))) {
            throw std::invalid_argument("cuSOLVERMg: the matrix is not square or not dealt to its GPUs in turn");
        }
        check_cusolver(
            cusolverMgCreateDeviceGrid(&grid_, 1, gpus, vendor.gpus.data(), CUDALIBMG_GRID_MAPPING_COL_MAJOR),
            "cusolverMgCreateDeviceGrid");
        const cusolverStatus_t status =
            cusolverMgCreateMatrixDesc(&matrix, a.rows, a.rows, a.rows, a.columns.block(), type_of<T>, grid_);
        if (status != CUSOLVER_STATUS_SUCCESS) cusolverMgDestroyGrid(grid_);
        check_cusolver(status, "cusolverMgCreateMatrixDesc");
    }
    ~Described() {
        cusolverMgDestroyMatrixDesc(matrix);
        cusolverMgDestroyGrid(grid_);
    }
    Described(const Described&) = delete;
    Described& operator=(const Described&) = delete;

    int gpus() const { return static_cast<int>(parts.size()); }

    /// Allocates `elements` elements on each GPU.
    void make_workspace(std::int64_t elements) {
        workspace_elements = elements;
        for (int gpu = 0; gpu < gpus(); ++gpu) {
            memory_.push_back(std::make_unique<GpuMemory>(static_cast<std::size_t>(elements) * sizeof(T), gpu));
            workspaces.push_back(memory_.back()->data());
        }
    }

    /// Seconds of call(), which returns a status.
    template <class Call>
    double timed(const char* name, const Call& call) {
        synchronize_gpus(gpus());
        const double start = now();
        check_cusolver(call(), name);
        synchronize_gpus(gpus());
        const double seconds = now() - start;
        // the library asks again for peer access that it has; the error that CUDA keeps is not the next call's
        static_cast<void>(cudaGetLastError());
        return seconds;
    }

    const cusolverMgHandle_t handle;
    const int order;
    cudaLibMgMatrixDesc_t matrix = nullptr;
    std::vector<void*> parts, workspaces;
    std::int64_t workspace_elements = 0;
    int info = -1;

  private:
    cudaLibMgGrid_t grid_ = nullptr;
    std::vector<std::unique_ptr<GpuMemory>> memory_;
};

}  // namespace

template <class T>
struct VendorLuGpus<T>::State {
    Described<T> a;
    DealtMatrix<int> pivots;  // dealt as the matrix's columns are
};

template <class T>
VendorLuGpus<T>::VendorLuGpus(const VendorGpus& vendor, const DealtView<T>& a) {
    const CurrentDevice current(0);
    state_.reset(new State{{vendor.state(), a}, {1, a.columns}});
    Described<T>& d = state_->a;
    std::vector<int*> pivots = state_->pivots.view().parts;
    std::int64_t elements = 0;
    check_cusolver(cusolverMgGetrf_bufferSize(d.handle, d.order, d.order, d.parts.data(), 1, 1, d.matrix, pivots.data(),
                                              type_of<T>, &elements),
                   "cusolverMgGetrf_bufferSize");
    d.make_workspace(elements);
}
template <class T>
VendorLuGpus<T>::~VendorLuGpus() = default;

template <class T>
double VendorLuGpus<T>::factor() {
    Described<T>& d = state_->a;
    std::vector<int*> pivots = state_->pivots.view().parts;
    return d.timed("cusolverMgGetrf", [&] {
        return cusolverMgGetrf(d.handle, d.order, d.order, d.parts.data(), 1, 1, d.matrix, pivots.data(), type_of<T>,
                               d.workspaces.data(), d.workspace_elements, &d.info);
    });
}

template <class T>
int VendorLuGpus<T>::info() const {
    return state_->a.info;
}

template <class T>
std::vector<Index> VendorLuGpus<T>::pivots() const {
    std::vector<int> all(static_cast<std::size_t>(state_->a.order));
    copy_columns(state_->pivots.view(), whole(all.data(), 1, state_->a.order));
    return {all.begin(), all.end()};
}

template <class T>
struct VendorCholeskyGpus<T>::State {
    Described<T> a;
};

template <class T>
VendorCholeskyGpus<T>::VendorCholeskyGpus(const VendorGpus& vendor, const DealtView<T>& a) {
    const CurrentDevice current(0);
    state_.reset(new State{{vendor.state(), a}});
    Described<T>& d = state_->a;
    std::int64_t elements = 0;
    check_cusolver(cusolverMgPotrf_bufferSize(d.handle, CUBLAS_FILL_MODE_LOWER, d.order, d.parts.data(), 1, 1, d.matrix,
                                              type_of<T>, &elements),
                   "cusolverMgPotrf_bufferSize");
    d.make_workspace(elements);
}
template <class T>
VendorCholeskyGpus<T>::~VendorCholeskyGpus() = default;

template <class T>
double VendorCholeskyGpus<T>::factor() {
    Described<T>& d = state_->a;
    return d.timed("cusolverMgPotrf", [&] {
        return cusolverMgPotrf(d.handle, CUBLAS_FILL_MODE_LOWER, d.order, d.parts.data(), 1, 1, d.matrix, type_of<T>,
                               d.workspaces.data(), d.workspace_elements, &d.info);
    });
}

template <class T>
int VendorCholeskyGpus<T>::info() const {
    return state_->a.info;
}

std::string vendor_gpus_version() {
    const std::string version = vendor_gpu_version();
    return "cuSOLVERMg" + version.substr(version.find(' '));
}

template class VendorLuGpus<float>;
template class VendorLuGpus<double>;
template class VendorCholeskyGpus<float>;
template class VendorCholeskyGpus<double>;

}  // namespace bench
