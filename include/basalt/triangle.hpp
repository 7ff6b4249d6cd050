#pragma once

namespace basalt {

/// A triangle of a matrix, including the diagonal. Elements of the other triangle are not touched unless OtherSide says
/// so.
enum class Triangle { lower, upper };

/// What becomes of an array's elements on the other side of the diagonal when a triangle is stored in it.
enum class OtherSide { untouched, zeros };

/// Whether the diagonal of a triangular matrix is read or taken to be ones.
enum class Diagonal { stored, unit };

/// A matrix itself or its transpose.
enum class MatrixOp { plain, transposed };

}  // namespace basalt
