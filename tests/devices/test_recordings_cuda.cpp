// Recordings whose runs are CUDA graphs on a real GPU.
#include <algorithm>
#include <cstddef>
#include <stdexcept>
#include <vector>

#include <cublas_v2.h>
#include <cuda_runtime_api.h>

#include "basalt/array.hpp"
#include "basalt/recording.hpp"
#include "basalt/runtime.hpp"
#include "tests/common/catch.hpp"
#include "tests/common/real_gpus.hpp"
#include "tests/common/watchdog.hpp"

using namespace basalt;
using namespace basalt_tests;

namespace {

using Arrays = std::vector<Array<double>>;

Config one_gpu() {
    Config config;
    config.workers = 2;
    config.gpus = 1;
    return config;
}

void check(cublasStatus_t status) {
    if (status != CUBLAS_STATUS_SUCCESS) throw std::runtime_error("cuBLAS refuses");
}

Arrays make_arrays(Runtime& rt, int count) {
    Arrays arrays;
    for (int i = 0; i < count; ++i) {
        arrays.emplace_back(rt, 1000);
        View<double> values = arrays.back().host_overwrite();
        for (Index k = 0; k < values.size(); ++k) values[k] = static_cast<double>(i + k % 7);
    }
    return arrays;
}

/// Half of its predecessor is added to each array, on the GPU.
void submit_chain(Runtime& rt, const Arrays& arrays) {
    for (std::size_t i = 1; i < arrays.size(); ++i) {
        rt.submit({.name = "add", .place = Place::gpu(0)}, read(arrays[i - 1]), readwrite(arrays[i]),
                  cuda([](Stream stream, View<const double> from, View<double> to) {
                      const double half = 0.5;
                      check(cublasDaxpy(static_cast<cublasHandle_t>(stream.blas()), static_cast<int>(to.size()), &half,
                                        from.data(), 1, to.data(), 1));
                  }));
    }
}

std::vector<double> values_of(const Arrays& arrays) {
    std::vector<double> values;
    for (const Array<double>& array : arrays) {
        const View<double> view = array.host_view();
        for (Index k = 0; k < view.size(); ++k) values.push_back(view[k]);
    }
    return values;
}

}  // namespace

TEST_CASE("a captured recording has the bits of its tasks, on data that change and with tasks of others between") {
    if (gpus_here() == 0) SKIP(no_gpu);
    const Watchdog watchdog;
    Runtime rt(one_gpu());
    const Arrays arrays = make_arrays(rt, 40), plain = make_arrays(rt, 40);
    const Arrays others = make_arrays(rt, 40), others_plain = make_arrays(rt, 40);
    Recording chain(
        rt, [&] { submit_chain(rt, arrays); }, RecordedOnGpu::captured);
    for (int run = 0; run < 6; ++run) {
        chain.run();
        submit_chain(rt, plain);
        for (const Arrays* set : {&arrays, &plain}) {
            rt.submit({}, readwrite((*set)[7]), [](View<double> v) { v[3] *= 0.25; });
        }
    }
    CHECK(values_of(arrays) == values_of(plain));
    CHECK(chain.captured_runs() == 5);
    for (int run = 0; run < 6; ++run) {
        chain.bind(arrays, run % 2 == 0 ? others : arrays);
        chain.run();
        submit_chain(rt, run % 2 == 0 ? others_plain : plain);
    }
    CHECK(values_of(arrays) == values_of(plain));
    CHECK(values_of(others) == values_of(others_plain));
    CHECK(chain.captured_runs() == 11);
    rt.wait();
}

TEST_CASE("kernels that cannot be captured are called in each run") {
    if (gpus_here() == 0) SKIP(no_gpu);
    const Watchdog watchdog;
    Runtime rt(one_gpu());
    const Arrays arrays = make_arrays(rt, 2), plain = make_arrays(rt, 2);
    const auto through_scratch = [&](const Arrays& set) {
        rt.submit({.name = "copies", .place = Place::gpu(0)}, read(set[0]), readwrite(set[1]),
                  cuda([](Stream stream, View<const double> from, View<double> to) {
                      const std::size_t bytes = sizeof(double) * static_cast<std::size_t>(to.size());
                      void* scratch = stream.scratch(bytes);
                      auto* native = static_cast<cudaStream_t>(stream.native());
                      cudaMemcpyAsync(scratch, from.data(), bytes, cudaMemcpyDeviceToDevice, native);
                      cudaMemcpyAsync(to.data(), scratch, bytes, cudaMemcpyDeviceToDevice, native);
                  }));
        submit_chain(rt, set);
    };
    Recording step(
        rt, [&] { through_scratch(arrays); }, RecordedOnGpu::captured);
    for (int run = 0; run < 4; ++run) {
        step.run();
        through_scratch(plain);
    }
    CHECK(values_of(arrays) == values_of(plain));
    CHECK(step.captured_runs() == 0);
    rt.wait();
}
