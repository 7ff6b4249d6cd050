// LAPACK's getrs and potrs on the user's arrays: columns of B are independent, so workers share them.
#include <algorithm>
#include <utility>

#include "capi/objects.hpp"
#include "kernels/cpu/triangle/substitution.hpp"

namespace basalt::capi {

namespace {

/// A and B of a system, checked.
template <class T>
struct System {
    View<const T> a;
    View<T> b;

    System(Index n, Index nrhs, const T* a_data, Index lda, T* b_data, Index ldb) {
        require_range("n", n, 0, most);
        require_range("nrhs", nrhs, 0, most);
        require_range("lda", lda, std::max<Index>(n, 1), most);
        require_range("ldb", ldb, std::max<Index>(n, 1), most);
        if (n > 0) required(a_data, "a");
        if (n > 0 && nrhs > 0) required(b_data, "b");
        a = View<const T>::column_major(a_data, n, n, lda);
        b = View<T>::column_major(b_data, n, nrhs, ldb);
    }

  private:
    static constexpr Index most = Index{1} << 40;
};

template <class T>
View<const T> transposed_view(View<const T> a) {
    return {a.data(), a.cols(), a.rows(), a.col_stride(), a.row_stride()};
}

/// solve(columns) for parts of B that together are all of it. Few multiplications stay on the calling thread.
template <class T, class Solve>
void share_columns(Runtime& runtime, View<T> b, const Solve& solve) {
    constexpr double few = 2e5;
    const double work = static_cast<double>(b.rows()) * static_cast<double>(b.rows()) * static_cast<double>(b.cols());
    if (b.empty()) return;
    if (work < few || b.cols() == 1) return solve(b);
    const Index chunk = std::max<Index>(1, (b.cols() + runtime.workers() - 1) / runtime.workers());
    const Index chunks = (b.cols() + chunk - 1) / chunk;
    runtime.parallel_for({0, chunks}, 1, [&](Index k) {
        const Index first = k * chunk;
        solve(b.block(0, first, b.rows(), std::min(chunk, b.cols() - first)));
    });
}

template <class T>
void exchange_rows(View<T> b, const Index* pivots, Index k) {
    const Index other = pivots[k] - 1;
    for (Index j = 0; j < b.cols() && other != k; ++j) std::swap(b(k, j), b(other, j));
}

template <class T>
void solve_with_lu(basalt_op op, View<const T> lu, const Index* pivots, View<T> b) {
    using cpu_kernels::solve_triangle;
    if (op == BASALT_PLAIN) {
        for (Index k = 0; k < lu.rows(); ++k) exchange_rows(b, pivots, k);
        solve_triangle<T>(Triangle::lower, Diagonal::unit, lu, b);
        solve_triangle<T>(Triangle::upper, Diagonal::stored, lu, b);
    } else {
        solve_triangle<T>(Triangle::lower, Diagonal::stored, transposed_view(lu), b);
        solve_triangle<T>(Triangle::upper, Diagonal::unit, transposed_view(lu), b);
        for (Index k = lu.rows() - 1; k >= 0; --k) exchange_rows(b, pivots, k);
    }
}

template <class T>
basalt_status getrs(const char* function, basalt_runtime* runtime, basalt_op op, Index n, Index nrhs, const T* a,
                    Index lda, const Index* pivots, T* b, Index ldb) {
    return guarded(function, [&] {
        const System<T> system(n, nrhs, a, lda, b, ldb);
        op_of(op);
        if (n > 0) required(pivots, "pivots");
        for (Index k = 0; k < n; ++k) require_range("pivots: an element", pivots[k], 1, n);
        share_columns(required(runtime, "runtime").runtime, system.b,
                      [&](View<T> columns) { solve_with_lu<T>(op, system.a, pivots, columns); });
    });
}

template <class T>
basalt_status potrs(const char* function, basalt_runtime* runtime, basalt_triangle triangle, Index n, Index nrhs,
                    const T* a, Index lda, T* b, Index ldb) {
    return guarded(function, [&] {
        const System<T> system(n, nrhs, a, lda, b, ldb);
        const bool lower = triangle_of(triangle) == Triangle::lower;
        const View<const T> l = lower ? system.a : transposed_view(system.a);
        share_columns(required(runtime, "runtime").runtime, system.b, [&](View<T> columns) {
            cpu_kernels::solve_triangle<T>(Triangle::lower, Diagonal::stored, l, columns);
            cpu_kernels::solve_triangle<T>(Triangle::upper, Diagonal::stored, transposed_view(l), columns);
        });
    });
}

}  // namespace

}  // namespace basalt::capi

namespace capi = basalt::capi;

basalt_status basalt_sgetrs(basalt_runtime* runtime, basalt_op op, int64_t n, int64_t nrhs, const float* a, int64_t lda,
                            const int64_t* pivots, float* b, int64_t ldb) {
    return capi::getrs(__func__, runtime, op, n, nrhs, a, lda, pivots, b, ldb);
}
basalt_status basalt_dgetrs(basalt_runtime* runtime, basalt_op op, int64_t n, int64_t nrhs, const double* a,
                            int64_t lda, const int64_t* pivots, double* b, int64_t ldb) {
    return capi::getrs(__func__, runtime, op, n, nrhs, a, lda, pivots, b, ldb);
}
basalt_status basalt_spotrs(basalt_runtime* runtime, basalt_triangle triangle, int64_t n, int64_t nrhs, const float* a,
                            int64_t lda, float* b, int64_t ldb) {
    return capi::potrs(__func__, runtime, triangle, n, nrhs, a, lda, b, ldb);
}
basalt_status basalt_dpotrs(basalt_runtime* runtime, basalt_triangle triangle, int64_t n, int64_t nrhs, const double* a,
                            int64_t lda, double* b, int64_t ldb) {
    return capi::potrs(__func__, runtime, triangle, n, nrhs, a, lda, b, ldb);
}
