#include "apps/input/input_matrix.hpp"

#include <fmt/format.h>

#include "apps/exit_status.hpp"
#include "apps/input/matrix_file.hpp"

namespace basalt {

namespace {

void require_size(const char* option, Index given, Index size, const std::string& file) {
    if (given != size)
        throw WrongUse(fmt::format("{} = {}; allowed: {}, as in {}, or no {}", option, given, size, file, option));
}

}  // namespace

template <class T>
std::shared_ptr<const Generator<T>> input_matrix(FactorOptions& options) {
    if (options.file.empty()) return make_generator<T>(options.matrix, options.rows(), options.n, options.seed);
    auto matrix = load_matrix_file<T>(options.file);
    if (options.m) require_size("--m", *options.m, matrix->rows(), options.file);
    if (options.n_given) require_size("--n", options.n, matrix->cols(), options.file);
    options.m = matrix->rows();
    options.n = matrix->cols();
    return matrix;
}

template std::shared_ptr<const Generator<float>> input_matrix(FactorOptions&);
template std::shared_ptr<const Generator<double>> input_matrix(FactorOptions&);

}  // namespace basalt
