#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "kernels/on_stream/substitution.hpp"
#include "tests/common/catch.hpp"
#include "tests/kernels/cases/updates.hpp"
#include "tests/kernels/host_columns.hpp"

namespace basalt_tests {

using namespace basalt;

/// A triangle in tile columns, with NaN where nothing may be read, and right-hand sides with the solutions that plain
/// substitution in double precision has for them.
template <class T>
struct WholeTriangleProblem {
    Triangle triangle;
    MatrixOp op;
    Index order, width;
    HostColumns<T> a, x;
    std::vector<T> inverses;  ///< width rows of substituted_block elements for each tile column
    std::vector<T> expected;

    WholeTriangleProblem(Triangle side, MatrixOp o, Index n, Index w, Index vectors)
        : triangle(side),
          op(o),
          order(n),
          width(w),
          a((n + w - 1) / w, n, w, 11, 2),
          x(1, n, vectors, 12, 1),
          inverses(at(a.shape.columns * w * on_stream::substituted_block), std::numeric_limits<T>::quiet_NaN()) {
        const bool lower = side == Triangle::lower;
        for (Index i = 0; i < n; ++i) {
            for (Index j = 0; j < a.shape.columns * w; ++j) {
                T& e = a.column(j / w)(i, j % w);
                if (i == j) e += 2;
                if (i != j) e = e / static_cast<T>(n);
                if (j >= n || (lower ? j > i : j < i)) e = std::numeric_limits<T>::quiet_NaN();
            }
        }
        for (Index j = 0; j < a.shape.columns; ++j) {
            const Index first = j * w, own = std::min(w, n - first);
            on_stream::invert_diagonal_blocks<T>.on_cpu(
                side, Diagonal::stored, a.column(j).block(first, 0, own, own),
                View<T>::row_major(inverses.data() + j * w * on_stream::substituted_block, own,
                                   on_stream::substituted_block, on_stream::substituted_block));
        }
        solve_plainly();
    }

    TriangleColumns<T> on(const T* elements, const T* of_inverses) const {
        TriangleColumns<T> t;
        t.order = order, t.width = width, t.ld = a.shape.ld;
        for (Index j = 0; j < a.shape.columns; ++j) {
            t.columns[j] = elements + j * a.shape.stride;
            t.inverses[j] = of_inverses + j * width * on_stream::substituted_block;
        }
        return t;
    }

  private:
    void solve_plainly() {
        HostColumns<T> solution = x;
        const bool transposed = op == MatrixOp::transposed, ascending = (triangle == Triangle::lower) != transposed;
        for (Index c = 0; c < x.shape.width; ++c) {
            std::vector<double> y(at(order));
            for (Index step = 0; step < order; ++step) {
                const Index i = ascending ? step : order - 1 - step;
                double sum = static_cast<double>(x.column(0)(i, c));
                for (Index p = 0; p < step; ++p) {
                    const Index j = ascending ? p : order - 1 - p;
                    const Index row = transposed ? j : i, col = transposed ? i : j;
                    sum -= static_cast<double>(a.column(col / width)(row, col % width)) * y[at(j)];
                }
                y[at(i)] = sum / static_cast<double>(a.column(i / width)(i, i % width));
                solution.column(0)(i, c) = static_cast<T>(y[at(i)]);
            }
        }
        expected = solution.values;
    }
};

/// f(problem) for triangles of either side, tile columns that fit the blocks and that do not, one and several vectors.
template <class T, class F>
void for_whole_triangles(const F& f) {
    struct Shape {
        Index order, width, vectors;
    };
    for (const Shape s : {Shape{1, 1, 1}, {5, 3, 2}, {128, 128, 1}, {200, 200, 1}, {300, 96, 1}, {515, 256, 3}}) {
        for (const Triangle triangle : {Triangle::lower, Triangle::upper}) {
            for (const MatrixOp op : {MatrixOp::plain, MatrixOp::transposed}) {
                INFO("order " << s.order << ", tiles " << s.width << " wide, " << s.vectors << " vectors, "
                              << (triangle == Triangle::lower ? "lower" : "upper")
                              << (op == MatrixOp::plain ? "" : ", transposed"));
                f(WholeTriangleProblem<T>(triangle, op, s.order, s.width, s.vectors));
            }
        }
    }
}

template <class T, class Kernels>
void check_substitution_of_whole(Kernels& kernels) {
    for_whole_triangles<T>([&](WholeTriangleProblem<T> problem) {
        typename Kernels::template Memory<T> a(kernels, problem.a.values), inverses(kernels, problem.inverses),
            x(kernels, problem.x.values);
        typename Kernels::template Memory<double> workspace(
            kernels, std::vector<double>(
                         on_stream::whole_workspace<T>(problem.order, problem.x.shape.width) / sizeof(double), 1.0));
        kernels(on_stream::substitute_whole<T>, problem.triangle, problem.op, problem.on(a.data(), inverses.data()),
                problem.x.on(x.data()).column(0), static_cast<void*>(workspace.data()));
        REQUIRE(distance(x.read(), problem.expected) <= 8 * tolerance<T>(problem.order));
    });
}

}  // namespace basalt_tests
