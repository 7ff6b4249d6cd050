#include "apps/solve_method.hpp"

#include <stdexcept>

namespace basalt {

const std::vector<std::string>& solve_method_names() {
    static const std::vector<std::string> names = {"lu"};
    return names;
}

template <class T>
std::unique_ptr<SolveMethod<T>> make_solve_method(const std::string& name, const SolveInput<T>& input) {
    if (name == "lu") return solve_by_lu(input);
    throw std::logic_error("no method " + name);
}

template std::unique_ptr<SolveMethod<float>> make_solve_method(const std::string&, const SolveInput<float>&);
template std::unique_ptr<SolveMethod<double>> make_solve_method(const std::string&, const SolveInput<double>&);

}  // namespace basalt
