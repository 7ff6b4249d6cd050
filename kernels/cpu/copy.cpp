#include "kernels/cpu/copy.hpp"

#include <cassert>

namespace basalt::cpu_kernels {

template <class T>
void copy_tile_columns(std::type_identity_t<TileColumns<const T>> source, TileColumns<T> target) {
    assert(source.columns == target.columns && source.rows == target.rows && source.width == target.width);
    for (Index l = 0; l < target.columns; ++l) copy_elements<T>(source.column(l), target.column(l));
}

template void copy_tile_columns<float>(TileColumns<const float>, TileColumns<float>);
template void copy_tile_columns<double>(TileColumns<const double>, TileColumns<double>);

}  // namespace basalt::cpu_kernels
