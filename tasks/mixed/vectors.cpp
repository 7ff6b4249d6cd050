#include "tasks/mixed/vectors.hpp"

#include <algorithm>
#include <cmath>

#include "tiles/norms.hpp"

namespace basalt::detail {

double Vectors::norm(Index c) const {
    double largest = 0;
    for (Index i = 0; i < n_; ++i) largest = max_or_nan(largest, std::abs((*this)(i, c)));
    return largest;
}

double Vectors::length(Index c) const {
    const double largest = norm(c);
    if (largest == 0 || !std::isfinite(largest)) return largest;
    double sum = 0;
    for (Index i = 0; i < n_; ++i) {
        const double part = (*this)(i, c) / largest;
        sum += part * part;
    }
    return largest * std::sqrt(sum);
}

Array<double> Vectors::on_runtime(Runtime& runtime, const char* name) const {
    Array<double> array(runtime, n_ * k_, name);
    if (!values_.empty()) std::copy(values_.begin(), values_.end(), array.host_overwrite().data());
    return array;
}

void Vectors::take(const Array<double>& array) {
    if (values_.empty()) return;
    const View<double> from = array.host_view();
    std::copy_n(from.data(), values_.size(), values_.begin());
}

}  // namespace basalt::detail
