#include "kernels/cpu/vector_product.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace basalt::cpu_kernels {

template <class T, class V>
void subtract_product(std::type_identity_t<View<const T>> a, MatrixPart part, Index diagonal,
                      std::type_identity_t<View<const V>> x, View<V> y) {
    assert(a.rows() == y.rows() && a.cols() == x.rows() && x.cols() == y.cols());
    for (Index r = 0; r < y.cols(); ++r) {
        for (Index i = 0; i < a.rows(); ++i) {
            const Index on_diagonal = std::clamp<Index>(i + diagonal, 0, a.cols());
            const Index begin = part == MatrixPart::upper ? on_diagonal : 0;
            const Index end = part == MatrixPart::strictly_lower ? on_diagonal : a.cols();
            V sum = 0;
            for (Index c = begin; c < end; ++c) {
                const auto element = static_cast<V>(a(i, c));
                sum += (part == MatrixPart::magnitudes ? std::abs(element) : element) * x(c, r);
            }
            y(i, r) -= sum;
        }
    }
}

template void subtract_product<float, float>(View<const float>, MatrixPart, Index, View<const float>, View<float>);
template void subtract_product<float, double>(View<const float>, MatrixPart, Index, View<const double>, View<double>);
template void subtract_product<double, double>(View<const double>, MatrixPart, Index, View<const double>, View<double>);

}  // namespace basalt::cpu_kernels
