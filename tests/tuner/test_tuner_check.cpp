// The check of candidates' results: LAPACK's results pass, and each kind of mistake is found.
#include <algorithm>
#include <functional>
#include <limits>
#include <vector>

#include <lapacke.h>

#include "tests/common/catch.hpp"
#include "tuner/check.hpp"

using namespace basalt::tuner;
using basalt::Index;

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
        std::vector<T> x(b, b + n);
        info = L::gels(LAPACK_COL_MAJOR, 'N', n, n, 1, a, n, x.data(), n);
        if (info == 0) std::copy(x.begin(), x.end(), b);
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
    if (problem.job == BatchJob::factor_solve) {
        CHECK(ratio_after([&](BatchData& data) { *number<T>(data.b, BatchCheck::failing * n) += T{1}; }) >
              passing_batch_ratio);
    }
    if (problem.routine == Routine::lu && problem.job == BatchJob::factor) {
        CHECK(ratio_after([&](BatchData& data) { data.pivots.back() = -5; }) > passing_batch_ratio);
    }
}

}  // namespace

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
