#pragma once

#include <sys/mman.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <exception>
#include <memory>
#include <optional>

#include <basalt/runtime.hpp>
#include <basalt/triangle.hpp>
#include <basalt/view.hpp>

namespace basalt::lapack {

/// Writes results to an array of the user's such that the array is as it was if that fails. Cores write to the host's
/// memory and cannot fail there. Where GPUs write, a copy is kept meanwhile, which cores make while the GPUs compute.
template <class T>
class KeptArray {
  public:
    /// `place`: who writes. `triangle`: which alone is written, if not all of the array. An array in a GPU's memory is
    /// not kept: with the GPU the array is lost, too. Without memory for the copy there is none.
    KeptArray(Runtime& runtime, View<T> array, Place place, std::optional<Triangle> triangle = {})
        : array_(by_columns(array)), triangle_(by_columns(array, triangle)) {
        if (!place.is_any() || array_.empty()) return;
        copy_.reset(allocate(static_cast<std::size_t>(array_.size()) * sizeof(T)));
        if (copy_ == nullptr) return;
        try {
            submit_copies(runtime);
        } catch (...) {
            finish(runtime);  // those that were submitted write to the copy
            throw;
        }
    }

    /// Calls write(), which waits for what it submits.
    template <class Write>
    void overwrite(const Write& write) {
        try {
            write();
        } catch (...) {
            if (copy_ != nullptr) copy_columns(kept(), array_, triangle_, 0, array_.cols());
            throw;
        }
    }

  private:
    struct Free {
        void operator()(T* memory) const { std::free(memory); }
    };

    // its columns are contiguous, or those of its transpose
    static View<T> by_columns(View<T> array) {
        if (array.row_stride() == 1) return array;
        return {array.data(), array.cols(), array.rows(), array.col_stride(), array.row_stride()};
    }
    static std::optional<Triangle> by_columns(View<T> array, std::optional<Triangle> triangle) {
        if (!triangle || array.row_stride() == 1) return triangle;
        return *triangle == Triangle::lower ? Triangle::upper : Triangle::lower;
    }

    /// On huge pages: the first touch of small ones takes longer than the copy. nullptr without memory.
    static T* allocate(std::size_t bytes) {
        constexpr std::size_t page = std::size_t{2} << 20;
        const std::size_t rounded = (bytes + page - 1) / page * page;
        void* const memory = std::aligned_alloc(page, rounded);
        if (memory != nullptr) madvise(memory, rounded, MADV_HUGEPAGE);  // a hint: what it answers does not matter
        return static_cast<T*>(memory);
    }

    void submit_copies(Runtime& runtime) const {
        constexpr Index columns_a_task = 64;
        for (Index j = 0; j < array_.cols(); j += columns_a_task) {
            const Index end = std::min(j + columns_a_task, array_.cols());
            runtime.submit({.name = "keep", .place = Place::cpu()},
                           [from = array_, to = kept(), triangle = triangle_, j, end] {
                               copy_columns(from, to, triangle, j, end);
                           });
        }
    }
    static void finish(Runtime& runtime) {
        try {
            runtime.wait();
        } catch (const std::exception&) {  // the first error tells enough
        }
    }

    View<T> kept() const { return View<T>::column_major(copy_.get(), array_.rows(), array_.cols(), array_.rows()); }
    static void copy_columns(View<T> from, View<T> to, std::optional<Triangle> triangle, Index first, Index last) {
        for (Index j = first; j < last; ++j) {
            const Index begin = triangle == Triangle::lower ? j : 0;
            const Index end = triangle == Triangle::upper ? j + 1 : from.rows();
            std::copy_n(&from(begin, j), end - begin, &to(begin, j));
        }
    }

    const View<T> array_;
    const std::optional<Triangle> triangle_;
    std::unique_ptr<T, Free> copy_;
};

}  // namespace basalt::lapack
