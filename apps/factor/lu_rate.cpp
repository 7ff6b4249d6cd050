#include "apps/factor/lu_rate.hpp"

#include <algorithm>
#include <chrono>

namespace basalt {

double lu_flops(Index m, Index n) {
    const auto k = static_cast<double>(std::min(m, n));
    const auto l = static_cast<double>(std::max(m, n));
    return k * k * (l - k / 3);
}

template <class T>
double measured_lu_rate(Runtime& runtime) {
    constexpr Index n = 1000;
    auto a = Matrix<T>::generate(runtime, make_generator<T>("random", n, n), n, n);
    runtime.wait();
    const auto start = std::chrono::steady_clock::now();
    lu_factor(runtime, a);
    runtime.wait();
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    return lu_flops(n, n) / std::max(seconds.count(), 1e-9);
}

template double measured_lu_rate<float>(Runtime&);
template double measured_lu_rate<double>(Runtime&);

}  // namespace basalt
