#include "tiles/generators/factories.hpp"
#include "tiles/generators/formula.hpp"

namespace basalt::generators {

namespace {

/// 1 / (i + j + 1), counting from 0 (Hilbert 1894): symmetric positive definite, with a condition number that
/// grows like (1 + sqrt(2))^(4 n) / sqrt(n).
struct Hilbert {
    static constexpr std::string_view name = "hilbert";

    double operator()(Index i, Index j) const { return 1.0 / static_cast<double>(i + j + 1); }
};

}  // namespace

template <class T>
Made<T> make_hilbert(Index m, Index n, std::uint64_t) {
    return make_from_formula<T>(m, n, Hilbert{});
}

template Made<float> make_hilbert(Index, Index, std::uint64_t);
template Made<double> make_hilbert(Index, Index, std::uint64_t);

}  // namespace basalt::generators
