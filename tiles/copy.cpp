#include "tiles/copy.hpp"
#include "tiles/transposed.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace basalt {

namespace {

/// The smallest vector register of a 64-bit machine, in GCC's and Clang's notation.
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
    /// To an aligned address, past the caches where the machine can do that.
    static void stream(T* to, Register value) {
#if defined(__SSE2__)
        _mm_stream_si128(reinterpret_cast<__m128i*>(to), reinterpret_cast<__m128i>(value));
#else
        store(to, value);
#endif
    }

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

/// Streamed elements become visible to other threads before the thread's next writes.
void finish_streams() {
#if defined(__SSE2__)
    _mm_sfence();
#endif
}

/// lines[i][j] = source(i, j) at source[i + j * source_ld], for one square of Vector::size. Each pass interleaves
/// register r with register r + size / 2; log2(size) passes transpose.
template <class T>
void load_transposed(const T* source, Index source_ld, typename Vector<T>::Register* lines) {
    using V = Vector<T>;
    for (int j = 0; j < V::size; ++j) lines[j] = V::load(source + j * source_ld);
    for (int pass = 1; pass < V::size; pass *= 2) {
        typename V::Register mixed[V::size];
        for (int r = 0; r < V::size / 2; ++r) {
            mixed[2 * r] = V::interleave_low(lines[r], lines[r + V::size / 2]);
            mixed[2 * r + 1] = V::interleave_high(lines[r], lines[r + V::size / 2]);
        }
        std::copy_n(mixed, V::size, lines);
    }
}

template <class T>
constexpr Index line = 64 / sizeof(T);  ///< elements of a cache line

/// target(i, j) at target[i * target_ld + j] = source(i, j) for one block of a cache line's worth of rows and columns,
/// so that whole lines are read and written. Each line is written at once, which streaming needs.
template <Caching caching, class T>
void transpose_block(const T* source, Index source_ld, T* target, Index target_ld) {
    using V = Vector<T>;
    constexpr Index squares = line<T> / V::size;
    for (Index i = 0; i < line<T>; i += V::size) {
        typename V::Register lines[squares][V::size];
        for (Index s = 0; s < squares; ++s) {
            load_transposed(source + i + s * V::size * source_ld, source_ld, lines[s]);
        }
        for (Index r = 0; r < V::size; ++r) {
            for (Index s = 0; s < squares; ++s) {
                T* const to = target + (i + r) * target_ld + s * V::size;
                if constexpr (caching == Caching::bypass) {
                    V::stream(to, lines[s][r]);
                } else {
                    V::store(to, lines[s][r]);
                }
            }
        }
    }
}

template <class T>
void copy_one_by_one(View<const T> source, View<T> target) {
    for (Index j = 0; j < source.cols(); ++j) {
        for (Index i = 0; i < source.rows(); ++i) target(i, j) = source(i, j);
    }
}

/// The source's columns and the target's rows are contiguous; the shape is a multiple of a cache line's elements.
template <Caching caching, class T>
void copy_blocks(View<const T> source, View<T> target) {
    const auto block = [&](Index i, Index j) {
        transpose_block<caching>(&source(i, j), source.col_stride(), &target(i, j), target.row_stride());
    };
    // Walk along the contiguous direction of the array with the longer strides: it costs one stream a line
    // instead of one TLB entry and, where the stride is a power of two, one cache set for all. Streams into the
    // target need no such care, reading does.
    if (caching == Caching::bypass || source.col_stride() >= target.row_stride()) {
        for (Index j = 0; j < source.cols(); j += line<T>) {
            for (Index i = 0; i < source.rows(); i += line<T>) block(i, j);
        }
    } else {
        for (Index i = 0; i < source.rows(); i += line<T>) {
            for (Index j = 0; j < source.cols(); j += line<T>) block(i, j);
        }
    }
}

/// The source's columns and the target's rows are contiguous.
template <class T>
void copy_transposed(View<const T> source, View<T> target, Caching caching) {
    const auto address = reinterpret_cast<std::uintptr_t>(target.data());
    const bool alike = target.row_stride() % line<T> == 0;  // all rows begin at the same offset in a cache line
    const bool streams = caching == Caching::bypass && alike && address % sizeof(T) == 0;
    const auto offset = static_cast<Index>(address / sizeof(T));
    const Index left = streams ? std::min(source.cols(), (line<T> - offset % line<T>) % line<T>) : 0;
    const Index rows = source.rows() / line<T> * line<T>, cols = (source.cols() - left) / line<T> * line<T>;
    const auto from = source.block(0, left, rows, cols);
    const auto to = target.block(0, left, rows, cols);
    if (streams) {
        copy_blocks<Caching::bypass>(from, to);
        finish_streams();
    } else {
        copy_blocks<Caching::keep>(from, to);
    }
    const Index right = source.cols() - left - cols;
    const Index below = source.rows() - rows;
    copy_one_by_one(source.block(0, 0, rows, left), target.block(0, 0, rows, left));
    copy_one_by_one(source.block(0, left + cols, rows, right), target.block(0, left + cols, rows, right));
    copy_one_by_one(source.block(rows, 0, below, source.cols()), target.block(rows, 0, below, source.cols()));
}

}  // namespace

template <class T>
void copy_elements(View<const T> source, View<T> target, Caching caching) {
    if (source.empty()) return;
    if (source.row_stride() == 1 && target.row_stride() == 1) {
        for (Index j = 0; j < source.cols(); ++j) std::copy_n(&source(0, j), source.rows(), &target(0, j));
    } else if (source.col_stride() == 1 && target.col_stride() == 1) {
        for (Index i = 0; i < source.rows(); ++i) std::copy_n(&source(i, 0), source.cols(), &target(i, 0));
    } else if (source.row_stride() == 1 && target.col_stride() == 1) {
        copy_transposed(source, target, caching);
    } else if (source.col_stride() == 1 && target.row_stride() == 1) {
        copy_transposed(transposed(source), transposed(target), caching);
    } else {
        copy_one_by_one(source, target);
    }
}

template void copy_elements(View<const float>, View<float>, Caching);
template void copy_elements(View<const double>, View<double>, Caching);

}  // namespace basalt
