#include "apps/solve/right_hand_sides.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "apps/exit_status.hpp"
#include "apps/input/matrix_file.hpp"
#include "apps/runs/residual.hpp"

namespace basalt {

template <class T>
Columns<T> read_right_hand_sides(const std::string& path, Index rows, const std::string& matrix) {
    const auto file = load_matrix_file<T>(path);
    if (file->rows() != rows)
        throw WrongUse(fmt::format("{}: {} rows; allowed: {}, as {} has", path, file->rows(), rows, matrix));
    Columns<T> b(rows, file->cols());
    file->fill(b.view(), 0, 0);
    return b;
}

template <class T>
Columns<T> row_sums(Runtime& runtime, const Generator<T>& matrix) {
    const std::vector<double> ones(static_cast<std::size_t>(matrix.cols()), 1.0);
    const std::vector<double> zeros(static_cast<std::size_t>(matrix.rows()));
    const auto column = [](const std::vector<double>& v) { return View<const double>(v.data(), std::ssize(v)); };
    const std::vector<double> minus_sums = residuals(runtime, matrix, column(ones), column(zeros)).elements;
    Columns<T> sums(matrix.rows(), 1);
    std::transform(minus_sums.begin(), minus_sums.end(), sums.elements.begin(),
                   [](double value) { return static_cast<T>(0.0 - value); });
    return sums;
}

template Columns<float> read_right_hand_sides(const std::string&, Index, const std::string&);
template Columns<double> read_right_hand_sides(const std::string&, Index, const std::string&);
template Columns<float> row_sums(Runtime&, const Generator<float>&);
template Columns<double> row_sums(Runtime&, const Generator<double>&);

}  // namespace basalt
