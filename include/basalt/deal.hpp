#pragma once

namespace basalt {

/// How tile columns are dealt to several GPUs, in rounds of one column for each. Two GPUs always get them in turn.
enum class Deal {
    /// Each round begins one GPU further. So all GPUs have equal work where columns are factored from left to right and
    /// all columns on the right are updated, as in LU and QR.
    balanced,
    /// Each round begins with GPU 0: ScaLAPACK's 1D block-cyclic distribution. A GPU's columns are then equally far
    /// apart, which Cholesky's updates of triangles need for large batches of products.
    cyclic
};

}  // namespace basalt
