// Inverses from LU factors, and factors of other libraries.
#include <algorithm>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "basalt/lu.hpp"
#include "tasks/choices/require.hpp"
#include "tasks/lu/state.hpp"
#include "tasks/matrix/substitution.hpp"

namespace basalt {

namespace {

using detail::LuState;
using detail::Panel;
using detail::require;

/// X P for the interchanges P of the factors: order[j] is the column of X that becomes column j.
template <class T>
std::vector<Index> order_of_columns(const LuState<T>& lu, View<const Index> pivots) {
    std::vector<Index> order(static_cast<std::size_t>(lu.grid().cols()));
    std::iota(order.begin(), order.end(), Index{0});
    for (auto p = lu.panels.rbegin(); p != lu.panels.rend(); ++p) {
        for (Index j = p->end() - 1; j >= p->first; --j) {
            std::swap(order[static_cast<std::size_t>(j)], order[static_cast<std::size_t>(p->first + pivots[j])]);
        }
    }
    return order;
}

/// Moves the columns of some rows of X, which are given by tile column.
template <class T>
void reorder_columns(Views<T> parts, const std::vector<Index>& order) {
    std::vector<T> row(order.size());
    for (Index i = 0; i < parts[0].rows(); ++i) {
        T* next = row.data();
        for (const View<T>& part : parts) next = std::copy_n(&part(i, 0), part.cols(), next);
        auto source = order.begin();
        for (const View<T>& part : parts) {
            for (Index j = 0; j < part.cols(); ++j) part(i, j) = row[static_cast<std::size_t>(*source++)];
        }
    }
}

/// Submits X = X P on the cores, a task for some rows of all columns.
template <class T>
void submit_column_interchanges(const std::shared_ptr<LuState<T>>& lu, const Matrix<T>& x) {
    constexpr Index rows_a_task = 128;
    for (Index begin = 0; begin < x.rows(); begin += rows_a_task) {
        const Index end = std::min(begin + rows_a_task, x.rows());
        std::vector<Region<T>> parts;
        for (Index j = 0; j < x.tile_cols(); ++j) parts.push_back(x.block(j, begin, end, 0, x.column(j).cols));
        lu->runtime.submit({.name = "permute columns", .place = Place::cpu()}, read(lu->pivots), readwrite(parts),
                           [lu = lu.get()](View<const Index> pivots, Views<T> parts) {
                               reorder_columns<T>(parts, order_of_columns(*lu, pivots));
                           });
    }
}

}  // namespace

// On cores: U X = L^-1, where L^-1 is computed from the identity with its zeros left out, and A^-1 = X P. On GPUs,
// columns would have to move between them; there the right-hand sides are P.
template <class T>
Matrix<T> lu_inverse(Runtime& runtime, const LuFactors<T>& lu) {
    require(lu.rows() == lu.cols(), "lu_inverse: the factored matrix is " + std::to_string(lu.rows()) + " x " +
                                        std::to_string(lu.cols()) + "; allowed are square ones");
    const auto& state = lu.share_state();
    require(&state->runtime == &runtime, "lu_inverse: the factors belong to another runtime");
    require(state->left_interchanges, "lu_inverse: the matrix was factored without left_interchanges");
    Matrix<T> x(runtime, lu.rows(), lu.rows(), state->grid().shape(), "inverse");
    const detail::Substitution<T> substitution(*state->a, x);
    detail::submit_identity(runtime, x);
    if (substitution.on_gpus()) {
        lu_solve(runtime, lu, x);
    } else {
        substitution.solve(Triangle::lower, Diagonal::unit, MatrixOp::plain, detail::Reach::from_diagonal);
        substitution.solve(Triangle::upper, Diagonal::stored, MatrixOp::plain);
        submit_column_interchanges(state, x);
    }
    return x;
}

template <class T>
LuFactors<T> lu_adopt(Runtime& runtime, Matrix<T>& a, const Index* pivots) {
    const Index n = a.rows();
    require(&a.runtime() == &runtime, "lu_adopt: the matrix belongs to another runtime");
    require(n == a.cols(), "lu_adopt: the matrix is " + std::to_string(n) + " x " + std::to_string(a.cols()) +
                               "; allowed are square ones");
    // cores and GPUs solve by tile columns; mode gpu has no workspace on cores
    auto state = std::make_shared<LuState<T>>(runtime, a.share_storage(), LuMode::gpu,
                                              detail::PanelWidths{a.tile_shape().width}, CoreDepth{}, 1);
    state->adopted = true;
    for (const Panel& panel : state->panels) {
        for (Index i = panel.first; i < panel.end(); ++i) {
            const Index row = pivots != nullptr ? pivots[i] : i + 1;
            require(1 <= row && row <= n, "lu_adopt: pivot " + std::to_string(i + 1) + " is " + std::to_string(row) +
                                              "; allowed is 1 to " + std::to_string(n));
            state->pivot_numbers[static_cast<std::size_t>(i)] = row - 1 - panel.first;
        }
    }
    return LuFactors<T>(std::move(state));
}

template Matrix<float> lu_inverse(Runtime&, const LuFactors<float>&);
template Matrix<double> lu_inverse(Runtime&, const LuFactors<double>&);
template LuFactors<float> lu_adopt(Runtime&, Matrix<float>&, const Index*);
template LuFactors<double> lu_adopt(Runtime&, Matrix<double>&, const Index*);

}  // namespace basalt
