// A factorization of your own: Cholesky, A = L L^T, on tiles with BLAS and LAPACK. The loops are those of the textbook.
// Cores factor the diagonal tiles. The other tasks also carry calls of cuBLAS (07_tiled_cholesky_gpu.cpp), and the
// runtime moves the tiles. Where there is no GPU, two emulated ones replace them and run the kernels for cores.
#include <basalt/basalt.hpp>

#include <cblas.h>
#include <lapacke.h>

#include <cmath>
#include <cstdio>
#include <stdexcept>
#include <vector>

using basalt::Stream;
using In = basalt::View<const double>;
using InOut = basalt::View<double>;
constexpr int tiles = 6, n = 96, order = tiles * n;  // n x n elements a tile, column-major

#ifdef WITH_CUDA
void trsm_on_gpu(Stream stream, int n, In l, InOut a);
void gemm_on_gpu(Stream stream, int n, In a, In b, InOut c);
#else  // never called
void trsm_on_gpu(Stream, int, In, InOut) {}
void gemm_on_gpu(Stream, int, In, In, InOut) {}
#endif

void potrf(InOut a) {
    if (LAPACKE_dpotrf(LAPACK_COL_MAJOR, 'L', n, a.data(), n) != 0) throw std::runtime_error("not positive definite");
}
void trsm(In l, InOut a) {
    cblas_dtrsm(CblasColMajor, CblasRight, CblasLower, CblasTrans, CblasNonUnit, n, n, 1, l.data(), n, a.data(), n);
}
void gemm(In a, In b, InOut c) {
    cblas_dgemm(CblasColMajor, CblasNoTrans, CblasTrans, n, n, n, -1, a.data(), n, b.data(), n, 1, c.data(), n);
}

int main() try {
    openblas_set_num_threads(1);  // the tasks run in parallel instead
    basalt::Config config = basalt::Config::from_environment();
    if (basalt::Runtime probe(config); probe.gpus() == 0) config.emulation.gpus = 2;
    basalt::Runtime rt(config);
    std::vector<double> whole(order * order);  // positive definite, because the diagonal outweighs the rest
    for (int e = 0; e < order * order; ++e) {
        whole[e] = e % order == e / order ? 2 * order : std::cos((e % order) * (e / order));
    }
    std::vector<std::vector<basalt::Array<double>>> A(tiles);  // of the lower triangle
    for (int i = 0; i < tiles; ++i) {
        for (int j = 0; j <= i; ++j) {
            const auto tile = A[i].emplace_back(rt, n * n).host_view();
            for (int e = 0; e < n * n; ++e) tile[e] = whole[i * n + e % n + (j * n + e / n) * order];
        }
    }
    for (int k = 0; k < tiles; ++k) {
        rt.submit({.name = "potrf", .priority = 1}, readwrite(A[k][k]), potrf);
        for (int i = k + 1; i < tiles; ++i) {  // A(i,k) = A(i,k) L(k,k)^-T
            rt.submit({.name = "trsm", .priority = 1}, read(A[k][k]), readwrite(A[i][k]), trsm,
                      basalt::cuda([](Stream s, In l, InOut a) { trsm_on_gpu(s, n, l, a); }));
        }
        for (int i = k + 1; i < tiles; ++i) {
            for (int j = k + 1; j <= i; ++j) {  // A(i,j) -= A(i,k) A(j,k)^T
                rt.submit({.name = "gemm"}, read(A[i][k]), read(A[j][k]), readwrite(A[i][j]), gemm,
                          basalt::cuda([](Stream s, In a, In b, InOut c) { gemm_on_gpu(s, n, a, b, c); }));
            }
        }
    }
    rt.wait();

    LAPACKE_dpotrf(LAPACK_COL_MAJOR, 'L', order, whole.data(), order);
    double error = 0;
    for (int e = 0; e < order * order; ++e) {
        const int i = e % order, j = e / order;
        if (i >= j) error = std::fmax(error, std::abs(A[i / n][j / n].host_view()[i % n + j % n * n] - whole[e]));
    }
    std::printf("L differs from LAPACK's by %.1e\n", error);
    return error < 1e-11 ? 0 : 1;
} catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
}
