#include "apps/solve/method.hpp"

#include <type_traits>

#include <fmt/format.h>

#include "apps/exit_status.hpp"

namespace basalt {

template <class T>
void require_square(const SolveInput<T>& input, const char* method) {
    const Index rows = input.matrix->rows();
    const Index cols = input.matrix->cols();
    if (rows == cols) return;
    throw WrongUse(fmt::format("{}: {} x {} with --method {}; allowed: as many rows as columns, or --method qr",
                               input.name, rows, cols, method));
}

const std::vector<std::string>& solve_method_names() {
    static const std::vector<std::string> names = {"lu", "cholesky", "qr", "mixed", "mixed-cholesky"};
    return names;
}

std::string usual_solve_method(Index rows, Index cols) { return rows == cols ? "lu" : "qr"; }

template <class T>
std::unique_ptr<SolveMethod<T>> make_solve_method(const std::string& name, const SolveInput<T>& input) {
    if (name == "cholesky") return solve_by_cholesky(input);
    if (name == "qr") return solve_by_qr(input);
    if (name == "mixed" || name == "mixed-cholesky") {
        if constexpr (std::is_same_v<T, double>) {
            return solve_by_mixed(input, name == "mixed" ? MixedMethod::lu : MixedMethod::cholesky);
        } else {
            throw WrongUse(fmt::format("--precision s with --method {}; allowed: d", name));
        }
    }
    return solve_by_lu(input);
}

template void require_square(const SolveInput<float>&, const char*);
template void require_square(const SolveInput<double>&, const char*);
template std::unique_ptr<SolveMethod<float>> make_solve_method(const std::string&, const SolveInput<float>&);
template std::unique_ptr<SolveMethod<double>> make_solve_method(const std::string&, const SolveInput<double>&);

}  // namespace basalt
