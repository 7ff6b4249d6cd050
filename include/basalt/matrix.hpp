#pragma once

#include <memory>

#include "basalt/access.hpp"
#include "basalt/deal.hpp"
#include "basalt/generator.hpp"
#include "basalt/runtime.hpp"
#include "basalt/tile_shape.hpp"
#include "basalt/triangle.hpp"

namespace basalt {

namespace detail {
class MatrixStorage;
}

/// An m x n matrix in tiles (CRRB). Tile columns follow each other; each is one contiguous row-major array whose
/// leading dimension is the tile width. Each tile column is one datum; tasks access blocks of it.
///
/// T is float or double. m, n >= 0. Movable, not copyable; a moved-from matrix is 0 x 0. Destruction waits
/// for the tasks that use it. Regions may be taken from any thread.
///
/// A matrix may outlive its runtime, whose end does what the destruction of the matrix would have done. Afterwards the
/// matrix keeps its shape, but members that need the runtime, the elements or a region throw UsageError.
template <class T>
class Matrix {
  public:
    Matrix() = default;

    /// A matrix of zeros. `tile` 0 x 0: chosen by size and by the GPUs' memory. `name`, which is
    /// copied, appears in errors. Throws UsageError for sizes out of range, and std::bad_alloc.
    Matrix(Runtime& runtime, Index m, Index n, TileShape tile = {}, const char* name = "matrix");

    /// A copy of LAPACK's column-major array, element (i, j) at a[i + j * lda], lda >= max(1, m).
    /// Waits for the copy: `a` is free afterwards.
    static Matrix from_columns(Runtime& runtime, const T* a, Index m, Index n, Index lda, TileShape tile = {});
    /// The same from row-major storage, element (i, j) at a[i * lda + j], lda >= max(1, n).
    static Matrix from_rows(Runtime& runtime, const T* a, Index m, Index n, Index lda, TileShape tile = {});

    /// Borrows a column-major array until the next Runtime::wait() outside tasks, or until the matrix's destruction.
    /// Then the results of all tasks submitted before are back in `a`. Afterwards the matrix is the runtime's own.
    static Matrix wrap(Runtime& runtime, T* a, Index m, Index n, Index lda, TileShape tile = {});

    /// Borrows a column-major array in the memory of GPU `place`, for as long as the wrap() above does. The tile
    /// columns use that memory, so only one more tile column is needed (docs/decisions/0015-in-place-and-hpl.md). All
    /// work that writes the array must have completed. Meanwhile all lda rows belong to the runtime; rows from m on
    /// come back unchanged. Afterwards the array holds the matrix, and this object throws UsageError when asked for
    /// parts of it. `tile.width` 0: chosen by size; a tile is as high as the array. With Place::cpu() this is the
    /// wrap() above. Throws UsageError for Place::any(), for a GPU that does not exist, and inside a task.
    static Matrix wrap(Runtime& runtime, T* a, Index m, Index n, Index lda, TileShape tile, Place place);

    /// The leading m x n part of the generator's matrix, in the memory of `place`. Place::any() deals the tile columns
    /// to the GPUs (dealt_to()), if there are any. Returns at once. (For another deal: make a matrix of zeros, call
    /// set_deal(), then fill().)
    static Matrix generate(Runtime& runtime, std::shared_ptr<const Generator<T>> generator, Index m, Index n,
                           TileShape tile = {}, Place place = Place::cpu());

    Index rows() const;
    Index cols() const;
    TileShape tile_shape() const;
    Index tile_rows() const;
    Index tile_cols() const;

    /// Tile (i, j) without its padding. Throws UsageError for a tile that does not exist.
    Region<T> tile(Index i, Index j) const;
    /// Tile column j, all rows of the matrix.
    Region<T> column(Index j) const;
    /// The GPU that tile column j is dealt to. The library's tasks on the column run there; users' tasks are fastest
    /// there, too. Place::cpu() without GPUs. Throws UsageError for a column that does not exist.
    Place dealt_to(Index j) const;
    /// Deals the tile columns of a new matrix in another way than Deal::balanced. fill() or load() it afterwards.
    /// Throws UsageError while a tile column has memory on a GPU. Not while another thread submits tasks on the matrix.
    void set_deal(Deal deal);
    /// Rows [row_begin, row_end) of the matrix and columns [col_begin, col_end) of tile column j.
    Region<T> block(Index j, Index row_begin, Index row_end, Index col_begin, Index col_end) const;

    /// Submits tasks that overwrite the matrix with `source` (m x n, any strides). `source` must stay valid until they
    /// have run. Throws UsageError when the shapes differ.
    void load(View<const T> source);
    /// Submits tasks that copy the matrix to `target` (m x n, any strides), which is complete after wait().
    void store(View<T> target) const;
    /// The same, converted by GPUs. With Place::any() the array is in the host's memory. Tile columns are dealt to the
    /// GPUs (dealt_to()); some are converted while others are being copied. This is fastest if the array's memory is
    /// pinned. Without GPUs, for arrays without unit row stride and with Place::cpu(), these are load(source) and
    /// store(target). With Place::gpu(g) the array is in that GPU's memory; UsageError if neither its row stride nor
    /// its column stride is 1.
    void load(View<const T> source, Place place);
    void store(View<T> target, Place place) const;
    /// The same for one triangle of a square matrix, with half of the work. In the array, elements on the other side of
    /// the diagonal are not read, and written only by OtherSide::zeros, which makes them zeros. In the matrix, they are
    /// unspecified after load_triangle(). The array has unit row or unit column stride, and is converted by GPUs in
    /// either case. With Place::any() cores convert where the GPUs do not hold all of the matrix, and what is on the
    /// host when it is stored. Zeros are written behind tasks that may read the same elements of the array for an
    /// earlier load(). Also throws UsageError for a matrix that is not square.
    void load_triangle(Triangle triangle, View<const T> source, Place place = Place::cpu());
    void store_triangle(Triangle triangle, View<T> target, Place place = Place::cpu(),
                        OtherSide other = OtherSide::untouched) const;
    /// Submits tasks that overwrite the matrix with the leading part of the generator's matrix, as generate() does.
    void fill(std::shared_ptr<const Generator<T>> generator, Place place = Place::cpu());

    /// Pins the matrix's memory on the host, once, so that copies to and from GPUs run at full speed. Takes about a
    /// second for 4 GB. Factorizations that move a matrix from the host do this themselves. Throws DeviceError.
    void pin();

    /// Waits for the tasks that use tile column j. Returns the m x width view of its elements without padding,
    /// row-major. Throws UsageError inside a task that did not make the matrix, where waiting might never end; at()
    /// does the same.
    View<T> host_view(Index j) const;
    /// Waits for the tasks that use the element's tile column. For single elements.
    T at(Index i, Index j) const;

    const std::shared_ptr<detail::MatrixStorage>& share_storage() const { return storage_; }
    Runtime& runtime() const;

  private:
    std::shared_ptr<detail::MatrixStorage> storage_;
};

/// The tile for an m x n matrix: `usual`, or a smaller one where a GPU's memory (Config::gpu_memory) is short
/// (GpuFitting). Without GPUs it is `usual`.
TileShape fitting_tile(const Runtime& runtime, TileShape usual, Index m, Index n, std::size_t element_size);

}  // namespace basalt
