#pragma once

namespace basalt {

/// A triangle of a matrix, the diagonal included. Elements of the other triangle are never touched.
enum class Triangle { lower, upper };

}  // namespace basalt
