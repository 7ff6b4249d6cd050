// Blocks of one matrix on GPUs and cores at once: A^T A, scaled. The program's own column-major memory is wrapped where
// it lies and cut into blocks; each block is computed wherever there is room, and only blocks travel. Then the same
// memory is cut in another way, without waiting: each column is scaled as soon as its blocks are done.
#include <basalt/basalt.hpp>

#include <array>
#include <cmath>
#include <cstdio>
#include <exception>
#include <vector>

using basalt::Index, basalt::Partition, basalt::Place, basalt::View;

namespace {

constexpr Index n = 96, m = 200, ld = n + 8, blocks = 4;  // C is n x n, A is m x n

double element(Index i, Index j) { return static_cast<double>((3 * i + 5 * j) % 11) - 5; }

/// C = A^T B for column-major views, whose leading dimension is their own: in place on cores, packed on GPUs.
void multiply(View<const double> a, View<const double> b, View<double> c) {
    for (Index j = 0; j < c.cols(); ++j) {
        for (Index i = 0; i < c.rows(); ++i) {
            double sum = 0;
            for (Index k = 0; k < a.rows(); ++k) sum += a(k, i) * b(k, j);
            c(i, j) = sum;
        }
    }
}

}  // namespace

int main() try {
    const std::array places{Place::gpu(0), Place::gpu(1), Place::cpu()};
    basalt::Config config;
    config.gpus = 0;
    config.emulation.gpus = 2;  // these run the kernels for cores; with real GPUs, cuda() calls kernels of CUDA
    basalt::Runtime rt(config);

    std::vector<double> memory(ld * n);  // the program's own matrix, with a gap behind each column
    const auto a = basalt::Array2D<double>(rt, m, n, "A");
    const auto c = basalt::wrap2d(rt, memory.data(), n, n, ld, "C");
    const Partition<double> a_strips = a.split(1, blocks), squares = c.split(blocks, blocks), columns = c.split(1, n);

    for (const auto& strip : a_strips) {
        rt.submit({.name = "fill"}, write(strip), [first = strip.col()](View<double> v) {
            for (Index j = 0; j < v.cols(); ++j) {
                for (Index i = 0; i < v.rows(); ++i) v(i, j) = element(i, first + j);
            }
        });
    }
    for (Index i = 0; i < blocks; ++i) {
        for (Index j = 0; j < blocks; ++j) {
            const Place place = places[(i + j) % 3];
            rt.submit({.name = "multiply", .place = place}, read(a_strips[i]), read(a_strips[j]), write(squares(i, j)),
                      multiply, basalt::cuda([](basalt::Stream) {}));
        }
    }
    for (Index j = 0; j < n; ++j) {
        rt.submit({.name = "scale"}, readwrite(columns[j]), [j](View<double> column) {
            for (Index i = 0; i < n; ++i) column(i, 0) /= static_cast<double>(j + 1);
        });
    }
    rt.wait();  // the contents are in the program's memory

    double error = 0;
    for (Index j = 0; j < n; ++j) {
        for (Index i = 0; i < n; ++i) {
            double sum = 0;
            for (Index k = 0; k < m; ++k) sum += element(k, i) * element(k, j);
            error = std::fmax(error, std::fabs(memory[i + j * ld] - sum / static_cast<double>(j + 1)));
        }
    }
    std::printf("blocks of %d x %d matrices on two GPUs and cores: error %.1e\n", int{n}, int{n}, error);
    return error < 1e-12 ? 0 : 1;
} catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
}
