// Arguments that LAPACK refuses, compared with its reference: INFO and the calls of XERBLA. And what asks for nothing.
#include <random>
#include <string>
#include <vector>

#include "tests/common/catch.hpp"
#include "tests/common/watchdog.hpp"
#include "tests/lapack/lapack_calls.hpp"

using namespace basalt_tests;

namespace {

/// Random arguments, mostly small and often wrong. Both sides of a comparison draw the same ones.
class Arguments {
  public:
    explicit Arguments(unsigned seed) : random_(seed) {}

    int size() { return pick(std::vector<int>{-2, -1, 0, 0, 1, 2, 3, 5}); }
    int leading() { return pick(std::vector<int>{-1, 0, 1, 2, 3, 5, 8, 8, 8}); }
    int workspace() { return pick(std::vector<int>{-2, -1, 0, 1, 2, 3, 8, 64, 64, 64}); }
    char letter() {
        static const std::string letters = "NnTtCcLlUuRrOoIi1Xx0 *\x80";
        return letters[random_() % letters.size()];
    }
    template <class T>
    T norm() {
        return pick(std::vector<T>{T(-1), T(0), T(1), T(2)});
    }

  private:
    template <class V>
    V pick(const std::vector<V>& values) {
        return values[random_() % values.size()];
    }
    std::mt19937 random_;
};

/// Memory for matrices of order 8 at most.
template <class T>
struct Arrays {
    Arrays() : a(64), b(64), tau(8, T(0.5)), work(1024), pivots(8) {
        for (std::size_t i = 0; i < a.size(); ++i) {
            a[i] = i % 9 == 0 ? T(4) : T(0.1) * static_cast<T>(i % 7);
            b[i] = static_cast<T>(i % 5);
        }
        for (std::size_t i = 0; i < pivots.size(); ++i) pivots[i] = static_cast<int>(i) + 1;
    }
    std::vector<T> a, b, tau, work;
    std::vector<std::int32_t> pivots;
    T rcond = 0;
};

constexpr int routines = 18;

/// dsgesv or dsposv. There are none that begin with float.
int mixed(const Lapack<float, std::int32_t>&, bool, char, int, int, int, int, int, Arrays<float>&) { return 0; }
int mixed(const Lapack<double, std::int32_t>& lapack, bool general, char uplo, int n, int k, int lda, int ldb, int ldx,
          Arrays<double>& x) {
    double* const a = x.a.data();
    const double* const b = x.b.data();
    double* const solutions = x.work.data();
    std::int32_t iter = -99;
    const int info = general ? lapack.sgesv(n, k, a, lda, x.pivots.data(), b, ldb, solutions, ldx, &iter)
                             : lapack.sposv(uplo, n, k, a, lda, b, ldb, solutions, ldx, &iter);
    CHECK(iter != -99);
    return info;
}

/// Calls routine number `routine` with random arguments; returns INFO.
template <class T>
int call(const Lapack<T, std::int32_t>& lapack, int routine, unsigned seed) {
    Arguments draw(seed);
    Arrays<T> x;
    T* const a = x.a.data();
    T* const b = x.b.data();
    T* const tau = x.tau.data();
    T* const work = x.work.data();
    std::int32_t* const p = x.pivots.data();
    // drawn in this order, which that of arguments in a call is not
    const char c1 = draw.letter(), c2 = draw.letter(), c3 = draw.letter();
    const int m = draw.size(), n = draw.size(), k = draw.size(), ld1 = draw.leading(), ld2 = draw.leading();
    const int lwork = draw.workspace();
    const T norm = draw.template norm<T>();
    switch (routine) {
        case 0: return lapack.getrf(m, n, a, ld1, p);
        case 1: return lapack.getrs(c1, n, k, a, ld1, p, b, ld2);
        case 2: return lapack.gesv(n, k, a, ld1, p, b, ld2);
        case 3: return lapack.getri(n, a, ld1, p, work, lwork);
        case 4: return lapack.gecon(c1, n, a, ld1, norm, &x.rcond);
        case 5: return lapack.potrf(c1, n, a, ld1);
        case 6: return lapack.potrs(c1, n, k, a, ld1, b, ld2);
        case 7: return lapack.posv(c1, n, k, a, ld1, b, ld2);
        case 8: return lapack.potri(c1, n, a, ld1);
        case 9: return lapack.pocon(c1, n, a, ld1, norm, &x.rcond);
        case 10: return lapack.geqrf(m, n, a, ld1, tau, work, lwork);
        case 11: return lapack.orgqr(m, n, k, a, ld1, tau, work, lwork);
        case 12: return lapack.ormqr(c1, c2, m, n, k, a, ld1, tau, b, ld2, work, lwork);
        case 13: return lapack.gels(c1, m, n, k, a, ld1, b, ld2, work, lwork);
        case 14: return lapack.trtrs(c1, c2, c3, n, k, a, ld1, b, ld2);
        case 15: return lapack.trtri(c1, c2, n, a, ld1);
        default: return mixed(lapack, routine == 16, c1, n, k, ld1, ld2, draw.leading(), x);
    }
}

template <class T>
void fuzz(unsigned first, unsigned count) {
    const Lapack<T, std::int32_t> ours, theirs({}, reference_library());
    int refused = 0, accepted = 0;
    for (unsigned seed = first; seed < first + count; ++seed) {
        const int routine = static_cast<int>(seed % routines);
        complaints();
        const int expected = call(theirs, routine, seed);
        const auto expected_complaints = complaints();
        const int info = call(ours, routine, seed);
        const auto heard = complaints();
        (expected < 0 ? refused : accepted)++;
        if (info == expected && heard == expected_complaints) continue;
        INFO("routine " << routine << ", seed " << seed);
        CHECK(info == expected);
        CHECK(heard == expected_complaints);
    }
    CHECK(refused > static_cast<int>(count / 4));
    CHECK(accepted > static_cast<int>(count / 100));
}

}  // namespace

TEMPLATE_TEST_CASE("wrong arguments give LAPACK's INFO and call XERBLA", "[arguments]", float, double) {
    const Watchdog watchdog;
    fuzz<TestType>(0, 8000);
}

TEMPLATE_TEST_CASE("wrong arguments, more of them", "[.soak]", float, double) {
    const Watchdog watchdog({}, std::chrono::seconds(600));
    fuzz<TestType>(1'000'000, 1'000'000);
}

TEST_CASE("each spelling calls its XERBLA", "[arguments]") {
    double element = 1;
    const std::vector<Complaint> expected{{"DGESV", 4}};
    const auto check = [&](const auto& lapack) {
        using I = typename std::decay_t<decltype(lapack)>::Integer;
        I pivot = 0;
        complaints();
        CHECK(lapack.gesv(2, 1, &element, 1, &pivot, &element, 2) == -4);
        CHECK(complaints() == expected);
    };
    check(Lapack<double, std::int32_t>({"", ""}));
    check(Lapack<double, std::int64_t>({"", "64_"}));
    check(Lapack<double, std::int32_t>({"scipy_", ""}));
    check(Lapack<double, std::int64_t>({"scipy_", "64_"}));
}

TEST_CASE("64-bit sizes beyond 32 bits are seen", "[arguments]") {
    const Lapack<double, std::int64_t> lapack({"", "64_"});
    double element = 1;
    std::int64_t pivot = 0;
    complaints();
    CHECK(lapack.getrf((std::int64_t{1} << 32) + 1, 1, &element, 1, &pivot) == -4);  // LDA < M
    CHECK(complaints().size() == 1);
}

TEST_CASE("queries answer as the library behind", "[arguments]") {
    const Lapack<double, std::int32_t> ours, theirs({}, openblas_library());
    const auto answer = [](const Lapack<double, std::int32_t>& lapack, int routine) {
        double work = 0, element = 0;
        std::int32_t pivot = 0;
        int info = 0;
        switch (routine) {
            case 0: info = lapack.getri(500, &element, 500, &pivot, &work, -1); break;
            case 1: info = lapack.geqrf(700, 500, &element, 700, &element, &work, -1); break;
            case 2: info = lapack.orgqr(700, 500, 500, &element, 700, &element, &work, -1); break;
            case 3: info = lapack.gels('N', 700, 500, 3, &element, 700, &element, 700, &work, -1); break;
            default:
                info = lapack.ormqr('L', 'T', 700, 5, 500, &element, 700, &element, &element, 700, &work, -1);
                break;
        }
        CHECK(info == 0);
        return work;
    };
    for (int routine = 0; routine < 5; ++routine) CHECK(answer(ours, routine) == answer(theirs, routine));
}

TEST_CASE("queries answer without a library behind", "[arguments]") {
    const Lapack<double, std::int64_t> ours({"", "64_"});
    double work = 0, element = 0;
    CHECK(ours.geqrf(700, 500, &element, 700, &element, &work, -1) == 0);
    CHECK(work == 500);
    CHECK(ours.gels('N', 700, 500, 30, &element, 700, &element, 700, &work, -1) == 0);
    CHECK(work == 1000);
}

TEST_CASE("calls without elements do nothing", "[arguments]") {
    const Lapack<double, std::int32_t> plain;
    const Lapack<double, std::int64_t> alone({"", "64_"});  // with nothing behind
    CHECK(plain.gesv(0, 3, nullptr, 1, nullptr, nullptr, 1) == 0);
    CHECK(alone.gesv(0, 3, nullptr, 1, nullptr, nullptr, 1) == 0);
    CHECK(alone.potrf('L', 0, nullptr, 1) == 0);
    double rcond = -1;
    CHECK(alone.gecon('1', 0, nullptr, 1, 1.0, &rcond) == 0);
    CHECK(rcond == 1);
    std::vector<double> b(6, 7.0), work(10);
    CHECK(alone.gels('N', 3, 0, 2, nullptr, 3, b.data(), 3, work.data(), 10) == 0);
    for (const double element : b) CHECK(element == 0);
}
