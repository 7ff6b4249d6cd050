#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <new>
#include <numeric>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include <basalt/batch.hpp>

#include "kernels/cpu/simd/kernels.hpp"

namespace basalt::cpu_kernels {

/// Memory for interleaved matrices, aligned to a register. Each thread keeps its own, which grows: fresh pages for
/// every slice would cost more than the factorizations. Valid until the thread's next call.
template <class T>
T* lane_memory(Index elements) {
    constexpr std::align_val_t alignment{64};
    struct Free {
        void operator()(T* memory) const { ::operator delete(memory, alignment); }
    };
    thread_local std::unique_ptr<T, Free> memory;
    thread_local Index size = 0;
    if (elements > size) {
        memory.reset();
        size = 0;
        memory.reset(static_cast<T*>(::operator new(static_cast<std::size_t>(elements) * sizeof(T), alignment)));
        size = elements;
    }
    return memory.get();
}

/// Numbers of matrices that are interleaved together. At most 16 fit: 64 bytes of float.
struct LaneBlock {
    std::array<Index, 16> matrix;
    Index used;                  ///< places; the others repeat the last matrix, and nothing is stored for them
    std::array<Index, 16> next;  ///< matrices of the block that follows, next_used of them
    Index next_used;
};

/// The matrices of a block, for simd::Kernels; null for those that are not to be stored.
template <class T>
struct LaneMatrices {
    std::array<T*, 16> data;
    Index ld;
};

template <class T>
LaneMatrices<T> matrices_of(const BatchView<T>& batch, const std::array<Index, 16>& numbers, Index lanes) {
    LaneMatrices<T> result{{}, batch[numbers[0]].col_stride()};
    for (std::size_t l = 0; l < static_cast<std::size_t>(lanes); ++l) result.data[l] = batch[numbers[l]].data();
    return result;
}

template <class A>
Index order_of(const BatchView<A>& a, const LaneBlock& block) {
    return a[block.matrix[0]].rows();
}

/// What kernels fetch while they work on a block: the matrices of the next one, unless they are so large that the
/// second cache does not hold them next to this block.
template <class T>
class NextMatrices {
  public:
    NextMatrices(const BatchView<const T>& batch, const LaneBlock& block, simd::BatchPart part) {
        const View<const T> first = batch[block.matrix[0]];
        const Index rows = first.rows(), cols = first.cols(), ld = first.col_stride();
        const Index bytes = rows * cols * static_cast<Index>(sizeof(T));
        if (bytes * block.next_used > most_bytes) return;
        for (Index l = 0; l < block.next_used; ++l) {
            data_[static_cast<std::size_t>(l)] = batch[block.next[static_cast<std::size_t>(l)]].data();
        }
        ahead_ = {data_.data(), block.next_used, rows, cols, ld, part};
        if (ld == rows && rows < least_rows) {
            ahead_ = {data_.data(), block.next_used, rows * cols, 1, rows * cols, simd::BatchPart::all};
        }
    }
    NextMatrices(const NextMatrices&) = delete;
    NextMatrices& operator=(const NextMatrices&) = delete;

    const simd::Ahead<T>& ahead() const { return ahead_; }

  private:
    static constexpr Index most_bytes = Index{256} << 10;
    // Contiguous matrices of fewer rows are fetched whole, in one stretch, which takes no longer than a triangle.
    static constexpr Index least_rows = 64;

    std::array<const T*, 16> data_{};
    simd::Ahead<T> ahead_{};
};

/// INFO of a block's matrices, by their numbers.
inline void store_info(const LaneBlock& block, const std::array<Index, 16>& lane_info, Index* info) {
    for (std::size_t l = 0; l < static_cast<std::size_t>(block.used); ++l) info[block.matrix[l]] = lane_info[l];
}

/// For batches of which no matrix goes to the kernels without interleaving.
inline bool none_is_small(Index) { return false; }

template <class T>
void leave_out_unused(LaneMatrices<T>& matrices, const LaneBlock& block) {
    for (auto l = static_cast<std::size_t>(block.used); l < 16; ++l) matrices.data[l] = nullptr;
}

template <class T>
void leave_out_failed(LaneMatrices<T>& matrices, const std::array<Index, 16>& info) {
    for (std::size_t l = 0; l < 16; ++l) {
        if (info[l] != 0) matrices.data[l] = nullptr;
    }
}

/// What matrices must have in common to be interleaved: shapes and leading dimensions of both operands.
template <class A, class B>
auto lane_shape(const BatchView<A>& a, const BatchView<B>* b, Index k) {
    const auto shape = [](const auto& m) { return std::tuple(m.rows(), m.cols(), m.col_stride()); };
    using Shape = std::tuple<Index, Index, Index>;
    return std::pair<Shape, Shape>(shape(a[k]), b != nullptr ? shape((*b)[k]) : Shape{});
}

/// Calls together(block) for matrices of equal shape, `lanes` at a time, and alone(k) for those of which fewer than
/// least(k) are left. least(k) is empty for a matrix that is never interleaved. It is asked once for matrices of equal
/// shape. Matrices of a uniform batch all have the shape of the first.
template <class A, class B, class Least, class Together, class Alone>
void visit_lane_blocks(const BatchView<A>& a, const BatchView<B>* b, Index lanes, const Least& least,
                       const Together& together, const Alone& alone) {
    const Index count = a.count();
    const auto run = [&](Index begin, Index end, const auto& matrix) {
        if (begin == end) return;
        const std::optional<Index> enough = least(matrix(begin));
        for (; enough && end - begin >= *enough && begin < end; begin += std::min(lanes, end - begin)) {
            LaneBlock block{{}, std::min(lanes, end - begin), {}, 0};
            block.next_used = std::min(lanes, end - begin - block.used);
            for (Index l = 0; l < lanes; ++l) {
                block.matrix[static_cast<std::size_t>(l)] = matrix(begin + std::min(l, block.used - 1));
            }
            for (Index l = 0; l < block.next_used; ++l) {
                block.next[static_cast<std::size_t>(l)] = matrix(begin + lanes + l);
            }
            together(block);
        }
        for (; begin < end; ++begin) alone(matrix(begin));
    };
    if (a.uniform() && (b == nullptr || b->uniform())) return run(0, count, [](Index k) { return k; });
    std::vector<Index> order(static_cast<std::size_t>(count));
    std::iota(order.begin(), order.end(), Index{0});
    const auto shape = [&](Index k) { return lane_shape(a, b, k); };
    std::stable_sort(order.begin(), order.end(), [&](Index x, Index y) { return shape(x) < shape(y); });
    const auto sorted = [&](Index k) { return order[static_cast<std::size_t>(k)]; };
    for (Index begin = 0; begin < count;) {
        Index end = begin + 1;
        while (end < count && shape(sorted(end)) == shape(sorted(begin))) ++end;
        run(begin, end, sorted);
        begin = end;
    }
}

}  // namespace basalt::cpu_kernels
