#pragma once

#include <memory>

#include "apps/factor_options.hpp"
#include "basalt/generator.hpp"

namespace basalt {

/// The matrix that `options` ask for, made by a generator or read from a file. Sets the options' m and n to its size.
/// Throws as load_matrix_file() does, and WrongUse where --m or --n do not fit the file. For float and double.
template <class T>
std::shared_ptr<const Generator<T>> input_matrix(FactorOptions& options);

}  // namespace basalt
