#pragma once

#include <vector>

#include <basalt/generator.hpp>

namespace basalt::generators {

/// The matrix of HPL-MxP: off the diagonal that of the generator "hpl", on it the sum of the other magnitudes of the
/// row's first m elements, so that it is diagonally dominant and needs no pivots. Column m, if there is one, is a
/// right-hand side.
class MxpDiagonal {
  public:
    virtual ~MxpDiagonal() = default;
    /// min(m, n) elements.
    virtual const std::vector<double>& diagonal() const = 0;

    /// The generator of what is off the diagonal.
    static constexpr const char* base = "hpl";
};

}  // namespace basalt::generators
