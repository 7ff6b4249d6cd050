#pragma once

#include <vector>

#include "basalt/generator.hpp"
#include "basalt/runtime.hpp"

namespace basalt {

/// Norms of A x = b, all in double.
struct SystemNorms {
    double residual_inf = 0;  ///< ||b - A x||_oo
    double a_inf = 0;         ///< ||A||_oo
};

/// The norms for the matrix A of the generator's first x.size() columns, which is made again block by block
/// and never stored: the check costs little memory. b has generator.rows() entries. Runs as tasks of
/// `runtime` and waits for them.
template <class T>
SystemNorms system_norms(Runtime& runtime, const Generator<T>& generator, const std::vector<double>& x,
                         const std::vector<double>& b);

/// ||A||_1 of the generator's first `cols` columns.
template <class T>
double one_norm(Runtime& runtime, const Generator<T>& generator, Index cols);

/// max_i |x_i|, 0 for an empty vector; NaN where an entry is.
double max_magnitude(const std::vector<double>& x);

}  // namespace basalt
