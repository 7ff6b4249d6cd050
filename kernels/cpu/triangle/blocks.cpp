#include <algorithm>
#include <cassert>
#include <vector>

#include "kernels/on_stream/implement.hpp"
#include "kernels/on_stream/substitution.hpp"

namespace basalt::on_stream {

namespace {

/// inverse = T^-1, column by column, with zeros on the other side.
template <class T>
void invert_block(Triangle triangle, Diagonal diagonal, View<const T> t, View<T> inverse) {
    const Index n = t.rows();
    for (Index j = 0; j < n; ++j) {
        for (Index i = 0; i < n; ++i) inverse(i, j) = T{0};
        const auto pivot = [&](Index i) { return diagonal == Diagonal::unit ? T{1} : t(i, i); };
        inverse(j, j) = T{1} / pivot(j);
        const Index steps = triangle == Triangle::lower ? n - 1 - j : j;
        for (Index step = 1; step <= steps; ++step) {
            const Index i = triangle == Triangle::lower ? j + step : j - step;
            T sum = 0;
            for (Index p = std::min(i, j); p <= std::max(i, j); ++p) {
                if (p != i) sum += t(i, p) * inverse(p, j);
            }
            inverse(i, j) = -sum / pivot(i);
        }
    }
}

}  // namespace

template <class T>
void run_on_cpu(InvertDiagonalBlocks<T>, Triangle triangle, Diagonal diagonal, View<const T> t, View<T> inverses) {
    assert(t.rows() == t.cols() && inverses.rows() == t.rows() && inverses.cols() == substituted_block);
    for (Index first = 0; first < t.rows(); first += substituted_block) {
        const Index order = std::min(substituted_block, t.rows() - first);
        const View<T> rows = inverses.block(first, 0, order, substituted_block);
        for (Index i = 0; i < order; ++i) std::fill_n(&rows(i, 0), substituted_block, T{0});
        invert_block<T>(triangle, diagonal, t.block(first, first, order, order), rows.block(0, 0, order, order));
    }
}

template <class T>
void run_on_cpu(SubstituteWhole<T>, Triangle triangle, MatrixOp op, const TriangleColumns<T>& t, View<T> x,
                void* /*workspace*/) {
    assert(t.order == x.rows());
    const bool transposed = op == MatrixOp::transposed, ascending = (triangle == Triangle::lower) != transposed;
    std::vector<Index> begins;  // of the blocks on the diagonal
    for (Index first = 0; first < t.order; first += t.width) {
        for (Index col = 0; col < std::min(t.width, t.order - first); col += substituted_block) {
            begins.push_back(first + col);
        }
    }
    begins.push_back(t.order);
    const auto element = [&](Index i, Index j) { return t.columns[j / t.width][i * t.ld + j % t.width]; };
    const Index blocks = std::ssize(begins) - 1;
    std::vector<T> right(static_cast<std::size_t>(substituted_block));
    for (Index step = 0; step < blocks * x.cols(); ++step) {
        const Index c = step / blocks, b = ascending ? step % blocks : blocks - 1 - step % blocks;
        const Index first = begins[static_cast<std::size_t>(b)], end = begins[static_cast<std::size_t>(b) + 1];
        const Index solved = ascending ? 0 : end, solved_end = ascending ? first : t.order;
        for (Index i = first; i < end; ++i) {
            T sum = x(i, c);
            for (Index j = solved; j < solved_end; ++j) sum -= (transposed ? element(j, i) : element(i, j)) * x(j, c);
            right[static_cast<std::size_t>(i - first)] = sum;
        }
        const auto inverse = View<const T>::row_major(t.inverses[first / t.width] + first % t.width * substituted_block,
                                                      end - first, end - first, substituted_block);
        for (Index i = 0; i < end - first; ++i) {
            T sum = 0;
            for (Index j = 0; j < end - first; ++j) {
                sum += (transposed ? inverse(j, i) : inverse(i, j)) * right[static_cast<std::size_t>(j)];
            }
            x(first + i, c) = sum;
        }
    }
}

template <>
const InvertDiagonalBlocks<float>::Cpu Code<InvertDiagonalBlocks<float>>::cpu = cpu_code<InvertDiagonalBlocks<float>>;
template <>
const InvertDiagonalBlocks<double>::Cpu Code<InvertDiagonalBlocks<double>>::cpu =
    cpu_code<InvertDiagonalBlocks<double>>;
template <>
const SubstituteWhole<float>::Cpu Code<SubstituteWhole<float>>::cpu = cpu_code<SubstituteWhole<float>>;
template <>
const SubstituteWhole<double>::Cpu Code<SubstituteWhole<double>>::cpu = cpu_code<SubstituteWhole<double>>;

}  // namespace basalt::on_stream
