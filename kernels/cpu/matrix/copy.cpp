#include "tiles/copy.hpp"

#include <cassert>

#include "kernels/on_stream/implement.hpp"
#include "kernels/on_stream/matrix.hpp"

namespace basalt::on_stream {

template <class T>
void run_on_cpu(CopyElements<T>, View<const T> source, View<T> target) {
    basalt::copy_elements<T>(source, target);
}

template <class T>
void run_on_cpu(CopyTileColumns<T>, TileColumns<const T> source, TileColumns<T> target) {
    assert(source.columns == target.columns && source.rows == target.rows && source.width == target.width);
    for (Index l = 0; l < target.columns; ++l) basalt::copy_elements<T>(source.column(l), target.column(l));
}

template <>
const CopyElements<float>::Cpu Code<CopyElements<float>>::cpu = cpu_code<CopyElements<float>>;
template <>
const CopyElements<double>::Cpu Code<CopyElements<double>>::cpu = cpu_code<CopyElements<double>>;
template <>
const CopyTileColumns<float>::Cpu Code<CopyTileColumns<float>>::cpu = cpu_code<CopyTileColumns<float>>;
template <>
const CopyTileColumns<double>::Cpu Code<CopyTileColumns<double>>::cpu = cpu_code<CopyTileColumns<double>>;

}  // namespace basalt::on_stream
