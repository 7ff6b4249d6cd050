// LU with partial pivoting: factor A once, solve with it, and the same in one line on arrays of your own.
#include <basalt/basalt.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <exception>
#include <vector>

using basalt::Index;
using basalt::Matrix;

namespace {

constexpr Index n = 500;
using Columns = std::vector<double>;  // column-major, as LAPACK has it

/// max |b - A x| / (n max |A| max |x| eps): of order 1 for a good solution, below 30 for a correct one.
double residual_ratio(const Columns& a, const Columns& x, const Columns& b) {
    double worst = 0, size_a = 0, size_x = 0;
    for (Index i = 0; i < n; ++i) {
        double r = b[i];
        for (Index j = 0; j < n; ++j) {
            r -= a[i + j * n] * x[j];
            size_a = std::max(size_a, std::abs(a[i + j * n]));
        }
        worst = std::max(worst, std::abs(r));
        size_x = std::max(size_x, std::abs(x[i]));
    }
    return worst / (n * size_a * size_x * 0x1p-53);
}

bool report(const char* what, double ratio) {
    std::printf("%s: residual ratio %.3f\n", what, ratio);
    return ratio < 30;
}

/// In three steps, for matrices that stay in the runtime's tiles. Nothing but wait() and info() waits.
Columns factor_and_solve(basalt::Runtime& rt, const Columns& a, const Columns& b) {
    auto A = Matrix<double>::from_columns(rt, a.data(), n, n, n);
    auto B = Matrix<double>::from_columns(rt, b.data(), n, 1, n);
    const auto lu = basalt::lu_factor(rt, A);  // A = P L U
    basalt::lu_solve(rt, lu, B);               // B becomes the solution

    Columns x(n);
    B.store(basalt::View<double>::column_major(x.data(), n, 1, n));
    rt.wait();
    if (lu.info() > 0) std::printf("the matrix is singular\n");  // U(info, info) is zero
    return x;
}

}  // namespace

int main() try {
    Columns a(n * n), b(n, 1.0);
    basalt::make_generator<double>("random", n, n)->fill(basalt::View<double>::column_major(a.data(), n, n, n), 0, 0);

    basalt::Runtime rt;
    const bool first = report("factor and solve", residual_ratio(a, factor_and_solve(rt, a, b), b));

    // LAPACK's gesv on your own arrays: a becomes the factors, b the solution.
    Columns factors = a, x = b;
    const Index info = basalt::solve(rt, n, 1, factors.data(), n, x.data(), n);
    const bool second = report("solve in one line", residual_ratio(a, x, b));
    return first && second && info == 0 ? 0 : 1;
} catch (const std::exception& error) {  // what the library throws says what failed and where
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
}
