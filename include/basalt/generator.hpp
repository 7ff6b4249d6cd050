#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "basalt/view.hpp"

namespace basalt {

template <class T>
class Generator;
template <class T>
std::unique_ptr<Generator<T>> make_generator(std::string_view name, Index m, Index n, std::uint64_t seed = 0);

/// An m x n matrix given by a rule. Any block of it can be written without the rest, always with the same values.
/// Immutable: many threads may call fill() at once on disjoint blocks.
template <class T>
class Generator {
  public:
    virtual ~Generator() = default;

    Index rows() const { return rows_; }
    Index cols() const { return cols_; }

    /// Its name for make_generator().
    virtual std::string_view name() const = 0;
    /// The seed that was given to make_generator().
    std::uint64_t seed() const { return seed_; }

    /// block(i, j) = A(row0 + i, col0 + j) for the whole block, which may have any strides.
    /// Throws UsageError where the block reaches outside the matrix.
    void fill(View<T> block, Index row0, Index col0) const;

  protected:
    Generator(Index rows, Index cols) : rows_(rows), cols_(cols) {}
    Generator(const Generator&) = default;
    Generator& operator=(const Generator&) = default;

    /// Fills a block that is not empty. fill() has checked the arguments.
    virtual void fill_block(View<T> block, Index row0, Index col0) const = 0;

  private:
    template <class U>
    friend std::unique_ptr<Generator<U>> make_generator(std::string_view name, Index m, Index n, std::uint64_t seed);

    Index rows_;
    Index cols_;
    std::uint64_t seed_ = 0;
};

/// A generator's name and a one-line description of its matrices.
struct GeneratorInfo {
    std::string_view name;
    std::string_view description;
};

/// All generators, in the order to list them to a user.
std::span<const GeneratorInfo> generator_names();

/// The m x n matrix called `name`, for T = float or double. m, n >= 0. `seed` selects one of the matrices of a random
/// kind. Other kinds ignore it, and so does hpl, which is one fixed stream. Matrices of float are those of double,
/// rounded; some are drawn with fewer bits, as their description says. Throws UsageError for an unknown name, with a
/// list of the known ones, and for negative sizes.
template <class T>
std::unique_ptr<Generator<T>> make_generator(std::string_view name, Index m, Index n, std::uint64_t seed);

}  // namespace basalt
