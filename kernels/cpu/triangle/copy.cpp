#include <algorithm>
#include <cassert>

#include "kernels/on_stream/implement.hpp"
#include "kernels/on_stream/triangle.hpp"
#include "tiles/copy_triangle.hpp"

namespace basalt::on_stream {

// Columns in strips: rows that belong to the triangle in all columns of a strip are copied as a block, the others by
// element.
template <class T>
void run_on_cpu(CopyTriangle<T>, Triangle triangle, Index offset, View<const T> source, View<T> target) {
    constexpr Index strip = 32;
    assert(source.rows() == target.rows() && source.cols() == target.cols());
    const Index rows = source.rows();
    const bool lower = triangle == Triangle::lower;
    for (Index j = 0; j < source.cols(); j += strip) {
        const Index end = std::min(j + strip, source.cols());
        const Index first = std::clamp<Index>(j + offset, 0, rows), last = std::clamp<Index>(end + offset, 0, rows);
        const Index begin = lower ? last : 0, count = lower ? rows - last : first;
        basalt::copy_elements<T>(source.block(begin, j, count, end - j), target.block(begin, j, count, end - j));
        for (Index c = j; c < end; ++c) {
            const Index from = lower ? std::clamp(c + offset, first, last) : first;
            const Index to = lower ? last : std::clamp(c + offset + 1, first, last);
            for (Index i = from; i < to; ++i) target(i, c) = source(i, c);
        }
    }
}

template <class T>
void run_on_cpu(ZeroTriangle<T>, Triangle triangle, Index offset, View<T> target) {
    basalt::zero_triangle<T>(triangle, offset, target);
}

template <>
const CopyTriangle<float>::Cpu Code<CopyTriangle<float>>::cpu = cpu_code<CopyTriangle<float>>;
template <>
const CopyTriangle<double>::Cpu Code<CopyTriangle<double>>::cpu = cpu_code<CopyTriangle<double>>;
template <>
const ZeroTriangle<float>::Cpu Code<ZeroTriangle<float>>::cpu = cpu_code<ZeroTriangle<float>>;
template <>
const ZeroTriangle<double>::Cpu Code<ZeroTriangle<double>>::cpu = cpu_code<ZeroTriangle<double>>;

}  // namespace basalt::on_stream
