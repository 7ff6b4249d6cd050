#include <cmath>
#include <limits>

#include "lapack/engine/kept_array.hpp"
#include "lapack/engine/operands.hpp"
#include "lapack/engine/routines.hpp"

namespace basalt::lapack {

/// An array in tiles, for QR.
template <class T>
class QrArray {
  public:
    /// For a factorization of the m x n view.
    QrArray(const Operands<T>& operands, const Call& call, View<T> array)
        : QrArray(operands, call, array,
                  choose_qr_mode(operands.runtime(), {}, operands.problem(array.rows(), array.cols())).mode) {}
    QrArray(const Operands<T>& operands, const Call& call, View<T> array, QrMode mode)
        : runtime_(operands.runtime()),
          array_(array),
          mode_(mode),
          place_(operands.place(call.a, mode)),
          matrix_(runtime_, array.rows(), array.cols(), tile_for(array.rows(), array.cols()), "A") {
        matrix_.load(array_, place_);
    }

    Matrix<T>& matrix() { return matrix_; }
    TileShape tile() const { return matrix_.tile_shape(); }
    QrFactors<T> factor() { return qr_factor(runtime_, matrix_, {.mode = mode_}); }
    QrMode mode() const { return mode_; }
    Place place() const { return place_; }
    KeptArray<T> keep() const { return {runtime_, array_, place_}; }
    void store() const {
        matrix_.store(array_, place_);
        runtime_.wait();
    }

  private:
    TileShape tile_for(Index m, Index n) const {
        if (mode_ == QrMode::cpu) return default_qr_tile(runtime_.tuning(), m, n);
        return fitting_tile(runtime_, default_qr_tile(runtime_.tuning(), m, n, runtime_.gpus()), m, n, sizeof(T));
    }

    Runtime& runtime_;
    const View<T> array_;
    const QrMode mode_;
    const Place place_;
    Matrix<T> matrix_;
};

namespace {

/// Largest magnitude; NaN counts as 0.
template <class T>
T largest_magnitude(View<const T> a) {
    T largest = 0;
    for (Index j = 0; j < a.cols(); ++j) {
        for (Index i = 0; i < a.rows(); ++i) largest = std::max(largest, std::abs(a(i, j)));
    }
    return largest;
}

/// LAPACK's gels scales matrices whose elements are all tiny or huge, and of zeros.
template <class T>
void require_usual_scale(View<const T> a) {
    constexpr T smallest = std::numeric_limits<T>::min() / std::numeric_limits<T>::epsilon();
    const T largest = largest_magnitude(a);
    if (largest < smallest || largest > 1 / smallest) throw Unsuited("elements of that magnitude are to be scaled");
}

}  // namespace

template <class T>
void geqrf(Runtime& runtime, Call& call) {
    const Operands<T> operands(runtime, call);
    QrArray<T> a(operands, call, Operands<T>::columns(call.a, call.m, call.n));
    const QrFactors<T> qr = a.factor();
    KeptArray<T> kept = a.keep();
    runtime.wait();
    const std::vector<T> tau = qr.tau();
    kept.overwrite([&] { a.store(); });
    operands.store_tau(tau);
}

template <class T>
void orgqr(Runtime& runtime, Call& call) {
    const Operands<T> operands(runtime, call);
    QrArray<T> reflectors(operands, call, Operands<T>::columns(call.a, call.m, call.k));
    const std::vector<T> tau = operands.tau(call.k);
    const QrFactors<T> qr = qr_adopt(runtime, reflectors.matrix(), tau.data());
    const Matrix<T> q = qr_form(runtime, qr, call.n);
    const View<T> array = Operands<T>::columns(call.a, call.m, call.n);
    KeptArray<T> kept(runtime, array, reflectors.place());
    runtime.wait();
    kept.overwrite([&] {
        q.store(array, reflectors.place());
        runtime.wait();
    });
}

template <class T>
void ormqr(Runtime& runtime, Call& call) {
    const Operands<T> operands(runtime, call);
    const bool left = call.side == 'L', plain = call.trans == 'N';
    QrArray<T> reflectors(operands, call, Operands<T>::columns(call.a, left ? call.m : call.n, call.k));
    const std::vector<T> tau = operands.tau(call.k);
    const QrFactors<T> qr = qr_adopt(runtime, reflectors.matrix(), tau.data());
    const bool on_cores = reflectors.mode() == QrMode::cpu;
    // GPUs multiply from the left alone: C Q = (Q^T C^T)^T
    const bool turns = !left && !on_cores && !call.b.memory.on_gpu;
    constexpr Index widest_on_cores = 256;
    const TileShape tile = reflectors.tile(), usual{tile.height, on_cores ? widest_on_cores : tile.width};
    const View<T> array =
        turns ? Operands<T>::rows(call.b, call.n, call.m) : Operands<T>::columns(call.b, call.m, call.n);
    Matrix<T> c = operands.right_hand_sides(array, usual);
    qr_apply(runtime, qr, left || turns ? QrSide::left : QrSide::right, plain != turns ? QrOp::plain : QrOp::transposed,
             c);
    operands.wait_for(c);
    operands.store_right_hand_sides(c, array);
}

// With fewer equations than unknowns, in A or in A^T, the factors are those of the transposed array: LAPACK's LQ.
template <class T>
void gels(Runtime& runtime, Call& call) {
    const Operands<T> operands(runtime, call);
    const bool tall = call.m >= call.n, plain = call.trans == 'N';
    const View<T> array =
        tall ? Operands<T>::columns(call.a, call.m, call.n) : Operands<T>::rows(call.a, call.n, call.m);
    if (!call.a.memory.on_gpu) require_usual_scale<T>(array);
    if (!call.b.memory.on_gpu) {
        require_usual_scale<T>(Operands<T>::columns(call.b, plain ? call.m : call.n, call.k));
    }
    if (!tall && call.a.memory.on_gpu) throw Unsuited("a wide array in GPU memory");
    QrArray<T> a(operands, call, array);
    const QrFactors<T> qr = a.factor();
    constexpr Index widest = 256;
    Matrix<T> x = operands.right_hand_sides(std::max(call.m, call.n), call.k, {a.tile().height, widest});
    if (tall == plain) {
        qr_solve(runtime, qr, x);
    } else {
        qr_solve_transposed(runtime, qr, x);
    }
    KeptArray<T> kept = a.keep();
    operands.wait_for(x);
    call.info = qr.info();
    kept.overwrite([&] {
        a.store();
        if (call.info == 0) operands.store_right_hand_sides(x);
    });
}

template void geqrf<float>(Runtime&, Call&);
template void geqrf<double>(Runtime&, Call&);
template void orgqr<float>(Runtime&, Call&);
template void orgqr<double>(Runtime&, Call&);
template void ormqr<float>(Runtime&, Call&);
template void ormqr<double>(Runtime&, Call&);
template void gels<float>(Runtime&, Call&);
template void gels<double>(Runtime&, Call&);

}  // namespace basalt::lapack
