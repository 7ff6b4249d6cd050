#include "bench/task_bench/kernel.hpp"

#include <array>

namespace bench {

namespace {

using Lanes [[gnu::vector_size(32)]] = double;

[[gnu::always_inline]] inline double iterate(std::int64_t iterations) {
    std::array<Lanes, 8> vectors;  // a fused multiply-add takes four cycles, and two of them start in each
    for (Lanes& x : vectors) x = Lanes{} - 0.5;
    for (std::int64_t i = 0; i < iterations; ++i) {
        for (Lanes& x : vectors) x = x * x + x;  // goes to zero from below, as -1 / i
    }
    Lanes sum{};
    for (const Lanes& x : vectors) sum += x;
    return sum[0] + sum[1] + sum[2] + sum[3];
}

double plain(std::int64_t iterations) { return iterate(iterations); }

#ifdef __x86_64__
[[gnu::target("avx2,fma")]] double fused(std::int64_t iterations) { return iterate(iterations); }

double (*const chosen)(std::int64_t) = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? fused : plain;
#else
double (*const chosen)(std::int64_t) = plain;
#endif

}  // namespace

double multiply_add(std::int64_t iterations) { return chosen(iterations); }

}  // namespace bench
