#pragma once

namespace basalt {

/// A triangle of a matrix, including the diagonal. Elements of the other triangle are never touched.
enum class Triangle { lower, upper };

}  // namespace basalt
