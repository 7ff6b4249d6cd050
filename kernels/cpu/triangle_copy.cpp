#include "kernels/cpu/triangle_copy.hpp"

#include <algorithm>
#include <cassert>

#include "tiles/copy.hpp"

namespace basalt::cpu_kernels {

// Columns in strips: what a strip has in all of its columns is copied as a block, the rest by element.
template <class T>
void copy_triangle(Triangle triangle, Index offset, std::type_identity_t<View<const T>> source, View<T> target) {
    constexpr Index strip = 32;
    assert(source.rows() == target.rows() && source.cols() == target.cols());
    const Index rows = source.rows();
    const bool lower = triangle == Triangle::lower;
    for (Index j = 0; j < source.cols(); j += strip) {
        const Index end = std::min(j + strip, source.cols());
        const Index first = std::clamp<Index>(j + offset, 0, rows), last = std::clamp<Index>(end + offset, 0, rows);
        const Index begin = lower ? last : 0, count = lower ? rows - last : first;
        copy_elements<T>(source.block(begin, j, count, end - j), target.block(begin, j, count, end - j));
        for (Index c = j; c < end; ++c) {
            const Index from = lower ? std::clamp(c + offset, first, last) : first;
            const Index to = lower ? last : std::clamp(c + offset + 1, first, last);
            for (Index i = from; i < to; ++i) target(i, c) = source(i, c);
        }
    }
}

template void copy_triangle<float>(Triangle, Index, View<const float>, View<float>);
template void copy_triangle<double>(Triangle, Index, View<const double>, View<double>);

}  // namespace basalt::cpu_kernels
