// A GPU task of your own: y = 2 x + y on whatever GPUs there are, then the sum of y on a core.
//
// The task carries two kernels, one for cores and one for GPUs (04_gpu_task.cu). The runtime picks a GPU, copies the
// data there, and brings them back for the sum: no cudaSetDevice, no copies here. Where there is no GPU, two emulated
// ones replace them, and the kernel for cores runs instead of the other.
#include <basalt/basalt.hpp>

#include <cstdio>
#include <exception>

using basalt::Index;
using basalt::View;

#ifdef WITH_CUDA
void axpy_on_gpu(basalt::Stream stream, double a, View<const double> x, View<double> y);  // 04_gpu_task.cu
#else
void axpy_on_gpu(basalt::Stream, double, View<const double>, View<double>) {}  // built without CUDA: never called
#endif

int main() try {
    constexpr Index n = 1'000'000, blocks = 8;

    basalt::Config config = basalt::Config::from_environment();
    if (basalt::Runtime probe(config); probe.gpus() == 0) config.emulation.gpus = 2;
    basalt::Runtime rt(config);
    for (const basalt::DeviceInfo& gpu : rt.devices()) std::printf("%s: %s\n", gpu.name.c_str(), gpu.model.c_str());

    double total = 0;
    {
        std::vector<basalt::Array<double>> x, y;
        for (Index b = 0; b < blocks; ++b) {
            x.emplace_back(rt, n);
            y.emplace_back(rt, n);
            rt.submit({.name = "fill"}, write(x.back()), write(y.back()), [](View<double> x, View<double> y) {
                for (Index i = 0; i < x.rows(); ++i) x[i] = 1, y[i] = 3;
            });
            // Place::any() is the default: a GPU, since there is a kernel for it; Place::gpu(1) would name one
            rt.submit(
                {.name = "axpy"}, read(x.back()), readwrite(y.back()),
                [](View<const double> x, View<double> y) {
                    for (Index i = 0; i < x.rows(); ++i) y[i] += 2 * x[i];
                },
                basalt::cuda(
                    [](basalt::Stream stream, View<const double> x, View<double> y) { axpy_on_gpu(stream, 2, x, y); }));
        }
        rt.wait();  // an error of a task, on a core or a GPU, would come out here
        for (const auto& part : y) {
            const View<double> values = part.host_view();  // home from the GPU
            for (Index i = 0; i < n; ++i) total += values[i];
        }
    }
    std::printf("the sum is %.0f\n", total);
    return total == 5.0 * n * blocks ? 0 : 1;
} catch (const std::exception& error) {  // what the library throws says what failed and where
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
}
