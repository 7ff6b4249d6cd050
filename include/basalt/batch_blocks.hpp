#pragma once

#include <vector>

#include "basalt/array.hpp"
#include "basalt/batch.hpp"
#include "basalt/partition.hpp"
#include "basalt/runtime.hpp"
#include "basalt/triangle.hpp"

namespace basalt {

/// A batch that GPUs and cores work on at the same time: matrices of one shape in the host's memory, one behind the
/// other, cut into slices. Each slice is a Block of the runtime's data, which moves to where its tasks run.
///
/// Tasks of your own access slices as they do blocks, and find the matrices in the elements that their kernels get:
///
///     for (basalt::Index s = 0; s < batch.slices(); ++s) {
///         runtime.submit({}, readwrite(batch.block(s)), [shape = batch.shape(s)](basalt::View<double> elements) {
///             const basalt::BatchView<double> matrices = shape.at(elements.data());
///             ...
///         });
///     }
///
/// What lies between the matrices moves with them and keeps its values. After a wait() the user may read and write the
/// matrices directly until the next submission; between two calls they may stay on the GPUs.
///
/// Movable, not copyable. Destruction waits for the tasks that use the batch. It may outlive its runtime. Thread-safe
/// like Runtime::submit.
template <class T>
class BatchBlocks {
  public:
    /// A slice's matrices, wherever its elements lie. A number of numbers, to be copied into kernels.
    class Shape {
      public:
        /// `elements`: the first one of the slice.
        BatchView<T> at(T* elements) const { return view<T>(elements); }
        BatchView<const T> at(const T* elements) const { return view<const T>(elements); }

      private:
        friend class BatchBlocks;
        Shape(Index count, const BatchView<T>& all)
            : count_(count),
              rows_(all.shape().rows()),
              cols_(all.shape().cols()),
              ld_(all.shape().col_stride()),
              stride_(all.stride()) {}
        template <class U>
        BatchView<U> view(U* elements) const {
            return BatchView<U>::strided(elements, count_, rows_, cols_, ld_, stride_);
        }

        Index count_, rows_, cols_, ld_, stride_;
    };

    BatchBlocks() = default;
    /// Borrows the matrices, which are strided() and have elements, and cuts them into slices of nearly as many
    /// matrices each. A few slices for each GPU and core let all of them end at about the same time. `name`, which is
    /// copied, appears in errors; nullptr: "array#number". Throws UsageError for other layouts, for matrices that are
    /// missing, overlap by their stride or have a leading dimension below max(1, rows), and unless
    /// 1 <= slices <= max(1, count()).
    BatchBlocks(Runtime& runtime, const BatchView<T>& matrices, Index slices, const char* name = nullptr);

    Index count() const { return view_.count(); }
    /// 0 where there are no matrices.
    Index slices() const { return blocks_.size(); }
    /// Slice s has matrices [begin(s), begin(s + 1)), 0 <= s < slices().
    Index begin(Index s) const { return begins_[static_cast<std::size_t>(s)]; }
    const Block<T>& block(Index s) const { return blocks_[s]; }
    Shape shape(Index s) const { return {begin(s + 1) - begin(s), view_}; }

    /// The user's matrices, of which tasks may still be writing some.
    const BatchView<T>& view() const { return view_; }
    /// Waits for the tasks that use the batch, and for no others. Throws DataError where a task that should have
    /// written matrices failed or was cancelled.
    const BatchView<T>& host_view() const;

  private:
    BatchView<T> view_;
    std::vector<Index> begins_;
    Array<T> elements_;
    Partition<T> blocks_;
};

// The calls of batch_cholesky.hpp, batch_lu.hpp and batch_qr.hpp as tasks, one for each slice, on GPUs and cores as the
// runtime's policy chooses: the default sends those to GPUs for which GPUs have a kernel, Config::policy = "heft"
// shares the slices by measured speed. They submit and return at once. `info` has an element for each matrix.
//
// The operands of a call are cut alike, or UsageError says so. Matrices of more than largest_gpu_batch_order rows (LU
// and QR: largest_gpu_lu_order rows or columns), and least squares with fewer rows than columns, run on cores.

/// potrf, potrs and posv.
template <class T>
void batch_cholesky_factor(Runtime& runtime, Triangle triangle, const BatchBlocks<T>& a, const Array<Index>& info);
template <class T>
void batch_cholesky_solve(Runtime& runtime, Triangle triangle, const BatchBlocks<T>& factors, const BatchBlocks<T>& b);
template <class T>
void batch_cholesky_factor_solve(Runtime& runtime, Triangle triangle, const BatchBlocks<T>& a, const BatchBlocks<T>& b,
                                 const Array<Index>& info);

/// getrf, getrs and gesv. `pivots`: n x 1 matrices.
template <class T>
void batch_lu_factor(Runtime& runtime, const BatchBlocks<T>& a, const BatchBlocks<Index>& pivots,
                     const Array<Index>& info);
template <class T>
void batch_lu_solve(Runtime& runtime, const BatchBlocks<T>& factors, const BatchBlocks<Index>& pivots,
                    const BatchBlocks<T>& b);
template <class T>
void batch_lu_factor_solve(Runtime& runtime, const BatchBlocks<T>& a, const BatchBlocks<Index>& pivots,
                           const BatchBlocks<T>& b, const Array<Index>& info);

/// geqrf, orgqr and gels. `tau`: min(m, n) x 1 matrices.
template <class T>
void batch_qr_factor(Runtime& runtime, const BatchBlocks<T>& a, const BatchBlocks<T>& tau);
template <class T>
void batch_qr_form(Runtime& runtime, const BatchBlocks<T>& a, const BatchBlocks<T>& tau);
template <class T>
void batch_least_squares(Runtime& runtime, const BatchBlocks<T>& a, const BatchBlocks<T>& b, const Array<Index>& info);

}  // namespace basalt
