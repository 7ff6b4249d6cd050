#pragma once

#include <cstdint>
#include <type_traits>

#include <basalt/view.hpp>

/// The vectorised inner loops, one table of plain functions per instruction set.
///
/// The functions are compiled once per instruction set, in files of their own (isa_*.cpp) that hold nothing
/// with external linkage but the table: an inline function of the standard library compiled there could
/// otherwise be the copy that the whole program links, and fail on an older machine.
namespace basalt::simd {

/// The largest magnitude of a stretch of a column and its first row; row < 0 and magnitude < 0 if there is
/// none (nothing but NaN, or no rows).
template <class T>
struct Candidate {
    T magnitude;
    Index row;
};

/// How a column of L is scaled by its pivot.
enum class Scaling { none, multiply, divide };

/// Largest number of columns update_column takes at once.
constexpr Index max_rank = 4;

/// Which elements of each matrix of a batch move.
enum class BatchPart { all, lower, upper };

/// Matrices of a batch that come next, to be fetched to the second cache meanwhile: `count` column-major ones, whose
/// `part` is needed.
template <class T>
struct Ahead {
    const T* const* matrices;
    Index count, rows, cols, ld;
    BatchPart part;
};

/// `count` column-major n x n matrices for Kernels::small_cholesky, one address each, and LAPACK's INFO.
template <class T>
struct SmallCholeskyOperands {
    Index n, count;
    T* const* a;
    Index lda;
    Index* info;
};

/// `count` column-major n x n matrices A for Kernels::small_lu, one address each. Their factors become LU, which may be
/// A, and LAPACK's IPIV and INFO; where `lu` or `pivots` is null, these are discarded. The `cols` columns of B become
/// solutions where INFO is 0.
template <class T>
struct SmallLuOperands {
    Index n, count;
    const T* const* a;
    Index lda;
    T* const* lu;
    Index ldlu;
    Index* const* pivots;
    Index* info;
    Index cols;
    T* const* b;
    Index ldb;
    const T* const* next;  ///< matrices of the same shape that come behind a: a few are fetched ahead of the work
    Index next_count;
};

/// Q^T C, Q C, or Q C where C holds the first columns of the identity.
enum class BatchReflection { transposed, plain, of_identity };

/// Widest block of columns that load_block takes.
constexpr Index max_block_cols = 64;

/// Row-major operands have unit column stride; "packed" names the layout of pack_b; strip is its full width.
///
/// An element has the same bits wherever it lies in memory and however many rows and columns go with it: every kernel
/// applies the same operations to it, in the same order and with the same roundings (vector.hpp), in a register or
/// alone. Two things are not elements in this sense: the sums of dots and reflect, and the results of load_block with
/// more than depth_block products.
template <class T>
struct Kernels {
    const char* name;

    // Block sizes, in elements.
    Index tile_rows;     ///< rows of C held in registers
    Index strip;         ///< columns of C held in registers, the full strip of a packed B
    Index half_strip;    ///< width of a last strip that needs no more
    Index depth_block;   ///< K of one pass of gemm_minus: a tile's rows of A stay in the first cache
    Index column_block;  ///< columns of one pass: depth_block x column_block of B stay in the second cache
    Index block;         ///< columns of the panel that are packed together: one leaf or a few
    Index leaf;          ///< columns of a leaf of the panel
    Index rank;          ///< columns of a leaf that are applied together to the leaf's others

    /// Packs B (k x n, row-major) into strips of `strip` columns, each k rows of strip contiguous elements,
    /// filled up with zeros.
    void (*pack_b)(Index k, Index n, const T* b, Index ldb, T* packed);

    /// C (m x n) -= A (m x k) B, B packed.
    void (*gemm_minus)(Index m, Index n, Index k, T* c, Index ldc, const T* a, Index lda, const T* packed);

    /// B (k x n) becomes L^-1 B with L (k x k) lower, n <= strip; the result is also packed. scale[i] is 1 / l(i, i);
    /// null: L has a unit diagonal. The first `done` rows are left as they are, and are in place in `packed`. B may lie
    /// in `packed`.
    void (*solve_strip)(Index done, Index k, Index n, const T* l, Index ldl, const T* scale, T* b, Index ldb,
                        T* packed);

    /// C (rows x cols, cols <= max_block_cols) - A (rows x depth) B to column-major, C and A with the same
    /// leading dimension, B packed into strips that hold `packed_rows` rows, `depth` of which are used.
    void (*load_block)(Index rows, Index cols, Index depth, const T* c, const T* a, Index ld, const T* packed,
                       Index packed_rows, T* to, Index to_ld);

    /// Column-major (rows x cols) to row-major.
    void (*unpack_columns)(Index rows, Index cols, const T* from, Index from_ld, T* to, Index to_ld);

    /// Scales the last of the `rank` columns at l, writes it back, then x -= sum_q l_q u[q], and returns the
    /// largest |x|. rank 0 only searches.
    Candidate<T> (*update_column)(Index rows, Index rank, T* l, Index ldl, Scaling scaling, T scale, const T* u, T* x);

    /// x_c -= sum_q l_q u[q * ldu + c] for `cols` columns at x, any rank.
    void (*update_block)(Index rows, Index cols, Index rank, const T* l, Index ldl, const T* u, Index ldu, T* x,
                         Index ldx);

    /// row(k) -= sum over from <= q < to of row(q) u(q, k), for first <= k < last only; reads and rewrites whole
    /// registers around them. from..to and first..last do not meet.
    void (*update_row)(Index first, Index last, Index from, Index to, const T* u, Index ldu, T* row);

    /// A reflector on `cols` columns at x: v *= scale, x_c -= w[c] v; and sums[c] = x_0^T x_c of the updated columns.
    void (*reflect)(Index rows, Index cols, T scale, T* v, const T* w, T* x, Index ldx, T* sums);

    /// sums[c] = y^T x_c for `cols` columns at x.
    void (*dots)(Index rows, Index cols, const T* y, const T* x, Index ldx, T* sums);

    /// Scales one column.
    void (*scale_column)(Index rows, Scaling scaling, T scale, T* x);

    // Batches of `lanes` small matrices of one shape. Interleaved: element (i, j) of matrix l is
    // to[(j * apart + i) * lanes + l], where `apart` is the number of rows unless it is an argument.
    Index lanes;

    /// Interleaves the part of `lanes` column-major matrices, and other elements where that is faster.
    void (*interleave)(Index rows, Index cols, BatchPart part, const T* const* from, Index ld, T* to, Index apart);

    /// The reverse. Elements outside the part may be written with what interleave() read there. Matrices that are null
    /// are left out.
    void (*separate)(Index rows, Index cols, BatchPart part, const T* from, Index apart, T* const* to, Index ld);

    /// A = L L^T in place for interleaved n x n matrices, whose lower triangle is used: a(i, j) at
    /// a[i * rs + j * cs]. reciprocals[j * lanes + l] = 1 / l(j, j), info[l] is LAPACK's INFO.
    void (*batch_cholesky)(Index n, T* a, Index rs, Index cs, T* reciprocals, Index* info, const Ahead<T>& ahead);

    /// Those reciprocals of a factor.
    void (*batch_reciprocals)(Index n, const T* a, Index rs, Index cs, T* reciprocals);

    /// Solves L L^T X = B in place of the interleaved B (n x cols).
    void (*batch_solve)(Index n, Index cols, T* a, Index rs, Index cs, const T* reciprocals, T* b);

    /// B (n x cols, b(i, j) at b[i * b_rs + j * b_cs]) := L^-1 B for a lower triangular L, a(i, j) at
    /// a[i * rs + j * cs]. 1 / l(i, i) lies at reciprocals[i * step]; null: L has a unit diagonal. An upper triangle is
    /// a lower one with rows and columns counted from the end.
    void (*batch_substitute)(Index n, Index cols, T* a, Index rs, Index cs, const T* reciprocals, Index step, T* b,
                             Index b_rs, Index b_cs);

    /// An integer of the size of T: a row or a place of a lane.
    using Order = std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>;
    /// Registers that batch_lu and batch_qr need as scratch for each row.
    static constexpr Index batch_scratch = 4;

    /// LU with partial pivoting of interleaved n x n matrices, behind which lie `cols` right-hand sides as further
    /// columns. Rows are not moved: see `order`, three stretches of n registers. The first has the places of the rows
    /// among the pivots; the second their reverse, as offsets in a column of interleaved elements; the third LAPACK's
    /// IPIV. Right-hand sides become L^-1 P B, in the same order of rows. info[l] is LAPACK's.
    void (*batch_lu)(Index n, Index cols, T* a, T* scratch, Order* order, Index* info, const Ahead<T>& ahead);
    /// The same without pivoting.
    void (*batch_lu_unpivoted)(Index n, Index cols, T* a, T* scratch, Index* info, const Ahead<T>& ahead);
    /// Puts the rows of one column-major n x n matrix in the order of its pivots: the row that becomes row k has its
    /// offset at offset[k * lanes], as batch_lu left it. `row` and `copy` are scratch for n elements each.
    void (*batch_order_rows)(Index n, T* a, Index ld, const Order* offset, Order* row, T* copy);
    /// X (n x cols) := U^-1 B with what batch_lu left; B is destroyed. `order` is null without pivoting.
    void (*batch_lu_solve)(Index n, Index cols, T* a, Order* order, T* x);

    /// LAPACK's geqrf of interleaved m x n matrices, a(i, j) at a[i * rs + j * cs].
    void (*batch_qr)(Index m, Index n, T* a, Index rs, Index cs, T* tau, T* scratch, const Ahead<T>& ahead);
    /// C (m x cols, columns c_cs elements apart) := Q^T C or Q C with the first k reflectors of batch_qr.
    void (*batch_reflect)(Index m, Index k, T* a, Index rs, Index cs, const T* tau, BatchReflection what, Index cols,
                          T* c, Index c_cs, T* scratch);

    // Matrices that are not interleaved.

    Index small_order;  ///< the largest order that these kernels take; 0 where the instruction set has none

    /// A = L L^T in place, in lower triangles.
    void (*small_cholesky)(const SmallCholeskyOperands<T>& operands);
    /// LU with partial pivoting, and solutions. The least order of both is 1.
    void (*small_lu)(const SmallLuOperands<T>& operands);
};

/// The table of this machine's widest instruction set, chosen once.
template <class T>
const Kernels<T>& kernels();

/// The table of one instruction set: "generic", "avx2" or "avx512"; null where this machine lacks it.
template <class T>
const Kernels<T>* find_kernels(const char* name);

}  // namespace basalt::simd
