#pragma once

namespace basalt {

/// How tile columns are dealt to several GPUs, in rounds of one column to each. Two GPUs get them in turn in any case.
enum class Deal {
    /// Each round begins one GPU further, so that all have as much to do where columns are done from left to right and
    /// those on the right are updated as a whole, as by LU and QR.
    balanced,
    /// Each round begins with GPU 0. A GPU's columns are then equally far apart, which the updates of Cholesky,
    /// triangles, need for large batches of products. ScaLAPACK's 1D block-cyclic distribution.
    cyclic
};

}  // namespace basalt
