// Tasks within tasks: C = A B by recursion, where each task submits smaller ones as its children, and a gang:
// one task that several threads run together, here to take the norm of C.
#include <basalt/basalt.hpp>

#include <cmath>
#include <cstdio>
#include <exception>
#include <memory>
#include <numeric>
#include <vector>

using basalt::Index;
using basalt::Region;
using basalt::View;

namespace {

constexpr Index n = 256;    // a power of two
constexpr Index leaf = 64;  // blocks this small are multiplied in place

using Matrix = basalt::Matrix<double>;

/// The block of a matrix that starts at (row, col), `size` rows and columns.
struct Block {
    const Matrix* matrix;
    Index row, col, size;

    Region<double> region() const { return matrix->block(col / n, row, row + size, col, col + size); }
    /// Quarter (i, j) of it.
    Block quarter(Index i, Index j) const { return {matrix, row + i * size / 2, col + j * size / 2, size / 2}; }
};

/// C += A B. A task's children may use parts of what it has itself; it is done when they are.
void multiply(basalt::Runtime& rt, const Block& A, const Block& B, const Block& C) {
    rt.submit({.name = "multiply"}, read(A.region()), read(B.region()), readwrite(C.region()),
              [&rt, A, B, C](View<const double> a, View<const double> b, View<double> c) {
                  if (A.size > leaf) {
                      // Quarters of C are independent; the two products for each follow one another.
                      for (Index k : {0, 1}) {
                          for (Index i : {0, 1}) {
                              for (Index j : {0, 1}) multiply(rt, A.quarter(i, k), B.quarter(k, j), C.quarter(i, j));
                          }
                      }
                      return;
                  }
                  for (Index i = 0; i < c.rows(); ++i) {
                      for (Index k = 0; k < a.cols(); ++k) {
                          for (Index j = 0; j < c.cols(); ++j) c(i, j) += a(i, k) * b(k, j);
                      }
                  }
              });
}

/// Frobenius norm: every member of the gang sums its share of the rows, then the first one adds up.
void norm(basalt::Runtime& rt, const Block& C, basalt::Array<double>& result) {
    auto parts = std::make_shared<std::vector<double>>(rt.workers());
    rt.submit({.name = "norm", .threads = {.min = 1, .max = rt.workers()}}, read(C.region()), write(result),
              [parts](const basalt::Team& team, View<const double> c, View<double> result) {
                  double sum = 0;
                  for (Index i = team.rank(); i < c.rows(); i += team.size()) {
                      for (Index j = 0; j < c.cols(); ++j) sum += c(i, j) * c(i, j);
                  }
                  (*parts)[team.rank()] = sum;
                  team.barrier();
                  if (team.rank() != 0) return;
                  result[0] = std::sqrt(std::accumulate(parts->begin(), parts->end(), 0.0));
              });
}

}  // namespace

int main() try {
    basalt::Runtime rt;
    // Rows of an orthogonal matrix keep their length when multiplied with one: ||A A|| = sqrt(n).
    auto A = Matrix::generate(rt, basalt::make_generator<double>("orthogonal", n, n), n, n, {n, n});
    Matrix C(rt, n, n, {n, n});
    basalt::Array<double> length(rt, 1);

    const Block whole_a{&A, 0, 0, n}, whole_c{&C, 0, 0, n};
    multiply(rt, whole_a, whole_a, whole_c);
    norm(rt, whole_c, length);
    rt.wait();

    const double result = length.host_view()[0];
    std::printf("the norm of A A is %.12f, the square root of n is %.12f\n", result, std::sqrt(double{n}));
    return std::abs(result - std::sqrt(double{n})) < 1e-10 ? 0 : 1;
} catch (const std::exception& error) {  // what the library throws says what failed and where
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
}
