#include <algorithm>

#include "tiles/generators/factories.hpp"
#include "tiles/generators/formula.hpp"
#include "tiles/generators/graded.hpp"

namespace basalt::generators {

template <class T>
Made<T> make_graded(Index m, Index n, std::uint64_t seed) {
    return make_from_formula<T>(m, n, Graded{seed, std::max<Index>(m, 1), std::max<Index>(n, 1)});
}

template Made<float> make_graded(Index, Index, std::uint64_t);
template Made<double> make_graded(Index, Index, std::uint64_t);

}  // namespace basalt::generators
