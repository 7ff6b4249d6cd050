#include <algorithm>

#include "tiles/generators/deficient.hpp"
#include "tiles/generators/factories.hpp"
#include "tiles/generators/formula.hpp"

namespace basalt::generators {

template <class T>
Made<T> make_deficient(Index m, Index n, std::uint64_t seed) {
    return make_from_formula<T>(m, n, Deficient{seed, std::min(m, n) / 2});
}

template Made<float> make_deficient(Index, Index, std::uint64_t);
template Made<double> make_deficient(Index, Index, std::uint64_t);

}  // namespace basalt::generators
