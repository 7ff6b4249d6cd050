#pragma once

#include <memory>
#include <string>

#include "basalt/generator.hpp"

namespace basalt {

/// Whether a value of --matrix is a file's name: it ends in ".mtx".
bool names_matrix_file(const std::string& text);

/// The matrix in a Matrix Market file, read whole, as a generator called "file". Throws WrongUse for a file that cannot
/// be opened or is not as it must be, with its line, and MachineFailure, with the bytes needed, where there is no
/// memory for the matrix twice: as read, and in tiles. For float and double.
template <class T>
std::shared_ptr<const Generator<T>> load_matrix_file(const std::string& path);

/// Writes `a` to the file. Throws MachineFailure where that fails. For float and double.
template <class T>
void write_matrix_file(const std::string& path, View<const T> a);

}  // namespace basalt
