// The check of candidates' results: LAPACK's results and those of the kernels pass, and each kind of mistake is found.
#include <algorithm>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <vector>

#include <lapacke.h>

#include "kernels/cuda/batch/cholesky_tiles.hpp"
#include "kernels/cuda/batch/lu_tiles.hpp"
#include "kernels/cuda/batch/panels.hpp"
#include "kernels/cuda/batch/qr_block.hpp"
#include "tests/common/catch.hpp"
#include "tests/kernels/emulated_block.hpp"
#include "tuner/check.hpp"

using namespace basalt::tuner;
using basalt::Index;
using basalt_tests::EmulatedBlock;
namespace device = basalt::cuda_detail::batch;

namespace {

/// LAPACK's functions for a precision.
template <class T>
struct Lapack;
template <>
struct Lapack<float> {
    static constexpr auto potrf = LAPACKE_spotrf;
    static constexpr auto potrs = LAPACKE_spotrs;
    static constexpr auto getrf = LAPACKE_sgetrf;
    static constexpr auto getrs = LAPACKE_sgetrs;
    static constexpr auto geqrf = LAPACKE_sgeqrf;
    static constexpr auto gels = LAPACKE_sgels;
};
template <>
struct Lapack<double> {
    static constexpr auto potrf = LAPACKE_dpotrf;
    static constexpr auto potrs = LAPACKE_dpotrs;
    static constexpr auto getrf = LAPACKE_dgetrf;
    static constexpr auto getrs = LAPACKE_dgetrs;
    static constexpr auto geqrf = LAPACKE_dgeqrf;
    static constexpr auto gels = LAPACKE_dgels;
};

/// Element `offset` of numbers that lie in bytes, which vectors align for any number.
template <class T>
T* number(std::vector<unsigned char>& bytes, Index offset = 0) {
    return reinterpret_cast<T*>(bytes.data()) + offset;
}

/// What a sound kernel makes of one matrix.
template <class T>
void solve_with_lapack(const Problem& problem, BatchData& data, Index k) {
    using L = Lapack<T>;
    const int n = problem.n;
    T* const a = number<T>(data.a, k * n * n);
    T* const b = data.b.empty() ? nullptr : number<T>(data.b, k * n);
    const bool factors = problem.job != BatchJob::solve, solves = problem.job != BatchJob::factor;
    std::vector<lapack_int> pivots(static_cast<std::size_t>(n));
    Index* const own = data.pivots.empty() ? nullptr : &data.pivots[static_cast<std::size_t>(k * n)];
    int info = 0;
    if (problem.routine == Routine::cholesky) {
        if (factors) info = L::potrf(LAPACK_COL_MAJOR, 'L', n, a, n);
        if (solves && info == 0) L::potrs(LAPACK_COL_MAJOR, 'L', n, 1, a, n, b, n);
    } else if (problem.routine == Routine::lu) {
        std::copy_n(own, n, pivots.begin());
        if (factors) info = L::getrf(LAPACK_COL_MAJOR, n, n, a, n, pivots.data());
        std::copy_n(pivots.begin(), n, own);
        if (solves && info == 0) L::getrs(LAPACK_COL_MAJOR, 'N', n, 1, a, n, pivots.data(), b, n);
    } else if (solves) {
        info = L::gels(LAPACK_COL_MAJOR, 'N', n, n, 1, a, n, b, n);
        if (info != 0) *b += T{1};  // it is Q^T B, or a part of it
    } else {
        L::geqrf(LAPACK_COL_MAJOR, n, n, a, n, number<T>(data.tau, k * n));
    }
    if (!data.info.empty()) data.info[static_cast<std::size_t>(k)] = info;
}

template <class T>
void check_problem(const Problem& problem) {
    CAPTURE(name_of(problem));
    const std::unique_ptr<BatchCheck> check = BatchCheck::make(problem);
    BatchData sound = check->input();
    for (Index k = 0; k < check->count(); ++k) solve_with_lapack<T>(problem, sound, k);
    const double ratio = check->worst_ratio(sound);
    CHECK((ratio > 0 && ratio < 3));

    const auto ratio_after = [&](const std::function<void(BatchData&)>& change) {
        BatchData data = sound;
        change(data);
        return check->worst_ratio(data);
    };
    const int n = problem.n;
    const Index last = check->count() - 1;
    if (problem.job == BatchJob::factor) {
        // the element in the last row of the first column, and the last on the diagonal
        const auto spoil_a = [&](Index place) {
            return ratio_after([&](BatchData& data) {
                T* const a = number<T>(data.a, (last * n * n) + place);
                *a = *a * T{2} + T{1};
            });
        };
        CHECK(spoil_a(n * n - 1) > passing_batch_ratio);
        CHECK(spoil_a(n - 1) > passing_batch_ratio);
    } else {
        CHECK(ratio_after([&](BatchData& data) { *number<T>(data.b, last * n) *= T{2}; }) > passing_batch_ratio);
        CHECK(ratio_after([&](BatchData& data) { *number<T>(data.b) = std::numeric_limits<T>::quiet_NaN(); }) >
              passing_batch_ratio);
    }
    if (!sound.info.empty()) {
        CHECK(std::count(sound.info.begin(), sound.info.end(), 0) == check->count() - 1);
        CHECK(ratio_after([&](BatchData& data) { data.info[BatchCheck::failing] = 0; }) > passing_batch_ratio);
        CHECK(ratio_after([&](BatchData& data) { data.info.back() = 1; }) > passing_batch_ratio);
    }
    if (problem.job == BatchJob::factor_solve && problem.routine != Routine::qr) {
        CHECK(ratio_after([&](BatchData& data) { *number<T>(data.b, BatchCheck::failing * n) += T{1}; }) >
              passing_batch_ratio);
    }
    if (problem.routine == Routine::lu && problem.job == BatchJob::factor) {
        CHECK(ratio_after([&](BatchData& data) { data.pivots.back() = -5; }) > passing_batch_ratio);
    }
}

/// One matrix of a problem by the code of a candidate (kernels/cuda/batch/candidates.cuh) with panels of `width`
/// columns and as many threads as the tuner launches, with shared memory of the size that it asks for.
template <int width, class T>
void run_on_block(const Problem& problem, const Candidate& candidate, BatchData& data, Index k) {
    const int n = problem.n;
    const device::Whole<T> a{number<T>(data.a, k * n * n), n, n, n};
    const bool solves = problem.job != BatchJob::factor;
    const device::RightSides<T> right{solves ? number<T>(data.b, k * n) : nullptr, n, solves ? 1 : 0};
    Index* const pivots = data.pivots.empty() ? nullptr : &data.pivots[static_cast<std::size_t>(k * n)];
    const std::size_t chunks = launched_shared_bytes(problem, candidate) / sizeof(device::Chunk<T>) + 1;
    std::vector<device::Chunk<T>> raw(chunks);
    std::memset(raw.data(), 0xff, chunks * sizeof(raw[0]));  // NaN
    int info = -1;
    EmulatedBlock(candidate.threads / device::lanes, k % 2 == 1).run([&](const EmulatedBlock::Thread& thread) {
        int own = 0;
        if (problem.routine == Routine::cholesky) {
            if constexpr (sizeof(T) == sizeof(double)) {
                const device::CholeskyTileMemory memory{reinterpret_cast<T*>(raw.data())};
                const device::CountedOperand own_a(device::Operand<T>{a.a, 1, n, n});
                own = device::cholesky_factor_tiles<device::Registers::few>(thread, memory, own_a);
            }
        } else if (problem.routine == Routine::qr) {
            const device::QrBlockMemory<T, width> memory(raw.data(), n);
            own = device::qr_factor_block<width, 4>(thread, memory, memory.tau + width, a, number<T>(data.tau, k * n),
                                                    right);
        } else if (candidate.residence == Residence::tiles) {
            own = device::lu_factor_tiles(thread, device::LuTileMemory<T>(raw.data(), n),
                                          device::LuTileMatrix<T>{a.a, n, n}, pivots);
        } else if (candidate.residence == Residence::shared) {
            own = device::lu_factor_block<Residence::shared>(
                thread, device::LuBlockMemory<T, width>(raw.data(), n, Residence::shared), a, pivots);
        } else {
            own = device::lu_factor_block<Residence::global>(
                thread, device::LuBlockMemory<T, width>(raw.data(), n, Residence::global), a, pivots);
        }
        if (thread.warp == 0 && thread.lane == 0) info = own;
    });
    if (!data.info.empty()) data.info[static_cast<std::size_t>(k)] = info;
}

template <int width, class T>
void check_kernel(const Problem& problem, Residence residence) {
    const int threads = (problem.n + device::lanes - 1) / device::lanes * device::lanes;
    const Candidate candidate{.residence = residence, .width = width, .threads = threads, .bound = 128};
    CAPTURE(name_of(problem), name_of(candidate));
    const std::unique_ptr<BatchCheck> check = BatchCheck::make(problem);
    BatchData data = check->input();
    for (Index k = 0; k < check->count(); ++k) run_on_block<width, T>(problem, candidate, data, k);
    CHECK(check->worst_ratio(data) < 3);
}

template <int width>
void check_kernels(Routine routine, BatchJob job, int n, Residence residence) {
    check_kernel<width, float>({routine, job, Precision::single, n}, residence);
    check_kernel<width, double>({routine, job, Precision::twice, n}, residence);
}

}  // namespace

TEST_CASE("what kernels in blocks do on a GPU passes", "[kernels]") {
    for (const int n : {40, 64}) {
        check_kernels<8>(Routine::qr, BatchJob::factor, n, Residence::global);
        check_kernels<8>(Routine::qr, BatchJob::factor_solve, n, Residence::global);
        check_kernels<13>(Routine::qr, BatchJob::factor_solve, n, Residence::global);
        check_kernels<16>(Routine::lu, BatchJob::factor, n, Residence::shared);
        check_kernels<24>(Routine::lu, BatchJob::factor, n, Residence::shared);
        check_kernels<24>(Routine::lu, BatchJob::factor, n, Residence::global);
        check_kernels<32>(Routine::lu, BatchJob::factor, n, Residence::tiles);
        check_kernel<32, double>({Routine::cholesky, BatchJob::factor, Precision::twice, n}, Residence::tiles);
    }
}

TEST_CASE("results of LAPACK pass, and wrong ones do not") {
    for (const int n : {2, 3, 7, 32, 40, 96}) {
        for (const Routine routine : {Routine::cholesky, Routine::lu, Routine::qr}) {
            for (const BatchJob job : {BatchJob::factor, BatchJob::solve, BatchJob::factor_solve}) {
                const Problem single{routine, job, Precision::single, n}, twice{routine, job, Precision::twice, n};
                if (!has_kernels(single)) continue;
                check_problem<float>(single);
                check_problem<double>(twice);
            }
        }
    }
}
