// Shared memory of candidates, from the types that the kernels themselves lay it out by.
#include <stdexcept>
#include <utility>

#include "kernels/cuda/batch/cholesky_lanes.hpp"
#include "kernels/cuda/batch/cholesky_tiles.hpp"
#include "kernels/cuda/batch/lu_tiles.hpp"
#include "kernels/cuda/batch/panels.hpp"
#include "kernels/cuda/batch/qr_block.hpp"
#include "kernels/cuda/batch/solve_tiles.hpp"
#include "tuner/candidate.hpp"

namespace basalt::tuner {

namespace {

namespace device = cuda_detail::batch;

constexpr int widest = device::lanes;

/// The value of f<width>() for a width that is known only now, 1 to the sequence's length.
template <class F, int... widths>
std::size_t with_width_of(int width, const F& f, std::integer_sequence<int, widths...> /*all*/) {
    std::size_t bytes = 0;
    bool found = false;
    ((width == widths + 1 ? (bytes = f.template operator()<widths + 1>(), found = true) : false), ...);
    if (!found) throw std::invalid_argument("tuner: no kernel has the width " + std::to_string(width));
    return bytes;
}

template <class T, int order>
std::size_t lanes_bytes_of(const Problem& problem) {
    using Shape = device::SmallShape<T, order>;
    if (problem.routine == Routine::lu) {
        return problem.job == BatchJob::solve ? sizeof(device::SmallSides<T>) : sizeof(device::SmallRows<T, Shape>);
    }
    return sizeof(device::SmallVectors<T, Shape>);
}

template <class T, int order>
std::size_t cholesky_lanes_bytes_of(const Problem& problem) {
    using Shape = device::TriangleShape<T, order, device::lanes_to_factor(order)>;
    using SolveShape = device::TriangleShape<T, order, device::lanes_to_solve<T>(order)>;
    return problem.job == BatchJob::factor  ? sizeof(device::TriangleColumns<T, Shape>)
           : problem.job == BatchJob::solve ? sizeof(device::TriangleRows<T, SolveShape>)
                                            : sizeof(device::TriangleBoth<T, Shape>);
}

template <class T>
std::size_t lanes_bytes(const Problem& problem, const Candidate& candidate) {
    const auto of_matrix = with_width_of(
        candidate.width / 4,
        [&]<int fours>() {
            if (problem.routine == Routine::cholesky) return cholesky_lanes_bytes_of<T, 4 * fours>(problem);
            if constexpr (4 * fours <= widest) return lanes_bytes_of<T, 4 * fours>(problem);
            throw std::invalid_argument("tuner: no kernel has matrices of order " + std::to_string(4 * fours) +
                                        " in lanes");
        },
        std::make_integer_sequence<int, device::most_in_lanes<T> / 4>());
    return of_matrix * static_cast<std::size_t>(matrices_a_block(problem, candidate));
}

template <class T, int width>
std::size_t block_bytes_of(const Problem& problem, Residence residence) {
    const int n = problem.n;
    if (problem.routine == Routine::lu) {
        return problem.job == BatchJob::factor ? device::LuBlockMemory<T, width>::bytes(n, residence)
                                               : device::LuSolveMemory<T, 1>::bytes(n);
    }
    if (problem.routine == Routine::qr) {
        const auto x = problem.job == BatchJob::factor ? 0 : static_cast<std::size_t>(n + device::lanes) * sizeof(T);
        return device::QrBlockMemory<T, width>::bytes(n) + x;
    }
    const int order = device::padded_order(n, width);
    return device::PanelMemory<T, width>::bytes(order, problem.job == BatchJob::factor ? 0 : 1, residence);
}

template <class T>
std::size_t block_bytes(const Problem& problem, const Candidate& candidate) {
    if (candidate.residence == Residence::tiles) {
        if (problem.job != BatchJob::factor) return device::SolveTilesMemory<T>::bytes(problem.n);
        return problem.routine == Routine::cholesky ? device::CholeskyTileMemory::bytes()
                                                    : device::LuTileMemory<T>::bytes(problem.n);
    }
    return with_width_of(
        candidate.width, [&]<int width>() { return block_bytes_of<T, width>(problem, candidate.residence); },
        std::make_integer_sequence<int, widest>());
}

}  // namespace

std::size_t launched_shared_bytes(const Problem& problem, const Candidate& candidate) {
    if (candidate.residence == Residence::lanes) return 0;
    return problem.precision == Precision::single ? block_bytes<float>(problem, candidate)
                                                  : block_bytes<double>(problem, candidate);
}

std::size_t shared_bytes(const Problem& problem, const Candidate& candidate) {
    if (candidate.residence != Residence::lanes) return launched_shared_bytes(problem, candidate);
    return problem.precision == Precision::single ? lanes_bytes<float>(problem, candidate)
                                                  : lanes_bytes<double>(problem, candidate);
}

}  // namespace basalt::tuner
