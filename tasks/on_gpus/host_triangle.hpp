#pragma once

#include "basalt/triangle.hpp"
#include "basalt/view.hpp"
#include "runtime/storage/matrix_storage.hpp"

namespace basalt::detail {

/// Whether load_triangle_by_gpus() and store_triangle_by_gpus() are possible: there are GPUs, which hold all tile
/// columns together, and the array is not empty and its lines do not overlap.
template <class T>
bool gpus_can_convert_triangle(MatrixStorage& storage, View<const T> array);
/// Whether the host's memory holds some of the contents, once everything submitted so far has run: then cores store it.
bool is_at_home(const MatrixStorage& storage);

/// As load_by_gpus() and store_by_gpus(), for one triangle of a square matrix. The array has unit row or unit column
/// stride. Its elements on the other side of the diagonal are not read, and written by OtherSide::zeros alone.
template <class T>
void load_triangle_by_gpus(MatrixStorage& storage, Triangle triangle, View<const T> source);
template <class T>
void store_triangle_by_gpus(MatrixStorage& storage, Triangle triangle, View<T> target, OtherSide other);

}  // namespace basalt::detail
