#include <cmath>

#include "lapack/engine/kept_array.hpp"
#include "lapack/engine/operands.hpp"
#include "lapack/engine/routines.hpp"

namespace basalt::lapack {

/// The array A in tiles, for LU.
template <class T>
class LuArray {
  public:
    LuArray(const Operands<T>& operands, const Call& call)
        : runtime_(operands.runtime()),
          array_(Operands<T>::columns(call.a, call.m, call.n)),
          mode_(choose_lu_mode(runtime_, {}, operands.problem(call.m, call.n)).mode),
          place_(operands.place(call.a, mode_)),
          matrix_(runtime_, call.m, call.n, tile_for(call), "A") {
        matrix_.load(array_, place_);
    }

    Matrix<T>& matrix() { return matrix_; }
    TileShape tile() const { return matrix_.tile_shape(); }
    LuFactors<T> factor() { return lu_factor(runtime_, matrix_, {.mode = mode_}); }
    KeptArray<T> keep() const { return {runtime_, array_, place_}; }
    void store(const Matrix<T>& result) const {
        result.store(array_, place_);
        runtime_.wait();
    }

  private:
    TileShape tile_for(const Call& call) const {
        const bool on_cores = mode_ == LuMode::cpu;
        const bool resident = mode_ == LuMode::gpu && place_.is_gpu();
        const TileShape usual =
            default_lu_tile(runtime_.tuning(), call.m, call.n, on_cores ? 0 : runtime_.gpus(), resident);
        return on_cores ? usual : fitting_tile(runtime_, usual, call.m, call.n, sizeof(T));
    }

    Runtime& runtime_;
    const View<T> array_;
    const LuMode mode_;
    const Place place_;
    Matrix<T> matrix_;
};

template <class T>
void getrf(Runtime& runtime, Call& call) {
    const Operands<T> operands(runtime, call);
    LuArray<T> a(operands, call);
    const LuFactors<T> lu = a.factor();
    KeptArray<T> kept = a.keep();
    runtime.wait();
    kept.overwrite([&] { a.store(a.matrix()); });
    operands.store_pivots(lu.pivots());
    call.info = lu.info();
}

template <class T>
void gesv(Runtime& runtime, Call& call) {
    const Operands<T> operands(runtime, call);
    LuArray<T> a(operands, call);
    const LuFactors<T> lu = a.factor();
    Matrix<T> x = operands.right_hand_sides(call.n, call.k, a.tile());
    lu_solve(runtime, lu, x);
    KeptArray<T> kept = a.keep();
    operands.wait_for(x);
    call.info = lu.info();
    kept.overwrite([&] {
        a.store(a.matrix());
        if (call.info == 0) operands.store_right_hand_sides(x);
    });
    operands.store_pivots(lu.pivots());
}

template <class T>
void getrs(Runtime& runtime, Call& call) {
    const Operands<T> operands(runtime, call);
    LuArray<T> a(operands, call);
    const LuFactors<T> lu = lu_adopt(runtime, a.matrix(), operands.pivots(call.n).data());
    Matrix<T> x = operands.right_hand_sides(call.n, call.k, a.tile());
    if (call.trans == 'N') {
        lu_solve(runtime, lu, x);
    } else {
        lu_solve_transposed(runtime, lu, x);
    }
    operands.wait_for(x);
    operands.store_right_hand_sides(x);
}

template <class T>
void getri(Runtime& runtime, Call& call) {
    const Operands<T> operands(runtime, call);
    call.info = operands.first_zero_on_diagonal();
    if (call.info != 0) return;
    LuArray<T> a(operands, call);
    const LuFactors<T> lu = lu_adopt(runtime, a.matrix(), operands.pivots(call.n).data());
    const Matrix<T> inverse = lu_inverse(runtime, lu);
    KeptArray<T> kept = a.keep();
    runtime.wait();
    kept.overwrite([&] { a.store(inverse); });
}

template <class T>
void gecon(Runtime& runtime, Call& call) {
    if (!std::isfinite(call.anorm)) throw Unsuited("the norm is not finite");
    const Operands<T> operands(runtime, call);
    LuArray<T> a(operands, call);
    // the norms of the inverse do not depend on the order of its columns
    const LuFactors<T> lu = lu_adopt(runtime, a.matrix(), nullptr);
    const ConditionNorm norm = call.norm == 'I' ? ConditionNorm::infinity : ConditionNorm::one;
    *static_cast<T*>(call.rcond) = static_cast<T>(lu_reciprocal_condition(runtime, lu, call.anorm, norm));
}

template void getrf<float>(Runtime&, Call&);
template void getrf<double>(Runtime&, Call&);
template void getrs<float>(Runtime&, Call&);
template void getrs<double>(Runtime&, Call&);
template void gesv<float>(Runtime&, Call&);
template void gesv<double>(Runtime&, Call&);
template void getri<float>(Runtime&, Call&);
template void getri<double>(Runtime&, Call&);
template void gecon<float>(Runtime&, Call&);
template void gecon<double>(Runtime&, Call&);

}  // namespace basalt::lapack
