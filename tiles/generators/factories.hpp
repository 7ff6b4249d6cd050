#pragma once

#include <cstdint>
#include <memory>

#include <basalt/generator.hpp>

namespace basalt::generators {

// One factory a kind of matrix, each defined for float and double in the file of that name (the plain ones in
// simple.cpp). Sizes have been checked.

template <class T>
using Made = std::unique_ptr<Generator<T>>;

template <class T>
Made<T> make_random(Index m, Index n, std::uint64_t seed);
template <class T>
Made<T> make_hpl(Index m, Index n, std::uint64_t seed);
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
