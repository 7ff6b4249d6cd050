#include "kernels/cpu/split_product.hpp"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cmath>
#include <cstdint>
#include <vector>

#include "kernels/cpu/blas.hpp"

namespace basalt::cpu_kernels {

namespace {

/// The nearest number of 8 bits, of two the even one, but never infinity.
float piece_of(float x) {
    constexpr std::uint32_t dropped = 0xffff;
    const auto bits = std::bit_cast<std::uint32_t>(x);
    const std::uint32_t to_even = (bits >> 16 & 1) + dropped / 2;
    const float nearest = std::bit_cast<float>((bits + to_even) & ~dropped);
    return std::isinf(nearest) ? std::bit_cast<float>(bits & ~dropped) : nearest;
}

/// The pieces of all elements: those of number p from row p * piece_rows and column p * piece_cols on.
void split(View<const float> from, View<float> to, Index piece_rows, Index piece_cols) {
    for (Index i = 0; i < from.rows(); ++i) {
        for (Index j = 0; j < from.cols(); ++j) {
            const std::array<float, split_pieces> pieces = pieces_of(from(i, j));
            for (int p = 0; p < split_pieces; ++p)
                to(i + p * piece_rows, j + p * piece_cols) = pieces[static_cast<std::size_t>(p)];
        }
    }
}

/// update_by_pieces() for a depth of at most split_depth.
void update_by_short_pieces(View<const float> l, TileColumns<const float> u, TileColumns<float> c) {
    const Index m = l.rows(), k = l.cols(), n = u.width;
    std::vector<float> l_memory(static_cast<std::size_t>(split_pieces * m * k)),
        u_memory(static_cast<std::size_t>(split_pieces * k * n));
    const auto of_l = View<float>::row_major(l_memory.data(), m, split_pieces * k, split_pieces * k);
    const auto of_u = View<float>::row_major(u_memory.data(), split_pieces * k, n, n);
    split(l, of_l, 0, k);  // L_1 L_2 L_3
    for (Index j = 0; j < u.columns; ++j) {
        split(u.column(j), of_u, k, 0);
        float alpha = -1 / (split_step * split_step);
        for (int sum = split_pieces - 1; sum >= 0; --sum, alpha *= split_step) {
            for (int p = 0; p <= sum; ++p) {
                blas::gemm<float>(alpha, of_l.block(0, (sum - p) * k, m, k), of_u.block(p * k, 0, k, n), 1,
                                  c.column(j));
            }
        }
    }
}

}  // namespace

std::array<float, split_pieces> pieces_of(float x) {
    if (!std::isfinite(x)) return {x, 0, 0};
    std::array<float, split_pieces> pieces{};
    float left = x;
    for (float& piece : pieces) {
        piece = piece_of(left);
        left = (left - piece) * split_step;
    }
    return pieces;
}

void update_by_pieces(View<const float> l, TileColumns<const float> u, TileColumns<float> c) {
    assert(l.rows() == c.rows && l.cols() == u.rows && u.columns == c.columns && u.width == c.width);
    if (c.empty()) return;
    for (Index first = 0; first < l.cols(); first += split_depth) {
        const Index depth = std::min(split_depth, l.cols() - first);
        update_by_short_pieces(l.block(0, first, l.rows(), depth), u.row_range(first, depth), c);
    }
}

}  // namespace basalt::cpu_kernels
