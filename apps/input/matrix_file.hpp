#pragma once

#include <memory>
#include <string>

#include "basalt/generator.hpp"

namespace basalt {

/// Whether a value of --matrix names a file: it ends in ".mtx".
bool names_matrix_file(const std::string& text);

/// Reads the matrix of a Matrix Market file as a generator called "file". Throws WrongUse for a file that cannot be
/// opened or has an error, with its line. Throws MachineFailure, with the bytes needed, if there is no memory for two
/// copies of the matrix: one as read, one in tiles. For float and double.
template <class T>
std::shared_ptr<const Generator<T>> load_matrix_file(const std::string& path);

}  // namespace basalt
