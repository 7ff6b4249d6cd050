#pragma once

/// What the kernels of batches are asked to do.
namespace basalt::cuda_detail::batch {

/// Where a kernel holds a matrix while it works on it.
enum class Residence {
    lanes,   ///< in the registers of a warp or of a part of one
    shared,  ///< panels in registers, finished ones in the block's shared memory
    global,  ///< panels in registers, finished ones where the matrix was
    tiles,   ///< the same with panels of the widths of lu_tiles.hpp
};

enum class Pivoting : bool { none, partial };

/// Whether the factor of A overwrites it.
enum class FactorOutput : bool { discard, keep };

/// Order of the rows in a substitution.
enum class Sweep { forward, backward };

/// Whether a triangle's diagonal is ones.
enum class Diagonal { unit, stored };

/// What a product takes of an orthogonal matrix.
enum class Operation { plain, transposed };

}  // namespace basalt::cuda_detail::batch
