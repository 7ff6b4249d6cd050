#include <basalt/generator.hpp>

#include <iterator>
#include <string>

#include <basalt/error.hpp>

#include "tiles/generators/factories.hpp"

namespace basalt {

namespace {

constexpr GeneratorInfo infos[] = {
    {"random", "uniform in [-0.5, 0.5), chosen by the seed"},
    {"hpl", "the matrix of HPL 2.3, bit for bit in double; its seed is fixed"},
    {"mxp", "the matrix of HPL-MxP: that of hpl with a dominant diagonal"},
    {"spd", "symmetric positive definite: random with max(m, n) on the diagonal, condition below 3"},
    {"hilbert", "1 / (i + j + 1): positive definite and extremely ill-conditioned"},
    {"wilkinson", "elements grow by 2^(n-1) under partial pivoting"},
    {"graded", "random, rows and columns scaled down to 2^-25 each"},
    {"deficient", "random of rank min(m, n) / 2, exactly"},
    {"orthogonal", "the discrete sine transform: orthonormal rows or columns"},
    {"zero", "all zero"},
    {"identity", "ones on the diagonal"},
    {"integer", "small integers whose LU with partial pivoting is exact, pivots chosen by the seed"},
    {"kahan", "upper triangular, nearly singular without a small diagonal element"},
    {"vandermonde", "powers of equispaced nodes in [-1, 1]"},
};

template <class T>
using Factory = generators::Made<T> (*)(Index, Index, std::uint64_t);

/// In the order of `infos`.
template <class T>
constexpr Factory<T> factories[] = {
    generators::make_random<T>, generators::make_hpl<T>,         generators::make_mxp<T>,
    generators::make_spd<T>,    generators::make_hilbert<T>,     generators::make_wilkinson<T>,
    generators::make_graded<T>, generators::make_deficient<T>,   generators::make_orthogonal<T>,
    generators::make_zero<T>,   generators::make_identity<T>,    generators::make_integer<T>,
    generators::make_kahan<T>,  generators::make_vandermonde<T>,
};

static_assert(std::size(infos) == std::size(factories<double>));

std::string known_names() {
    std::string names;
    for (const GeneratorInfo& info : infos) {
        if (!names.empty()) names += ", ";
        names += info.name;
    }
    return names;
}

}  // namespace

std::span<const GeneratorInfo> generator_names() { return infos; }

template <class T>
void Generator<T>::fill(View<T> block, Index row0, Index col0) const {
    const bool rows_fit = row0 >= 0 && block.rows() >= 0 && row0 <= rows_ && block.rows() <= rows_ - row0;
    const bool cols_fit = col0 >= 0 && block.cols() >= 0 && col0 <= cols_ && block.cols() <= cols_ - col0;
    if (!rows_fit || !cols_fit) {
        throw UsageError("generator " + std::string(name()) + ": the block of " + std::to_string(block.rows()) + " x " +
                         std::to_string(block.cols()) + " at (" + std::to_string(row0) + ", " + std::to_string(col0) +
                         ") is not inside the " + std::to_string(rows_) + " x " + std::to_string(cols_) + " matrix");
    }
    if (!block.empty()) fill_block(block, row0, col0);
}

template <class T>
std::unique_ptr<Generator<T>> make_generator(std::string_view name, Index m, Index n, std::uint64_t seed) {
    if (m < 0 || n < 0) {
        throw UsageError("generator: a matrix of " + std::to_string(m) + " x " + std::to_string(n) +
                         " cannot be made; sizes must be at least 0");
    }
    for (std::size_t k = 0; k < std::size(infos); ++k) {
        if (infos[k].name != name) continue;
        std::unique_ptr<Generator<T>> generator = factories<T>[k](m, n, seed);
        generator->seed_ = seed;
        return generator;
    }
    throw UsageError("generator: no matrix is called '" + std::string(name) + "'; known are " + known_names());
}

template class Generator<float>;
template class Generator<double>;
template std::unique_ptr<Generator<float>> make_generator(std::string_view, Index, Index, std::uint64_t);
template std::unique_ptr<Generator<double>> make_generator(std::string_view, Index, Index, std::uint64_t);

}  // namespace basalt
