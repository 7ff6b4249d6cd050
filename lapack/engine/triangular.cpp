#include "lapack/engine/kept_array.hpp"
#include "lapack/engine/operands.hpp"
#include "lapack/engine/routines.hpp"

namespace basalt::lapack {

/// The triangle of A in tiles; the other side of the array is not read.
template <class T>
class TriangularArray {
  public:
    TriangularArray(const Operands<T>& operands, const Call& call)
        : runtime_(operands.runtime()),
          triangle_(call.uplo == 'L' ? Triangle::lower : Triangle::upper),
          diagonal_(call.diag == 'U' ? Diagonal::unit : Diagonal::stored),
          array_(Operands<T>::columns(call.a, call.n, call.n)),
          mode_(choose_cholesky_mode(runtime_, {}, operands.problem(call.n, call.n)).mode),
          place_(operands.place(call.a, mode_)),
          matrix_(runtime_, call.n, call.n, tile_for(call.n), "A") {
        matrix_.load_triangle(triangle_, array_, place_);
    }

    TileShape tile() const { return matrix_.tile_shape(); }
    void solve(MatrixOp op, Matrix<T>& x) const { triangular_solve(runtime_, triangle_, diagonal_, op, matrix_, x); }
    Matrix<T> inverse() const { return triangular_inverse(runtime_, triangle_, diagonal_, matrix_); }
    KeptArray<T> keep() const { return {runtime_, array_, place_, triangle_}; }
    void store(const Matrix<T>& result) const {
        result.store_triangle(triangle_, array_, place_);
        runtime_.wait();
    }

  private:
    TileShape tile_for(Index n) const {
        if (mode_ == FactorMode::cpu) return default_cholesky_tile(runtime_.tuning(), n);
        return fitting_tile(runtime_, default_cholesky_tile(runtime_.tuning(), n, runtime_.gpus()), n, n, sizeof(T));
    }

    Runtime& runtime_;
    const Triangle triangle_;
    const Diagonal diagonal_;
    const View<T> array_;
    const FactorMode mode_;
    const Place place_;
    Matrix<T> matrix_;
};

template <class T>
void trtrs(Runtime& runtime, Call& call) {
    const Operands<T> operands(runtime, call);
    if (call.diag == 'N') call.info = operands.first_zero_on_diagonal();
    if (call.info != 0) return;
    const TriangularArray<T> a(operands, call);
    Matrix<T> x = operands.right_hand_sides(call.n, call.k, a.tile());
    a.solve(call.trans == 'N' ? MatrixOp::plain : MatrixOp::transposed, x);
    operands.wait_for(x);
    operands.store_right_hand_sides(x);
}

template <class T>
void trtri(Runtime& runtime, Call& call) {
    const Operands<T> operands(runtime, call);
    const bool unit = call.diag == 'U';
    if (!unit) call.info = operands.first_zero_on_diagonal();
    if (call.info != 0) return;
    const TriangularArray<T> a(operands, call);
    const Matrix<T> inverse = a.inverse();
    const Matrix<T> diagonal = operands.load_diagonal();
    KeptArray<T> kept = a.keep();
    runtime.wait();
    kept.overwrite([&] {
        a.store(inverse);
        // of a unit triangle the diagonal is not LAPACK's to write
        if (unit) diagonal.store(operands.diagonal(), operands.place(call.a, FactorMode::cpu));
        runtime.wait();
    });
}

template void trtrs<float>(Runtime&, Call&);
template void trtrs<double>(Runtime&, Call&);
template void trtri<float>(Runtime&, Call&);
template void trtri<double>(Runtime&, Call&);

}  // namespace basalt::lapack
