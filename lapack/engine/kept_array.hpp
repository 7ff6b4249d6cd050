#pragma once

#include <algorithm>
#include <memory>
#include <new>

#include <basalt/runtime.hpp>
#include <basalt/view.hpp>

namespace basalt::lapack {

/// Writes results to an array of the user's such that the array is as it was if that fails. Cores write to the host's
/// memory and cannot fail there. Where GPUs write, a copy is kept meanwhile, which cores make while the GPUs compute.
template <class T>
class KeptArray {
  public:
    /// `place`: who writes. An array in a GPU's memory is not kept: with the GPU the array is lost, too. Without memory
    /// for the copy there is none.
    KeptArray(Runtime& runtime, View<T> array, Place place) : array_(array) {
        if (!place.is_any() || array.empty()) return;
        copy_.reset(new (std::nothrow) T[static_cast<std::size_t>(array.size())]);
        if (copy_ == nullptr) return;
        constexpr Index columns_a_task = 64;
        for (Index j = 0; j < array.cols(); j += columns_a_task) {
            const Index count = std::min(columns_a_task, array.cols() - j);
            runtime.submit({.name = "keep", .place = Place::cpu()},
                           [from = array.block(0, j, array.rows(), count),
                            to = kept().block(0, j, array.rows(), count)] { copy(from, to); });
        }
    }

    /// Calls write(), which waits for what it submits.
    template <class Write>
    void overwrite(const Write& write) {
        try {
            write();
        } catch (...) {
            if (copy_ != nullptr) copy(kept(), array_);
            throw;
        }
    }

  private:
    View<T> kept() const { return View<T>::column_major(copy_.get(), array_.rows(), array_.cols(), array_.rows()); }
    static void copy(View<T> from, View<T> to) {
        for (Index j = 0; j < from.cols(); ++j) {
            for (Index i = 0; i < from.rows(); ++i) to(i, j) = from(i, j);
        }
    }

    View<T> array_;
    std::unique_ptr<T[]> copy_;
};

}  // namespace basalt::lapack
