#pragma once

#include <utility>

#include <basalt/generator.hpp>

namespace basalt::generators {

/// A generator whose element (i, j) is formula(i, j), each independent of the others. Formula has a constant
/// `name` and a const call operator whose result converts to T.
template <class T, class Formula>
class FormulaGenerator final : public Generator<T> {
  public:
    FormulaGenerator(Index m, Index n, Formula formula) : Generator<T>(m, n), formula_(std::move(formula)) {}

    std::string_view name() const override { return Formula::name; }

  protected:
    void fill_block(View<T> block, Index row0, Index col0) const override {
        if (block.col_stride() == 1) {
            for (Index i = 0; i < block.rows(); ++i) {
                for (Index j = 0; j < block.cols(); ++j) {
                    block(i, j) = static_cast<T>(formula_(row0 + i, col0 + j));
                }
            }
            return;
        }
        for (Index j = 0; j < block.cols(); ++j) {
            for (Index i = 0; i < block.rows(); ++i) {
                block(i, j) = static_cast<T>(formula_(row0 + i, col0 + j));
            }
        }
    }

  private:
    Formula formula_;
};

template <class T, class Formula>
std::unique_ptr<Generator<T>> make_from_formula(Index m, Index n, Formula formula) {
    return std::make_unique<FormulaGenerator<T, Formula>>(m, n, std::move(formula));
}

}  // namespace basalt::generators
