#pragma once

#include <cstdint>
#include <memory>

#include <basalt/generator.hpp>

namespace basalt::generators {

// A factory for each kind of matrix, defined for float and double in the file of its name (plain ones in simple.cpp).
// The caller has checked the sizes.

template <class T>
using Made = std::unique_ptr<Generator<T>>;

template <class T>
Made<T> make_random(Index m, Index n, std::uint64_t seed);
template <class T>
Made<T> make_hpl(Index m, Index n, std::uint64_t seed);
template <class T>
Made<T> make_mxp(Index m, Index n, std::uint64_t seed);
template <class T>
Made<T> make_spd(Index m, Index n, std::uint64_t seed);
template <class T>
Made<T> make_hilbert(Index m, Index n, std::uint64_t seed);
template <class T>
Made<T> make_wilkinson(Index m, Index n, std::uint64_t seed);
template <class T>
Made<T> make_graded(Index m, Index n, std::uint64_t seed);
template <class T>
Made<T> make_deficient(Index m, Index n, std::uint64_t seed);
template <class T>
Made<T> make_orthogonal(Index m, Index n, std::uint64_t seed);
template <class T>
Made<T> make_integer(Index m, Index n, std::uint64_t seed);
template <class T>
Made<T> make_kahan(Index m, Index n, std::uint64_t seed);
template <class T>
Made<T> make_vandermonde(Index m, Index n, std::uint64_t seed);
template <class T>
Made<T> make_zero(Index m, Index n, std::uint64_t seed);
template <class T>
Made<T> make_identity(Index m, Index n, std::uint64_t seed);

}  // namespace basalt::generators
