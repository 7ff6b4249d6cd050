#include "tiles/generators/hilbert.hpp"
#include "tiles/generators/factories.hpp"
#include "tiles/generators/formula.hpp"

namespace basalt::generators {

template <class T>
Made<T> make_hilbert(Index m, Index n, std::uint64_t) {
    return make_from_formula<T>(m, n, Hilbert{});
}

template Made<float> make_hilbert(Index, Index, std::uint64_t);
template Made<double> make_hilbert(Index, Index, std::uint64_t);

}  // namespace basalt::generators
