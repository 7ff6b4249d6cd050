#pragma once

#include <memory>

#include "apps/factor/factor_options.hpp"
#include "basalt/generator.hpp"

namespace basalt {

/// The matrix of `options`, from a generator or a file. Sets m and n of the options to its size. Throws as
/// load_matrix_file() does, and WrongUse if --m or --n does not match the file. For float and double.
template <class T>
std::shared_ptr<const Generator<T>> input_matrix(FactorOptions& options);

}  // namespace basalt
