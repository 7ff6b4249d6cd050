// The exported routines compared with OpenBLAS's: results, INFO above 0, and what must not be touched.
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>
#include <vector>

#include "tests/common/lapack_oracle.hpp"
#include "tests/common/watchdog.hpp"
#include "tests/lapack/lapack_calls.hpp"

using namespace basalt_tests;

namespace {

template <class T>
Dense<T> well_conditioned(Index m, Index n, unsigned seed, Index gap = 3) {
    Dense<T> a = random_dense<T>(m, n, seed, gap);
    // the singular values of the random part are about as large as a root of the order, at most
    const T shift = 3 + std::sqrt(static_cast<T>(std::max(m, n)));
    for (Index j = 0; j < std::min(m, n); ++j) a(j, j) += a(j, j) > 0 ? shift : -shift;
    return a;
}

template <class T>
Dense<T> positive_definite(Index n, unsigned seed, Index gap = 2) {
    Dense<T> a = random_dense<T>(n, n, seed, gap);
    for (Index j = 0; j < n; ++j) {
        for (Index i = 0; i < j; ++i) a(i, j) = a(j, i);
        a(j, j) += static_cast<T>(n);
    }
    return a;
}

template <class T>
void check_equal(const Dense<T>& ours, const Dense<T>& theirs) {
    const double tolerance = 2000 * roundoff<T> * static_cast<double>(std::max<Index>(ours.n, 1));
    double scale = 1;
    for (Index j = 0; j < theirs.n; ++j) {
        for (Index i = 0; i < theirs.m; ++i) scale = std::max(scale, std::abs(static_cast<double>(theirs(i, j))));
    }
    CHECK(largest_difference(ours, theirs) <= tolerance * scale);
    CHECK(ours.gap_untouched());
}

template <class T>
void check_equal(const std::vector<T>& ours, const std::vector<T>& theirs) {
    for (std::size_t i = 0; i < ours.size(); ++i) CHECK(ours[i] == Approx(theirs[i]).margin(1e-4));
}

/// All routines of one spelling, next to OpenBLAS's.
template <class T, class I>
class Comparison {
  public:
    explicit Comparison(const Spelling& spelling) : ours_(spelling), theirs_({}, openblas_library()) {}

    void lu(Index m, Index n) const {
        Dense<T> a = well_conditioned<T>(m, n, 1), b = a;
        std::vector<I> p(static_cast<std::size_t>(std::min(m, n)));
        std::vector<std::int32_t> q(p.size());
        CHECK(ours_.getrf(in(m), in(n), data(a), ld(a), p.data()) == 0);
        CHECK(theirs_.getrf(i32(m), i32(n), data(b), i32(b.ld), q.data()) == 0);
        check_equal(a, b);
        CHECK(std::vector<std::int32_t>(p.begin(), p.end()) == q);
    }

    void solve_with_lu(Index n, Index nrhs) const {
        Dense<T> a = well_conditioned<T>(n, n, 2), b = a;
        Dense<T> x = random_dense<T>(n, nrhs, 3, 1), y = x;
        std::vector<I> p(static_cast<std::size_t>(n));
        std::vector<std::int32_t> q(p.size());
        CHECK(ours_.gesv(in(n), in(nrhs), data(a), ld(a), p.data(), data(x), ld(x)) == 0);
        CHECK(theirs_.gesv(i32(n), i32(nrhs), data(b), i32(b.ld), q.data(), data(y), i32(y.ld)) == 0);
        check_equal(a, b);
        check_equal(x, y);
        for (const char trans : {'N', 'T', 'C', 't'}) {
            CHECK(ours_.getrs(trans, in(n), in(nrhs), data(a), ld(a), p.data(), data(x), ld(x)) == 0);
            CHECK(theirs_.getrs(trans, i32(n), i32(nrhs), data(b), i32(b.ld), q.data(), data(y), i32(y.ld)) == 0);
            check_equal(x, y);
        }
        for (const char norm : {'1', 'O', 'I', 'i'}) {
            T rcond = -1, expected = -1;
            CHECK(ours_.gecon(norm, in(n), data(a), ld(a), T(10), &rcond) == 0);
            CHECK(theirs_.gecon(norm, i32(n), data(b), i32(b.ld), T(10), &expected) == 0);
            CHECK(rcond == Approx(expected).epsilon(1e-4));
        }
        std::vector<T> work(static_cast<std::size_t>(n));
        CHECK(ours_.getri(in(n), data(a), ld(a), p.data(), work.data(), in(n)) == 0);
        CHECK(work[0] >= 1);
        CHECK(theirs_.getri(i32(n), data(b), i32(b.ld), q.data(), work.data(), i32(n)) == 0);
        check_equal(a, b);
    }

    void cholesky(char uplo, Index n, Index nrhs) const {
        Dense<T> a = positive_definite<T>(n, 4), b = a, c = a;
        Dense<T> x = random_dense<T>(n, nrhs, 5, 1), y = x;
        CHECK(ours_.posv(uplo, in(n), in(nrhs), data(c), ld(c), data(x), ld(x)) == 0);
        CHECK(ours_.potrf(uplo, in(n), data(a), ld(a)) == 0);
        CHECK(theirs_.posv(uplo, i32(n), i32(nrhs), data(b), i32(b.ld), data(y), i32(y.ld)) == 0);
        check_equal(a, b);
        check_equal(c, b);
        check_equal(x, y);
        CHECK(ours_.potrs(uplo, in(n), in(nrhs), data(a), ld(a), data(x), ld(x)) == 0);
        CHECK(theirs_.potrs(uplo, i32(n), i32(nrhs), data(b), i32(b.ld), data(y), i32(y.ld)) == 0);
        check_equal(x, y);
        T rcond = -1, expected = -1;
        CHECK(ours_.pocon(uplo, in(n), data(a), ld(a), T(10), &rcond) == 0);
        CHECK(theirs_.pocon(uplo, i32(n), data(b), i32(b.ld), T(10), &expected) == 0);
        CHECK(rcond == Approx(expected).epsilon(1e-4));
        CHECK(ours_.potri(uplo, in(n), data(a), ld(a)) == 0);
        CHECK(theirs_.potri(uplo, i32(n), data(b), i32(b.ld)) == 0);
        check_equal(a, b);
    }

    void qr(Index m, Index n) const {
        const Index k = std::min(m, n), lwork = 64 * std::max(m, n);
        Dense<T> a = well_conditioned<T>(m, n, 6), b = a;
        std::vector<T> tau(static_cast<std::size_t>(k)), sigma(tau), work(static_cast<std::size_t>(lwork));
        CHECK(ours_.geqrf(in(m), in(n), data(a), ld(a), tau.data(), work.data(), in(lwork)) == 0);
        CHECK(theirs_.geqrf(i32(m), i32(n), data(b), i32(b.ld), sigma.data(), work.data(), i32(lwork)) == 0);
        check_equal(a, b);
        check_equal(tau, sigma);
        for (const char side : {'L', 'R'}) {
            for (const char trans : {'N', 'T'}) {
                const Index rows = side == 'L' ? m : 7, cols = side == 'L' ? 7 : m;
                Dense<T> x = random_dense<T>(rows, cols, 7, 2), y = x;
                CHECK(ours_.ormqr(side, trans, in(rows), in(cols), in(k), data(a), ld(a), tau.data(), data(x), ld(x),
                                  work.data(), in(lwork)) == 0);
                CHECK(theirs_.ormqr(side, trans, i32(rows), i32(cols), i32(k), data(b), i32(b.ld), sigma.data(),
                                    data(y), i32(y.ld), work.data(), i32(lwork)) == 0);
                check_equal(x, y);
            }
        }
        if (m < n) return;
        CHECK(ours_.orgqr(in(m), in(n), in(k), data(a), ld(a), tau.data(), work.data(), in(lwork)) == 0);
        CHECK(theirs_.orgqr(i32(m), i32(n), i32(k), data(b), i32(b.ld), sigma.data(), work.data(), i32(lwork)) == 0);
        check_equal(a, b);
    }

    void least_squares(char trans, Index m, Index n, Index nrhs) const {
        const Index lwork = 64 * std::max(m, n);
        Dense<T> a = well_conditioned<T>(m, n, 8), b = a;
        Dense<T> x = random_dense<T>(std::max(m, n), nrhs, 9, 2), y = x;
        std::vector<T> work(static_cast<std::size_t>(lwork));
        CHECK(ours_.gels(trans, in(m), in(n), in(nrhs), data(a), ld(a), data(x), ld(x), work.data(), in(lwork)) == 0);
        CHECK(theirs_.gels(trans, i32(m), i32(n), i32(nrhs), data(b), i32(b.ld), data(y), i32(y.ld), work.data(),
                           i32(lwork)) == 0);
        check_equal(a, b);
        const bool plain = trans == 'N';
        const Index solved = plain ? n : m;
        for (Index j = 0; j < nrhs; ++j) {
            double ours = 0, theirs = 0;  // of the residual, whose parts depend on Q's last columns
            for (Index i = 0; i < std::max(m, n); ++i) {
                if (i < solved) continue;
                ours += double(x(i, j)) * double(x(i, j)), theirs += double(y(i, j)) * double(y(i, j));
                x(i, j) = y(i, j) = 0;
            }
            if ((m >= n) == plain) CHECK(ours == Approx(theirs).margin(1e-4));
        }
        check_equal(x, y);
    }

    void triangles(char uplo, char diag, Index n, Index nrhs) const {
        Dense<T> a = positive_definite<T>(n, 10), b = a;
        if (diag == 'U') {
            for (T& element : a.values) element = element == T(gap_mark) ? element : element / T(n);
            b = a;
        }
        for (const char trans : {'N', 'T', 'C'}) {
            Dense<T> x = random_dense<T>(n, nrhs, 11, 1), y = x;
            CHECK(ours_.trtrs(uplo, trans, diag, in(n), in(nrhs), data(a), ld(a), data(x), ld(x)) == 0);
            CHECK(theirs_.trtrs(uplo, trans, diag, i32(n), i32(nrhs), data(b), i32(b.ld), data(y), i32(y.ld)) == 0);
            check_equal(x, y);
        }
        CHECK(ours_.trtri(uplo, diag, in(n), data(a), ld(a)) == 0);
        CHECK(theirs_.trtri(uplo, diag, i32(n), data(b), i32(b.ld)) == 0);
        check_equal(a, b);
    }

    /// The factors of A in single precision are enough, so A stays as it is.
    void mixed(Index n, Index nrhs) const {
        const Dense<T> b = random_dense<T>(n, nrhs, 12, 1);
        Dense<T> a = well_conditioned<T>(n, n, 2), x = random_dense<T>(n, nrhs, 13, 2), y = x;
        const Dense<T> before = a;
        std::vector<I> p(static_cast<std::size_t>(n));
        std::vector<std::int32_t> q(p.size());
        I iter = -99;
        std::int32_t expected = -99;
        CHECK(ours_.sgesv(in(n), in(nrhs), data(a), ld(a), p.data(), b.values.data(), ld(b), data(x), ld(x), &iter) ==
              0);
        CHECK(iter >= 0);
        CHECK(a.values == before.values);
        CHECK(theirs_.sgesv(i32(n), i32(nrhs), data(a), i32(a.ld), q.data(), b.values.data(), i32(b.ld), data(y),
                            i32(y.ld), &expected) == 0);
        check_equal(x, y);
        for (const char uplo : {'L', 'U', 'u'}) {
            Dense<T> c = positive_definite<T>(n, 4);
            for (Index j = 0; j < n; ++j) {  // the other triangle is not read
                for (Index i = 0; i < j; ++i) (uplo == 'L' ? c(i, j) : c(j, i)) = std::numeric_limits<T>::quiet_NaN();
            }
            const Dense<T> triangle = c;
            iter = expected = -99;
            CHECK(ours_.sposv(uplo, in(n), in(nrhs), data(c), ld(c), b.values.data(), ld(b), data(x), ld(x), &iter) ==
                  0);
            CHECK(iter >= 0);
            CHECK(std::memcmp(c.values.data(), triangle.values.data(), c.values.size() * sizeof(T)) == 0);
            CHECK(theirs_.sposv(uplo == 'L' ? 'L' : 'U', i32(n), i32(nrhs), data(c), i32(c.ld), b.values.data(),
                                i32(b.ld), data(y), i32(y.ld), &expected) == 0);
            check_equal(x, y);
        }
    }

  private:
    static I in(Index value) { return static_cast<I>(value); }
    static std::int32_t i32(Index value) { return static_cast<std::int32_t>(value); }
    static T* data(Dense<T>& a) { return a.values.data(); }
    static I ld(const Dense<T>& a) { return in(a.ld); }

    Lapack<T, I> ours_;
    Lapack<T, std::int32_t> theirs_;
};

template <class T, class I>
void compare_all(const Spelling& spelling, Index n) {
    INFO(spelling.prefix << "d..._" << spelling.suffix << ", n = " << n);
    const Comparison<T, I> compare(spelling);
    compare.lu(n, n);
    compare.lu(n + 20, n);
    compare.lu(n, n + 20);
    compare.solve_with_lu(n, 5);
    for (const char uplo : {'L', 'U', 'l'}) compare.cholesky(uplo, n, 3);
    if constexpr (std::is_same_v<T, double>) compare.mixed(n, 4);
    compare.qr(n + 10, n);
    compare.qr(n, n + 10);
    for (const char trans : {'N', 'T'}) {
        compare.least_squares(trans, n + 10, n, 3);
        compare.least_squares(trans, n, n + 10, 3);
    }
    for (const char uplo : {'L', 'U'}) {
        for (const char diag : {'N', 'U'}) compare.triangles(uplo, diag, n, 4);
    }
}

}  // namespace

TEMPLATE_TEST_CASE("every routine in every spelling gives LAPACK's results", "[routines]", float, double) {
    const Watchdog watchdog;
    for (const Index n : {1, 2, 65}) {
        compare_all<TestType, std::int32_t>({"", ""}, n);
        compare_all<TestType, std::int64_t>({"", "64_"}, n);
        compare_all<TestType, std::int32_t>({"scipy_", ""}, n);
        compare_all<TestType, std::int64_t>({"scipy_", "64_"}, n);
    }
}

TEST_CASE("the routines at an order of several tiles", "[routines]") {
    const Watchdog watchdog;
    compare_all<double, std::int32_t>({"", ""}, 700);
}

TEMPLATE_TEST_CASE("INFO above 0 is LAPACK's", "[routines]", float, double) {
    const Lapack<TestType, std::int32_t> ours, theirs({}, openblas_library());
    constexpr int n = 40;
    std::vector<std::int32_t> p(n), q(n);
    std::vector<TestType> work(64 * n);
    Dense<TestType> a = well_conditioned<TestType>(n, n, 20), x = random_dense<TestType>(n, 2, 21);
    for (Index i = 0; i < n; ++i) a(i, 10) = a(i, 20) = 0;
    const Dense<TestType> singular = a, right_hand_sides = x;
    const int ld = static_cast<int>(a.ld);
    CHECK(ours.getrf(n, n, a.values.data(), ld, p.data()) == 11);
    a = singular;
    CHECK(ours.gesv(n, 2, a.values.data(), ld, p.data(), x.values.data(), n) == 11);
    CHECK(largest_difference(x, right_hand_sides) == 0);
    const Dense<TestType> factors = a;
    CHECK(ours.getri(n, a.values.data(), ld, p.data(), work.data(), n) == 11);
    CHECK(largest_difference(a, factors) == 0);
    CHECK(ours.trtrs('U', 'N', 'N', n, 2, a.values.data(), ld, x.values.data(), n) == 11);
    CHECK(ours.trtrs('U', 'N', 'U', n, 2, a.values.data(), ld, x.values.data(), n) == 0);
    CHECK(ours.trtri('U', 'N', n, a.values.data(), ld) == 11);
    CHECK(largest_difference(a, factors) == 0);

    Dense<TestType> spd = positive_definite<TestType>(n, 22);
    spd(24, 24) = -1;
    const int ldb = static_cast<int>(spd.ld);
    for (const char uplo : {'L', 'U'}) {
        Dense<TestType> b = spd;
        x = right_hand_sides;
        CHECK(ours.potrf(uplo, n, b.values.data(), ldb) == 25);
        b = spd;
        CHECK(ours.posv(uplo, n, 2, b.values.data(), ldb, x.values.data(), n) == 25);
        CHECK(largest_difference(x, right_hand_sides) == 0);
        b = spd;
        b(7, 7) = 0;
        CHECK(ours.potri(uplo, n, b.values.data(), ldb) == 8);
    }
    for (Index i = 0; i < n; ++i) a(i, 12) = 0;
    Dense<TestType> b = a;
    const int expected = theirs.gels('N', n, n, 2, b.values.data(), ld, x.values.data(), n, work.data(), 64 * n);
    CHECK(expected == ours.gels('N', n, n, 2, a.values.data(), ld, x.values.data(), n, work.data(), 64 * n));
}

TEST_CASE("only the named triangle is touched", "[routines]") {
    const Lapack<double, std::int32_t> ours;
    constexpr int n = 80;
    for (const char uplo : {'L', 'U'}) {
        Dense<double> a = positive_definite<double>(n, 30);
        const double nan = std::numeric_limits<double>::quiet_NaN();
        const auto other = [&](Index i, Index j) { return uplo == 'L' ? i < j : i > j; };
        for (Index j = 0; j < n; ++j) {
            for (Index i = 0; i < n; ++i) a(i, j) = other(i, j) ? nan : a(i, j);
        }
        const int ld = static_cast<int>(a.ld);
        Dense<double> x = random_dense<double>(n, 3, 31);
        CHECK(ours.potrf(uplo, n, a.values.data(), ld) == 0);
        CHECK(ours.potrs(uplo, n, 3, a.values.data(), ld, x.values.data(), n) == 0);
        CHECK(ours.trtrs(uplo, 'N', 'N', n, 3, a.values.data(), ld, x.values.data(), n) == 0);
        CHECK(ours.potri(uplo, n, a.values.data(), ld) == 0);
        CHECK(ours.trtri(uplo, 'N', n, a.values.data(), ld) == 0);
        for (Index j = 0; j < n; ++j) {
            for (Index i = 0; i < n; ++i) CHECK(std::isnan(a(i, j)) == other(i, j));
        }
        for (Index j = 0; j < 3; ++j) {
            for (Index i = 0; i < n; ++i) CHECK(std::isfinite(x(i, j)));
        }
    }
}

TEST_CASE("systems that single precision cannot factor get factors in double and a negative ITER", "[routines]") {
    const Watchdog watchdog;
    const Lapack<double, std::int32_t> ours, theirs({}, openblas_library());
    const Index n = 60;
    const int order = static_cast<int>(n);
    Dense<double> a = well_conditioned<double>(n, n, 14), b = random_dense<double>(n, 2, 15, 1), x = b, y = b;
    for (Index i = 0; i < n; ++i) a(i, 30) = 0;
    std::vector<std::int32_t> p(static_cast<std::size_t>(n)), q(p.size());
    const int ld = static_cast<int>(a.ld), ldb = static_cast<int>(b.ld);
    int iter = 0, expected = 0;
    Dense<double> c = a, definite = positive_definite<double>(n, 16);
    CHECK(ours.sgesv(order, 2, a.values.data(), ld, p.data(), b.values.data(), ldb, x.values.data(), ldb, &iter) == 31);
    CHECK(theirs.sgesv(order, 2, c.values.data(), ld, q.data(), b.values.data(), ldb, y.values.data(), ldb,
                       &expected) == 31);
    CHECK(iter == -3);
    CHECK(expected == -3);
    check_equal(a, c);
    CHECK(p == q);

    definite(40, 40) = -1;
    c = definite;
    const int ldc = static_cast<int>(c.ld);
    const int info = ours.sposv('L', order, 2, c.values.data(), ldc, b.values.data(), ldb, x.values.data(), ldb, &iter);
    CHECK(info == 41);
    CHECK(iter == -3);
    CHECK(c(0, 1) == definite(0, 1));  // above the diagonal
}
