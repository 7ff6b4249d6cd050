#pragma once

namespace basalt {

/// Which triangle of a matrix is meant, its diagonal included; the other one is never touched.
enum class Triangle { lower, upper };

}  // namespace basalt
