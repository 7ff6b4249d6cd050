#pragma once

#include <cstdint>

namespace basalt_tests {

/// Steele, Lea, Flood 2014 (OOPSLA): one step of splitmix64, also used to hash.
inline std::uint64_t mix(std::uint64_t x) {
    x += 0x9e3779b97f4a7c15U;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
    return x ^ (x >> 31);
}

/// The same sequence from the same seed, with every standard library.
class Random {
  public:
    explicit Random(std::uint64_t seed) : state_(mix(seed)) {}

    std::uint64_t next() { return mix(state_++); }
    /// From least to most, both included.
    template <class T>
    T between(T least, T most) {
        return least + static_cast<T>(next() % static_cast<std::uint64_t>(most - least + 1));
    }
    bool one_in(std::uint64_t n) { return next() % n == 0; }
    template <class Container>
    const auto& pick(const Container& from) {
        return from[next() % from.size()];
    }

  private:
    std::uint64_t state_;
};

}  // namespace basalt_tests
