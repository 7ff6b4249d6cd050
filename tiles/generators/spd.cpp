#include <algorithm>

#include "tiles/generators/factories.hpp"
#include "tiles/generators/formula.hpp"
#include "tiles/generators/spd.hpp"

namespace basalt::generators {

template <class T>
Made<T> make_spd(Index m, Index n, std::uint64_t seed) {
    return make_from_formula<T>(m, n, Spd{seed, static_cast<double>(std::max(m, n))});
}

template Made<float> make_spd(Index, Index, std::uint64_t);
template Made<double> make_spd(Index, Index, std::uint64_t);

}  // namespace basalt::generators
