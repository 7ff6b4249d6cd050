#include "tiles/copy.hpp"

#include <algorithm>
#include <cstring>

namespace basalt {

namespace {

/// As many elements as the smallest vector register of a 64-bit machine holds, in GCC's and Clang's notation.
template <class T>
struct Vector {
    static constexpr int size = 16 / sizeof(T);
    typedef T Register __attribute__((vector_size(16)));

    static Register load(const T* from) {
        Register value;
        std::memcpy(&value, from, sizeof value);
        return value;
    }
    static void store(T* to, Register value) { std::memcpy(to, &value, sizeof value); }

    /// a0 b0 a1 b1 ...: the first halves of a and b interleaved.
    static Register interleave_low(Register a, Register b) {
        if constexpr (size == 2) {
            return __builtin_shufflevector(a, b, 0, 2);
        } else {
            return __builtin_shufflevector(a, b, 0, 4, 1, 5);
        }
    }
    static Register interleave_high(Register a, Register b) {
        if constexpr (size == 2) {
            return __builtin_shufflevector(a, b, 1, 3);
        } else {
            return __builtin_shufflevector(a, b, 2, 6, 3, 7);
        }
    }
};

/// target(i, j) at target[i * target_ld + j] = source(i, j) at source[i + j * source_ld], for one square of
/// Vector::size. Each pass interleaves register r with register r + size / 2; log2(size) passes transpose.
template <class T>
void transpose_registers(const T* source, Index source_ld, T* target, Index target_ld) {
    using V = Vector<T>;
    typename V::Register lines[V::size];
    for (int j = 0; j < V::size; ++j) lines[j] = V::load(source + j * source_ld);
    for (int pass = 1; pass < V::size; pass *= 2) {
        typename V::Register mixed[V::size];
        for (int r = 0; r < V::size / 2; ++r) {
            mixed[2 * r] = V::interleave_low(lines[r], lines[r + V::size / 2]);
            mixed[2 * r + 1] = V::interleave_high(lines[r], lines[r + V::size / 2]);
        }
        std::copy_n(mixed, V::size, lines);
    }
    for (int i = 0; i < V::size; ++i) V::store(target + i * target_ld, lines[i]);
}

/// One block of a cache line's worth of rows and columns, so that every line read or written is used whole.
template <class T>
void transpose_block(const T* source, Index source_ld, T* target, Index target_ld) {
    constexpr int line = 64 / sizeof(T);
    for (int i = 0; i < line; i += Vector<T>::size) {
        for (int j = 0; j < line; j += Vector<T>::size) {
            transpose_registers(source + i + j * source_ld, source_ld, target + i * target_ld + j, target_ld);
        }
    }
}

template <class T>
void copy_one_by_one(View<const T> source, View<T> target) {
    for (Index j = 0; j < source.cols(); ++j) {
        for (Index i = 0; i < source.rows(); ++i) target(i, j) = source(i, j);
    }
}

/// The source's columns and the target's rows are contiguous.
template <class T>
void copy_transposed(View<const T> source, View<T> target) {
    constexpr Index line = 64 / sizeof(T);
    const Index rows = source.rows() / line * line;
    const Index cols = source.cols() / line * line;
    const auto block = [&](Index i, Index j) {
        transpose_block(&source(i, j), source.col_stride(), &target(i, j), target.row_stride());
    };
    // Walk along the contiguous direction of the array with the longer strides: it costs one stream a line
    // instead of one TLB entry and, where the stride is a power of two, one cache set for all.
    if (source.col_stride() >= target.row_stride()) {
        for (Index j = 0; j < cols; j += line) {
            for (Index i = 0; i < rows; i += line) block(i, j);
        }
    } else {
        for (Index i = 0; i < rows; i += line) {
            for (Index j = 0; j < cols; j += line) block(i, j);
        }
    }
    const Index right = source.cols() - cols;
    const Index below = source.rows() - rows;
    copy_one_by_one(source.block(0, cols, rows, right), target.block(0, cols, rows, right));
    copy_one_by_one(source.block(rows, 0, below, source.cols()), target.block(rows, 0, below, source.cols()));
}

template <class T>
View<T> transposed(View<T> view) {
    return View<T>(view.data(), view.cols(), view.rows(), view.col_stride(), view.row_stride());
}

}  // namespace

template <class T>
void copy_elements(View<const T> source, View<T> target) {
    if (source.empty()) return;
    if (source.row_stride() == 1 && target.row_stride() == 1) {
        for (Index j = 0; j < source.cols(); ++j) std::copy_n(&source(0, j), source.rows(), &target(0, j));
    } else if (source.col_stride() == 1 && target.col_stride() == 1) {
        for (Index i = 0; i < source.rows(); ++i) std::copy_n(&source(i, 0), source.cols(), &target(i, 0));
    } else if (source.row_stride() == 1 && target.col_stride() == 1) {
        copy_transposed(source, target);
    } else if (source.col_stride() == 1 && target.row_stride() == 1) {
        copy_transposed(transposed(source), transposed(target));
    } else {
        copy_one_by_one(source, target);
    }
}

template void copy_elements(View<const float>, View<float>);
template void copy_elements(View<const double>, View<double>);

}  // namespace basalt
