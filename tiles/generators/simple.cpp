#include "tiles/generators/simple.hpp"
#include "tiles/generators/factories.hpp"
#include "tiles/generators/formula.hpp"

namespace basalt::generators {

template <class T>
Made<T> make_zero(Index m, Index n, std::uint64_t) {
    return make_from_formula<T>(m, n, Zero{});
}

template <class T>
Made<T> make_identity(Index m, Index n, std::uint64_t) {
    return make_from_formula<T>(m, n, Identity{});
}

template Made<float> make_zero(Index, Index, std::uint64_t);
template Made<double> make_zero(Index, Index, std::uint64_t);
template Made<float> make_identity(Index, Index, std::uint64_t);
template Made<double> make_identity(Index, Index, std::uint64_t);

}  // namespace basalt::generators
