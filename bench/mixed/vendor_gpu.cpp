#include "bench/mixed/vendor.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <stdexcept>

#include <cuda_runtime_api.h>
#include <cusolverDn.h>

#include "bench/common/clock.hpp"
#include "io/files/json_record.hpp"

namespace bench {

namespace {

using basalt::Index;

void check(cudaError_t status) {
    if (status != cudaSuccess) throw std::runtime_error(cudaGetErrorString(status));
}
void check(cusolverStatus_t status) {
    if (status != CUSOLVER_STATUS_SUCCESS) throw std::runtime_error("cuSOLVER: status " + std::to_string(status));
}

/// Memory of the GPU.
class DeviceBytes {
  public:
    explicit DeviceBytes(std::size_t bytes) { check(cudaMalloc(&memory_, std::max<std::size_t>(bytes, 1))); }
    ~DeviceBytes() { cudaFree(memory_); }
    DeviceBytes(const DeviceBytes&) = delete;
    DeviceBytes& operator=(const DeviceBytes&) = delete;
    template <class T>
    T* as() const {
        return static_cast<T*>(memory_);
    }

  private:
    void* memory_ = nullptr;
};

using Solver = cusolverStatus_t (*)(cusolverDnHandle_t, cusolver_int_t, cusolver_int_t, double*, cusolver_int_t,
                                    cusolver_int_t*, double*, cusolver_int_t, double*, cusolver_int_t, void*, size_t,
                                    cusolver_int_t*, cusolver_int_t*);
using Sizes = cusolverStatus_t (*)(cusolverDnHandle_t, cusolver_int_t, cusolver_int_t, double*, cusolver_int_t,
                                   cusolver_int_t*, double*, cusolver_int_t, double*, cusolver_int_t, void*, size_t*);

struct Contestant {
    const char* name;
    Sizes sizes;
    Solver solve;
    bool refines;
};

constexpr std::array contestants{Contestant{"dgesv", cusolverDnDDgesv_bufferSize, cusolverDnDDgesv, false},
                                 Contestant{"dsgesv", cusolverDnDSgesv_bufferSize, cusolverDnDSgesv, true},
                                 Contestant{"dxgesv (tf32)", cusolverDnDXgesv_bufferSize, cusolverDnDXgesv, true},
                                 Contestant{"dbgesv (bf16)", cusolverDnDBgesv_bufferSize, cusolverDnDBgesv, true},
                                 Contestant{"dhgesv (fp16)", cusolverDnDHgesv_bufferSize, cusolverDnDHgesv, true}};

}  // namespace

std::vector<VendorRun> vendor_refinement(Index n, Index nrhs, int repeat, const basalt::Generator<double>& a,
                                         const std::vector<double>& b) {
    const auto elements = static_cast<std::size_t>(n * n), sides = static_cast<std::size_t>(n * nrhs);
    const DeviceBytes kept(elements * sizeof(double)), matrix(elements * sizeof(double)), right(sides * sizeof(double)),
        solution(sides * sizeof(double)), pivots(static_cast<std::size_t>(n) * sizeof(cusolver_int_t)),
        info(sizeof(cusolver_int_t));
    std::vector<double> columns;
    constexpr Index at_once = 256;
    for (Index first = 0; first < n; first += at_once) {
        const Index cols = std::min(at_once, n - first);
        columns.resize(static_cast<std::size_t>(n * cols));
        a.fill(basalt::View<double>::column_major(columns.data(), n, cols, n), 0, first);
        check(cudaMemcpy(kept.as<double>() + first * n, columns.data(), columns.size() * sizeof(double),
                         cudaMemcpyHostToDevice));
    }
    check(cudaMemcpy(right.as<double>(), b.data(), sides * sizeof(double), cudaMemcpyHostToDevice));
    cusolverDnHandle_t handle = nullptr;
    check(cusolverDnCreate(&handle));
    std::vector<VendorRun> runs;
    for (const Contestant& c : contestants) {
        const auto order = static_cast<cusolver_int_t>(n), count = static_cast<cusolver_int_t>(nrhs);
        std::size_t bytes = 0;
        check(c.sizes(handle, order, count, matrix.as<double>(), order, pivots.as<cusolver_int_t>(), right.as<double>(),
                      order, solution.as<double>(), order, nullptr, &bytes));
        const DeviceBytes workspace(bytes);
        std::vector<double> seconds;
        cusolver_int_t iterations = 0;
        for (int round = -1; round < repeat; ++round) {  // the first one warms up
            check(cudaMemcpy(matrix.as<double>(), kept.as<double>(), elements * sizeof(double),
                             cudaMemcpyDeviceToDevice));
            check(cudaDeviceSynchronize());
            const double start = now();
            check(c.solve(handle, order, count, matrix.as<double>(), order, pivots.as<cusolver_int_t>(),
                          right.as<double>(), order, solution.as<double>(), order, workspace.as<char>(), bytes,
                          &iterations, info.as<cusolver_int_t>()));
            check(cudaDeviceSynchronize());
            if (round >= 0) seconds.push_back(now() - start);
        }
        runs.push_back({c.name, basalt::median(seconds), static_cast<int>(iterations), c.refines});
    }
    cusolverDnDestroy(handle);
    return runs;
}

}  // namespace bench
