#pragma once

#include "kernels/cuda/batch/lu_block.hpp"
#include "kernels/cuda/batch/qr_small.hpp"

/// QR of up to 512 rows: a matrix in a block, right-looking by panels of reflectors.
///
/// In a panel, a thread holds a row, and a step needs one sum over rows for each remaining column. The panel's V goes
/// to shared memory. Columns to its right belong to warps, whose lanes hold some of their rows: a column is read and
/// written once a panel. With G = V^T V, the products with T of I - V T V^T are triangular solves: T^-1 is diag(1 /
/// tau) plus the upper triangle of G (Puglisi, "Modification of the Householder Method Based on the Compact WY
/// Representation").
namespace basalt::cuda_detail::batch {

/// Shared memory of a block for m rows.
template <class T, int width>
struct QrBlockMemory {
    T* v;      ///< rows x width, column-major: ones on the diagonal of the panel, zeros above
    T* gram;   ///< width x width: V^T V
    T* sums;   ///< of warps, width each, twice
    T* row;    ///< of the panel at the step's diagonal, twice
    T* tau;    ///< width
    int rows;  ///< padded to a warp

    static std::size_t bytes(int m) {
        const auto rows = static_cast<std::size_t>(lu_block_threads(m));
        const std::size_t elements = rows * width + width * width + 2 * most_block_warps * width + 2 * width + width;
        return (elements * sizeof(T) + 15) / 16 * 16;
    }
    BASALT_DEVICE QrBlockMemory(void* raw, int m) : v(static_cast<T*>(raw)), rows(padded_to_warp(m)) {
        gram = v + rows * width;
        sums = gram + width * width;
        row = sums + 2 * most_block_warps * width;
        tau = row + 2 * width;
    }
    /// Behind this memory.
    BASALT_DEVICE T* end() const { return tau + width; }
};

/// The sum over the lanes of a warp, the same in all of them.
template <class T, class Thread>
BASALT_DEVICE T sum_of_lanes(const Thread& thread, T value) {
    BASALT_UNROLL
    for (int distance = lanes / 2; distance > 0; distance /= 2) {
        value += thread.from_lane(value, thread.lane ^ distance);
    }
    return value;
}

/// The largest magnitude over the block; NaN does not count. `scratch` has an element for each warp. Meets twice.
template <class T, class Thread>
BASALT_DEVICE T largest_of_block(const Thread& thread, T* scratch, T value) {
    BASALT_UNROLL
    for (int distance = lanes / 2; distance > 0; distance /= 2) {
        const T other = thread.from_lane(value, thread.lane ^ distance);
        value = other > value ? other : value;
    }
    thread.sync();
    if (thread.lane == 0) scratch[thread.warp] = value;
    thread.sync();
    for (int w = 0; w < thread.warps; ++w) value = scratch[w] > value ? scratch[w] : value;
    return value;
}

/// Sums over the rows below row k: of column c of the panel, times `factor`, with itself and the columns behind it.
/// dots[d] is column d's. Also brings row k to all threads. The block meets once.
template <int width, int c, class T, class Thread>
BASALT_DEVICE void panel_sums(const Thread& thread, const QrBlockMemory<T, width>& memory, const T (&row)[width],
                              int number, int k, T factor, T (&dots)[width]) {
    T* const sums = memory.sums + c % 2 * most_block_warps * width;
    const T own = number > k ? row[c] * factor : T{0};
    BASALT_UNROLL
    for (int d = c; d < width; ++d) {
        const T sum = sum_of_lanes(thread, own * (d == c ? own : row[d]));
        if (thread.lane == 0) sums[thread.warp * width + d] = sum;
    }
    if (number == k) {
        BASALT_UNROLL
        for (int d = c; d < width; ++d) memory.row[c % 2 * width + d] = row[d];
    }
    thread.sync();
    BASALT_UNROLL
    for (int d = c; d < width; ++d) dots[d] = T{0};
    BASALT_ROLLED
    for (int w = 0; w < thread.warps; ++w) {
        BASALT_UNROLL
        for (int d = c; d < width; ++d) dots[d] += sums[w * width + d];
    }
}

/// The reflector of column c of the panel at j, on the panel's columns.
template <int width, int c, class T, class Thread>
BASALT_DEVICE void panel_step(const Thread& thread, const QrBlockMemory<T, width>& memory, int j, int steps,
                              T (&row)[width], int number) {
    const int k = j + c;
    if (k >= steps) {
        if (number == 0) memory.tau[c] = T{0};
        return;
    }
    T dots[width];
    panel_sums<width, c>(thread, memory, row, number, k, T{1}, dots);
    T first = memory.row[c % 2 * width + c];
    RangeFactor<T> range;
    const T square = first * first + dots[c];
    if (!(square >= least_square<T> && square <= most_square<T>)) {  // the same in all threads
        const T largest = largest_of_block(thread, memory.gram, number >= k ? magnitude(row[c]) : T{0});
        range = range_factor(largest);
        thread.sync();
        panel_sums<width, c>(thread, memory, row, number, k, range.factor, dots);
        first *= range.factor;
        thread.sync();
    }
    const Reflector<T> h = make_reflector(thread, first, dots[c], range.inverse);
    if (number == 0) memory.tau[c] = h.tau;
    const T u = number == k ? h.head : row[c] * range.factor;
    if (number > k) row[c] = u * h.scale;
    BASALT_UNROLL
    for (int d = c + 1; d < width; ++d) {
        const T weight = h.weight * (h.head * memory.row[c % 2 * width + d] + dots[d]);
        if (number >= k) row[d] -= weight * u;
    }
    if (number == k) row[c] = h.beta;
}

template <int width, int c, class T, class Thread>
BASALT_DEVICE void panel_steps(const Thread& thread, const QrBlockMemory<T, width>& memory, int j, int steps,
                               T (&row)[width], int number) {
    if constexpr (c < width) {
        panel_step<width, c>(thread, memory, j, steps, row, number);
        panel_steps<width, c + 1>(thread, memory, j, steps, row, number);
    }
}

/// V of the panel at j from its factored rows, and its Gram matrix. The block meets before and after.
template <int width, class T, class Thread>
BASALT_DEVICE void spread_panel(const Thread& thread, const QrBlockMemory<T, width>& memory, int j, int steps,
                                const T (&row)[width], int number) {
    BASALT_UNROLL
    for (int c = 0; c < width; ++c) {
        const int k = j + c;
        memory.v[c * memory.rows + number] = k >= steps || number < k ? T{0} : number == k ? T{1} : row[c];
    }
    thread.sync();
    BASALT_ROLLED
    for (int pair = thread.warp; pair < width * width; pair += thread.warps) {
        const int c = pair / width, d = pair % width;
        if (d <= c) continue;
        T sum{};
        for (int i = thread.lane; i < memory.rows; i += lanes) {
            sum += memory.v[c * memory.rows + i] * memory.v[d * memory.rows + i];
        }
        sum = sum_of_lanes(thread, sum);
        if (thread.lane == 0) memory.gram[c * width + d] = sum;
    }
    thread.sync();
}

/// Q^T of the panel's reflectors, or Q, on a column whose rows lie in the lanes of a warp: row lane + 32 r in x[r].
template <Operation operation, int width, int parts, class T, class Thread>
BASALT_DEVICE void reflect_column(const Thread& thread, const QrBlockMemory<T, width>& memory, T (&x)[parts]) {
    constexpr bool transposed = operation == Operation::transposed;
    T sums[width] = {};
    BASALT_UNROLL
    for (int r = 0; r < parts; ++r) {
        if (r * lanes >= memory.rows) break;
        BASALT_UNROLL
        for (int c = 0; c < width; ++c) sums[c] += memory.v[c * memory.rows + r * lanes + thread.lane] * x[r];
    }
    BASALT_UNROLL
    for (int c = 0; c < width; ++c) sums[c] = sum_of_lanes(thread, sums[c]);
    BASALT_UNROLL
    for (int step = 0; step < width; ++step) {
        const int c = transposed ? step : width - 1 - step;
        BASALT_UNROLL
        for (int d = 0; d < width; ++d) {
            if (transposed && d < c) sums[c] -= memory.gram[d * width + c] * sums[d];
            if (!transposed && d > c) sums[c] -= memory.gram[c * width + d] * sums[d];
        }
        sums[c] *= memory.tau[c];
    }
    BASALT_UNROLL
    for (int r = 0; r < parts; ++r) {
        if (r * lanes >= memory.rows) break;
        BASALT_UNROLL
        for (int c = 0; c < width; ++c) x[r] -= memory.v[c * memory.rows + r * lanes + thread.lane] * sums[c];
    }
}

/// Columns first .. of a matrix with these strides, each by a warp.
template <Operation operation, int width, int parts, class T, class Thread>
BASALT_DEVICE void reflect_columns(const Thread& thread, const QrBlockMemory<T, width>& memory, T* a, Index down,
                                   Index across, int rows, int first, int last) {
    BASALT_ROLLED
    for (int j = first + number_in_block(thread) / lanes; j < last; j += thread.warps) {
        const int lane = number_in_block(thread) % lanes;
        T* const column = a + j * across + lane * down;
        const int left = rows - lane;  // elements from the lane's first one on
        T x[parts];
        BASALT_UNROLL
        for (int r = 0; r < parts; ++r) x[r] = r * lanes < left ? column[r * lanes * down] : T{0};
        reflect_column<operation>(thread, memory, x);
        BASALT_UNROLL
        for (int r = 0; r < parts; ++r) {
            if (r * lanes < left) column[r * lanes * down] = x[r];
        }
    }
}

/// A, which is Whole or its transpose, := R and reflectors, tau[k] their factors, if tau is not null. Right-hand sides
/// B, if any, become Q^T B.
template <int width, int parts, class Matrix, class T, class Thread>
BASALT_DEVICE void qr_reflect_block(const Thread& thread, const QrBlockMemory<T, width>& memory, const Matrix& a,
                                    T* tau, const RightSides<T>& right) {
    const int steps = a.rows < a.cols ? a.rows : a.cols;
    BASALT_ROLLED
    for (int j = 0; j < steps; j += width) {
        const int number = number_in_block(thread);
        T row[width];
        BASALT_UNROLL
        for (int c = 0; c < width; ++c) row[c] = a.holds(number, j + c) ? *a.at(number, j + c) : T{0};
        panel_steps<width, 0>(thread, memory, j, steps, row, number);
        BASALT_UNROLL
        for (int c = 0; c < width; ++c) {
            if (a.holds(number, j + c)) *a.at(number, j + c) = row[c];
        }
        thread.sync();
        spread_panel(thread, memory, j, steps, row, number_in_block(thread));
        const int own = number_in_block(thread);
        if (tau != nullptr && own < width && j + own < steps) tau[j + own] = memory.tau[own];
        BASALT_ROLLED
        for (int operand = 0; operand < 2; ++operand) {  // the same code for both, with registers for one
            const bool of_a = operand == 0;
            reflect_columns<Operation::transposed, width, parts>(
                thread, memory, of_a ? a.a : right.b, of_a ? a.down() : Index{1}, of_a ? a.across() : right.ld, a.rows,
                of_a ? j + width : 0, of_a ? a.cols : static_cast<int>(right.cols));
        }
        thread.sync();
    }
}

/// V and Gram matrix of the panel at j, and its tau, from the reflectors that A holds.
template <int width, class Matrix, class T, class Thread>
BASALT_DEVICE void load_reflectors(const Thread& thread, const QrBlockMemory<T, width>& memory, const Matrix& a,
                                   const T* tau, int j, int reflectors) {
    const int number = thread.warp * lanes + thread.lane;
    T row[width];
    BASALT_UNROLL
    for (int c = 0; c < width; ++c) row[c] = a.holds(number, j + c) ? *a.at(number, j + c) : T{0};
    if (number < width) memory.tau[number] = j + number < reflectors ? tau[j + number] : T{0};
    spread_panel(thread, memory, j, reflectors, row, number);
}

/// A (m x n, its first k columns hold reflectors) := the first n columns of Q.
template <int width, int parts, class T, class Thread>
BASALT_DEVICE void qr_form_block(const Thread& thread, const QrBlockMemory<T, width>& memory, const Whole<T>& a,
                                 const T* tau, int reflectors) {
    const int last = reflectors > 0 ? (reflectors - 1) / width * width : 0;
    BASALT_ROLLED
    for (int j = last; j >= 0; j -= width) {
        load_reflectors(thread, memory, a, tau, j, reflectors);
        BASALT_ROLLED
        for (int column = j + thread.warp; column < a.cols; column += thread.warps) {
            const bool begins = j == last || column < j + width;  // as a column of the identity
            T* const values = a.at(0, column);
            const int first = begins ? a.rows : j + width;  // of the rows that hold something
            T x[parts];
            BASALT_UNROLL
            for (int r = 0; r < parts; ++r) {
                const int i = r * lanes + thread.lane;
                x[r] = begins && i == column ? T{1} : T{0};
                if (i >= first && i < a.rows) x[r] = values[i];
            }
            reflect_column<Operation::plain>(thread, memory, x);
            BASALT_UNROLL
            for (int r = 0; r < parts; ++r) {
                const int i = r * lanes + thread.lane;
                if (i < a.rows) values[i] = x[r];
            }
        }
        thread.sync();
    }
}

/// INFO of gels: the number of the first zero among the first n elements of the diagonal, or 0. `scratch` has room for
/// them.
template <class T, class Thread>
BASALT_DEVICE int first_zero_of_block(const Thread& thread, T* scratch, const Whole<T>& a, int n) {
    const int number = thread.warp * lanes + thread.lane;
    if (number < n) scratch[number] = *a.at(number, number);
    thread.sync();
    int info = 0;
    BASALT_ROLLED
    for (int k = n - 1; k >= 0; --k) {
        if (scratch[k] == T{0}) info = k + 1;
    }
    thread.sync();
    return info;
}

/// A := R and reflectors, tau[k] their factors, if tau is not null. Where there are right-hand sides, which takes
/// m >= n, their first n rows become solutions of the least squares. Returns INFO: the first zero on the diagonal of R,
/// or 0. `x`, padded to a warp, holds a right-hand side.
template <int width, int parts, class T, class Thread>
BASALT_DEVICE int qr_factor_block(const Thread& thread, const QrBlockMemory<T, width>& memory, T* x, const Whole<T>& a,
                                  T* tau, const RightSides<T>& right) {
    const int number = thread.warp * lanes + thread.lane, order = padded_to_warp(a.cols);
    qr_reflect_block<width, parts>(thread, memory, a, tau, right);
    if (right.cols == 0) return 0;
    const Whole<const T> r{a.a, a.ld, a.cols, a.cols};
    const int info = first_zero_of_block(thread, x, a, a.cols);
    if (info > 0) return info;
    for (Index c = 0; c < right.cols; ++c) {
        T* const b = right.b + c * right.ld;
        if (number < order) x[number] = number < a.cols ? b[number] : T{0};
        thread.sync();
        substitute_block<Triangle::upper, Diagonal::stored, 1>(thread, r, x, order);
        if (number < a.cols) b[number] = x[number];
        thread.sync();
    }
    return 0;
}

}  // namespace basalt::cuda_detail::batch
