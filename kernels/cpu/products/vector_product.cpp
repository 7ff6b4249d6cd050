#include <algorithm>
#include <cassert>
#include <cmath>

#include "kernels/on_stream/implement.hpp"
#include "kernels/on_stream/products.hpp"

namespace basalt::on_stream {

template <class T, class V>
void run_on_cpu(SubtractProduct<T, V>, View<const T> a, MatrixPart part, Index diagonal, View<const V> x, View<V> y) {
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

template <>
const SubtractProduct<float, float>::Cpu Code<SubtractProduct<float, float>>::cpu =
    cpu_code<SubtractProduct<float, float>>;
template <>
const SubtractProduct<float, double>::Cpu Code<SubtractProduct<float, double>>::cpu =
    cpu_code<SubtractProduct<float, double>>;
template <>
const SubtractProduct<double, double>::Cpu Code<SubtractProduct<double, double>>::cpu =
    cpu_code<SubtractProduct<double, double>>;

}  // namespace basalt::on_stream
