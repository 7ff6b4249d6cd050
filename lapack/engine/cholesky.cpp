#include <cmath>

#include "lapack/engine/kept_array.hpp"
#include "lapack/engine/operands.hpp"
#include "lapack/engine/routines.hpp"

namespace basalt::lapack {

/// The triangle of A in tiles. The upper triangle of a column-major array is the lower one of the row-major array with
/// the same elements, so no element is transposed.
template <class T>
class CholeskyArray {
  public:
    CholeskyArray(const Operands<T>& operands, const Call& call)
        : runtime_(operands.runtime()),
          array_(call.uplo == 'L' ? Operands<T>::columns(call.a, call.n, call.n)
                                  : Operands<T>::rows(call.a, call.n, call.n)),
          mode_(choose_cholesky_mode(runtime_, {}, operands.problem(call.n, call.n)).mode),
          place_(operands.place(call.a, mode_)),
          matrix_(runtime_, call.n, call.n, tile_for(call.n), "A") {
        matrix_.set_deal(Deal::cyclic);
        matrix_.load_triangle(Triangle::lower, array_, place_);
    }

    Matrix<T>& matrix() { return matrix_; }
    TileShape tile() const { return matrix_.tile_shape(); }
    CholeskyFactors<T> factor() {
        CholeskyOptions options;
        options.mode = mode_;
        options.keep_other_side = false;
        return cholesky_factor(runtime_, matrix_, Triangle::lower, options);
    }
    CholeskyFactors<T> adopt() { return cholesky_adopt(runtime_, matrix_, Triangle::lower); }
    KeptArray<T> keep() const { return {runtime_, array_, place_, Triangle::lower}; }
    void store(const Matrix<T>& result) const {
        result.store_triangle(Triangle::lower, array_, place_);
        runtime_.wait();
    }

  private:
    TileShape tile_for(Index n) const {
        if (mode_ == FactorMode::cpu) return default_cholesky_tile(runtime_.tuning(), n);
        return fitting_tile(runtime_, default_cholesky_tile(runtime_.tuning(), n, runtime_.gpus()), n, n, sizeof(T));
    }

    Runtime& runtime_;
    const View<T> array_;
    const FactorMode mode_;
    const Place place_;
    Matrix<T> matrix_;
};

template <class T>
void potrf(Runtime& runtime, Call& call) {
    const Operands<T> operands(runtime, call);
    CholeskyArray<T> a(operands, call);
    const CholeskyFactors<T> factor = a.factor();
    KeptArray<T> kept = a.keep();
    runtime.wait();
    kept.overwrite([&] { a.store(a.matrix()); });
    call.info = factor.info();
}

template <class T>
void posv(Runtime& runtime, Call& call) {
    const Operands<T> operands(runtime, call);
    CholeskyArray<T> a(operands, call);
    const CholeskyFactors<T> factor = a.factor();
    Matrix<T> x = operands.right_hand_sides(call.n, call.k, a.tile());
    cholesky_solve(runtime, factor, x);
    KeptArray<T> kept = a.keep();
    operands.wait_for(x);
    call.info = factor.info();
    kept.overwrite([&] {
        a.store(a.matrix());
        if (call.info == 0) operands.store_right_hand_sides(x);
    });
}

template <class T>
void potrs(Runtime& runtime, Call& call) {
    const Operands<T> operands(runtime, call);
    CholeskyArray<T> a(operands, call);
    Matrix<T> x = operands.right_hand_sides(call.n, call.k, a.tile());
    cholesky_solve(runtime, a.adopt(), x);
    operands.wait_for(x);
    operands.store_right_hand_sides(x);
}

template <class T>
void potri(Runtime& runtime, Call& call) {
    const Operands<T> operands(runtime, call);
    call.info = operands.first_zero_on_diagonal();
    if (call.info != 0) return;
    CholeskyArray<T> a(operands, call);
    const Matrix<T> inverse = cholesky_inverse(runtime, a.adopt());
    KeptArray<T> kept = a.keep();
    runtime.wait();
    kept.overwrite([&] { a.store(inverse); });
}

template <class T>
void pocon(Runtime& runtime, Call& call) {
    if (!std::isfinite(call.anorm)) throw Unsuited("the norm is not finite");
    const Operands<T> operands(runtime, call);
    CholeskyArray<T> a(operands, call);
    *static_cast<T*>(call.rcond) = static_cast<T>(cholesky_reciprocal_condition(runtime, a.adopt(), call.anorm));
}

template void potrf<float>(Runtime&, Call&);
template void potrf<double>(Runtime&, Call&);
template void potrs<float>(Runtime&, Call&);
template void potrs<double>(Runtime&, Call&);
template void posv<float>(Runtime&, Call&);
template void posv<double>(Runtime&, Call&);
template void potri<float>(Runtime&, Call&);
template void potri<double>(Runtime&, Call&);
template void pocon<float>(Runtime&, Call&);
template void pocon<double>(Runtime&, Call&);

}  // namespace basalt::lapack
