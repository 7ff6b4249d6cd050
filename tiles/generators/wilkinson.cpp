#include "tiles/generators/wilkinson.hpp"
#include "tiles/generators/factories.hpp"
#include "tiles/generators/formula.hpp"

namespace basalt::generators {

template <class T>
Made<T> make_wilkinson(Index m, Index n, std::uint64_t) {
    return make_from_formula<T>(m, n, Wilkinson{n - 1});
}

template Made<float> make_wilkinson(Index, Index, std::uint64_t);
template Made<double> make_wilkinson(Index, Index, std::uint64_t);

}  // namespace basalt::generators
