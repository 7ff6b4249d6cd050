#pragma once

#include "kernels/cuda/batch/eliminate.hpp"

/// How matrices are spread over lanes (cholesky_lanes.hpp).
namespace basalt::cuda_detail::batch {

/// Largest order. Beyond, registers run out.
template <class T>
constexpr int most_in_lanes = sizeof(T) == 4 ? 96 : 64;

/// Lanes of a matrix. With fewer of them, a warp has more matrices, and each lane more registers.
constexpr int lanes_to_factor(int order) { return order <= 4 ? 4 : order <= 24 ? 8 : order <= 48 ? 16 : lanes; }
template <class T>
constexpr int lanes_to_solve(int order) {
    return order <= 4 ? 4 : order <= 32 ? 8 : order <= (sizeof(T) == 4 ? 64 : 48) ? 16 : lanes;
}

/// Order n with the rows and columns that a kernel of the library adds.
constexpr int padded_in_lanes(int n) {
    for (const int order : {4, 8, 16, 24, 32, 40, 48, 64, 80}) {
        if (n <= order) return order;
    }
    return 96;
}

/// Blocks of a kernel that factors matrices of a padded order which share a multiprocessor at least, for the compiler's
/// choice of registers (measured on an H200).
template <class T>
constexpr int lanes_factor_blocks(int order) {
    constexpr bool single = sizeof(T) == 4;
    if (order <= 16) return single ? 12 : 8;
    if (order <= 24) return single ? 8 : 4;
    if (order <= 32) return single ? 8 : 6;
    return !single || order > 64 ? 8 : 12;
}
/// The same where it solves as well: lanes hold more then.
template <class T>
constexpr int lanes_both_blocks(int order) {
    constexpr bool single = sizeof(T) == 4;
    if (order <= 16) return single ? 9 : 6;
    if (order <= 24) return single ? 6 : 3;
    if (order <= 32) return single ? 8 : 6;
    return !single || order > 64 ? 6 : order > 48 ? 12 : 9;
}

/// Of matrices whose order is at most `most`.
template <class T, int most, int lanes_of_matrix>
struct TriangleShape {
    static constexpr int order = most;  ///< padded
    static constexpr int own_lanes = lanes_of_matrix;
    static constexpr int in_warp = lanes / own_lanes;
    static constexpr int threads = most <= 32 ? 64 : 32;             ///< of a block
    static constexpr int rows = (most + own_lanes - 1) / own_lanes;  ///< of a lane
    /// Columns that one loop eliminates: with more of them, less code, and more products that are not needed.
    static constexpr int steps = most <= 4 ? 4 : most <= 64 ? 8 : 16;
    static constexpr int at_once = most <= 24 ? 4 : 1;  ///< of them in one pass through the loop

    static_assert(most % Chunk<T>::size == 0 && most <= most_in_lanes<T>);
    static_assert(own_lanes % steps == 0 && steps % at_once == 0 && most % at_once == 0);

    /// Of a lane's row r.
    static constexpr int columns(int r) { return (r + 1) * own_lanes < order ? (r + 1) * own_lanes : order; }
    /// Elements of a lane in the columns before c, from the diagonal on.
    static constexpr int elements(int c) {
        int sum = 0;
        for (int k = 0; k < c; ++k) sum += rows - k / own_lanes;
        return sum;
    }
};

/// Two columns on their way from their lanes to all of them. Rows above the present column's diagonal lie before it.
template <class T, class Shape>
struct TriangleColumns {
    static constexpr int column = (1 + Shape::rows) * Shape::own_lanes;
    /// Matrices of a warp lie in different banks, in double precision those of half of a warp.
    static constexpr int size = [] {
        constexpr int banks = 128 / static_cast<int>(sizeof(T)), apart = Shape::own_lanes % banks;
        int elements = 2 * column;
        while (elements % banks % (2 * Shape::own_lanes) != apart) elements += Chunk<T>::size;
        return elements;
    }();
    alignas(16) T columns[size];
};
/// And L D^-1 for the diagonal D of L, where a substitution follows: columns from the diagonal on. Rows of a column lie
/// next to each other, and neighbouring columns in different banks.
template <class T, class Shape>
struct TriangleBoth : TriangleColumns<T, Shape> {
    static constexpr int ld(int c) { return (Shape::rows - c / Shape::own_lanes) * Shape::own_lanes + 1; }
    static constexpr int offset(int c) { return Shape::elements(c) * Shape::own_lanes + c; }
    static constexpr int banks = 128 / static_cast<int>(sizeof(T));
    T l[(offset(Shape::order) + banks - 1) / banks * banks];
};
/// Rows of L on their way to the lanes that have columns of the same numbers.
template <class T, class Shape>
struct TriangleRows {
    static constexpr int ld = Shape::order + 1;  // odd
    T rows[Shape::own_lanes * ld];
};

}  // namespace basalt::cuda_detail::batch
