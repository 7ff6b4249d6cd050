#pragma once

#include <vector>

#include "basalt/array.hpp"
#include "basalt/batch.hpp"
#include "basalt/batch_cholesky.hpp"
#include "basalt/batch_lu.hpp"
#include "basalt/batch_qr.hpp"
#include "basalt/partition.hpp"
#include "basalt/runtime.hpp"
#include "basalt/triangle.hpp"

namespace basalt {

/// A batch that several GPUs and the cores can work on at the same time: matrices of one shape in the host's memory,
/// one behind the other, cut into slices. Each slice is a Block of the runtime's data, which moves to where its tasks
/// run. T: float, double or Index.
///
///     basalt::Config config;
///     config.policy = "heft";                                        // GPUs and cores; the default: GPUs alone
///     basalt::Runtime rt(config);
///     const auto pinned = rt.pin(a.data(), a.size() * sizeof a[0]);  // copies are slow without
///     const auto matrices = basalt::BatchView<double>::strided(a.data(), 10'000, n, n, n, n * n);
///     const auto sides = basalt::BatchView<double>::strided(b.data(), 10'000, n, 1, n, n);
///     const basalt::BatchBlocks<double> A(rt, matrices, 32), B(rt, sides, 32);
///     const basalt::Array<basalt::Index> info(rt, 10'000);
///     basalt::batch_cholesky_factor_solve(rt, basalt::Triangle::lower, A, B, info);
///     rt.wait();                                                     // b holds the solutions, info.host_view() INFO
///
/// Tasks of your own access slices as they do blocks, and find the matrices in the elements that their kernels get:
///
///     rt.submit({}, readwrite(A.block(s)), [shape = A.shape(s)](basalt::View<double> elements) {
///         const basalt::BatchView<double> matrices = shape.at(elements.data());
///         ...
///     });
///
/// The memory from the first to the last element is the batch's, as that of Array::wrap(): what lies between the
/// matrices moves with them, and nothing else may write it while tasks use the batch, such as a batch whose matrices
/// lie in between. After a wait() outside of tasks the user may read and write all of it directly until the next
/// submission; slices that were on GPUs are sent there again then. Between two calls without a wait() they stay there.
///
/// Movable, not copyable; a moved-from batch has no slices. Destruction waits for the tasks that use the batch. It may
/// outlive its runtime, but not the user's memory. Thread-safe like Runtime::submit.
template <class T>
class BatchBlocks {
  public:
    /// A slice's matrices, wherever its elements lie. A few numbers, to be copied into kernels.
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
    /// matrices each. A few slices for each GPU and core let all of them end at about the same time; on cores, slices
    /// of some tens of matrices and more are worth it. A slice of each operand must fit in a GPU's memory. `name`,
    /// which is copied, appears in errors. Throws UsageError for other layouts, for matrices that are missing, overlap
    /// by their stride or have a leading dimension below max(1, rows), and unless 1 <= slices <= max(1, count()).
    BatchBlocks(Runtime& runtime, const BatchView<T>& matrices, Index slices, const char* name = nullptr);

    Index count() const { return begins_.empty() ? 0 : begins_.back(); }
    /// 0 where there are no matrices.
    Index slices() const { return blocks_.size(); }
    /// Slice s has matrices [begin(s), begin(s + 1)), 0 <= s < slices(). Not checked, nor in shape(); block() throws
    /// UsageError.
    Index begin(Index s) const { return begins_[static_cast<std::size_t>(s)]; }
    const Block<T>& block(Index s) const { return blocks_[s]; }
    Shape shape(Index s) const { return {begin(s + 1) - begin(s), view_}; }

    /// The user's matrices, of which tasks may still be writing some.
    const BatchView<T>& view() const { return view_; }
    /// Waits for the tasks that use the batch, and for no others. Throws DataError where a task that should have
    /// written matrices failed or was cancelled, or a GPU was lost that held the only copy, and UsageError where
    /// Array::host_view() does.
    const BatchView<T>& host_view() const;
    /// The same for a caller that writes all elements; the batch is valid afterwards even if a task had failed.
    const BatchView<T>& host_overwrite() const;

  private:
    BatchView<T> view_;
    std::vector<Index> begins_;
    Array<T> elements_;
    Partition<T> blocks_;
};

// Calls of batch_cholesky.hpp, batch_lu.hpp and batch_qr.hpp, which say more, as tasks, one for each slice. They submit
// and return at once.
//
// The runtime's policy places the tasks. The default sends them to GPUs, if there are any. Config::policy = "heft"
// shares them by measured speed, once it knows the times of tasks of that kind and size: from the second call on, or
// from the first one with Config::models. Matrices of more than largest_gpu_batch_order rows (LU and QR:
// largest_gpu_lu_order rows or columns), and least squares with fewer rows than columns, run on cores. GPUs round in
// another order than cores, so bits depend on where a slice ran.
//
// `info` has an element for each matrix. Calls with an `info` of their own do not wait for each other. Throw UsageError
// for shapes and counts that do not fit each other, operands that are cut in another way than A or lie between its
// matrices, data of another runtime, and inside tasks for an `info` that the task did not make. A Recording takes none
// of them. A kernel that cannot be enqueued fails its task with DeviceError.

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

/// geqrf, orgqr and gels. `tau`: min(m, n) x 1 matrices; batch_qr_form() also takes fewer rows.
template <class T>
void batch_qr_factor(Runtime& runtime, const BatchBlocks<T>& a, const BatchBlocks<T>& tau);
template <class T>
void batch_qr_form(Runtime& runtime, const BatchBlocks<T>& a, const BatchBlocks<T>& tau);
template <class T>
void batch_least_squares(Runtime& runtime, const BatchBlocks<T>& a, const BatchBlocks<T>& b, const Array<Index>& info);

}  // namespace basalt
