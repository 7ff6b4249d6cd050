#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <basalt/basalt.hpp>

#include "lapack/call.hpp"

namespace basalt::lapack {

/// Reason why a call does not suit the engine.
class Unsuited : public Error {
  public:
    using Error::Error;
};

/// What all calls of a precision share: the runtime, and how arrays become matrices.
template <class T>
class Operands {
  public:
    Operands(Runtime& runtime, const Call& call) : runtime_(runtime), call_(call) { require_gpus(); }

    Runtime& runtime() const { return runtime_; }
    static constexpr char precision = sizeof(T) == sizeof(float) ? 's' : 'd';
    bool on_gpu() const { return call_.a.memory.on_gpu; }

    /// A factorization of the m x n array A.
    FactorProblem problem(Index m, Index n) const {
        return {.m = m, .n = n, .precision = precision, .on_gpus = on_gpu(), .without_cpu = on_gpu()};
    }
    /// Where matrices are converted: at the array, on all GPUs, or on the cores.
    Place place(const MatrixArgument& array, FactorMode mode) const {
        if (array.memory.on_gpu) return Place::gpu(array.memory.gpu);
        return mode == FactorMode::cpu ? Place::cpu() : Place::any();
    }

    static View<T> columns(const MatrixArgument& array, Index m, Index n) {
        return View<T>::column_major(static_cast<T*>(array.data), m, n, array.ld);
    }
    /// The same elements where the rows are a column-major array's columns.
    static View<T> rows(const MatrixArgument& array, Index m, Index n) {
        return View<T>::row_major(static_cast<T*>(array.data), m, n, array.ld);
    }

    /// Right-hand sides in tiles as high as those of A, and no wider. `array`: B, or B^T where it is the host's.
    Matrix<T> right_hand_sides(View<T> array, TileShape tile) const {
        Matrix<T> b(runtime_, array.rows(), array.cols(), {tile.height, std::clamp<Index>(array.cols(), 1, tile.width)},
                    "B");
        b.load(array, place(call_.b, FactorMode::cpu));
        return b;
    }
    Matrix<T> right_hand_sides(Index m, Index n, TileShape tile) const {
        return right_hand_sides(columns(call_.b, m, n), tile);
    }
    /// Waits for everything. Afterwards store_right_hand_sides() copies within the host's memory, which cannot fail.
    void wait_for(const Matrix<T>& b) const {
        runtime_.wait();
        if (call_.b.memory.on_gpu) return;
        for (Index j = 0; j < b.tile_cols(); ++j) b.host_view(j);
    }
    void store_right_hand_sides(const Matrix<T>& b, View<T> array) const {
        b.store(array, place(call_.b, FactorMode::cpu));
        runtime_.wait();
    }
    void store_right_hand_sides(const Matrix<T>& b) const {
        store_right_hand_sides(b, columns(call_.b, b.rows(), b.cols()));
    }

    /// The diagonal of A, as a matrix of one row, which its memory allows: columns are ld + 1 elements apart.
    View<T> diagonal() const {
        return View<T>::column_major(static_cast<T*>(call_.a.data), 1, call_.n, call_.a.ld + 1);
    }
    Matrix<T> load_diagonal() const {
        Matrix<T> diagonal(runtime_, 1, call_.n, {}, "diagonal");
        diagonal.load(this->diagonal(), place(call_.a, FactorMode::cpu));
        return diagonal;
    }
    /// 0, or the number, counted from 1, of the first zero on the diagonal of A.
    Index first_zero_on_diagonal() const {
        const Matrix<T> diagonal = load_diagonal();
        Index number = 0;
        for (Index j = 0; j < diagonal.tile_cols(); ++j) {
            const View<T> part = diagonal.host_view(j);
            for (Index i = 0; i < part.cols(); ++i) {
                ++number;
                if (part(0, i) == T{0}) return number;
            }
        }
        return 0;
    }

    std::vector<T> tau(Index count) const { return read<T>(call_.tau, count); }
    void store_tau(const std::vector<T>& tau) const { write(tau, call_.tau); }

    /// IPIV in integers of the library's width.
    std::vector<Index> pivots(Index count) const {
        return call_.wide ? integers<std::int64_t, double>(count) : integers<std::int32_t, float>(count);
    }
    void store_pivots(const std::vector<Index>& pivots) const {
        if (call_.wide) {
            store_integers<std::int64_t, double>(pivots);
        } else {
            store_integers<std::int32_t, float>(pivots);
        }
    }

  private:
    void require_gpus() const {
        for (const MatrixArgument* const array : {&call_.a, &call_.b, &call_.x}) {
            if (!array->memory.on_gpu || array->memory.gpu < runtime_.gpus()) continue;
            throw Unsuited("an array is in the memory of GPU " + std::to_string(array->memory.gpu) +
                           "; the runtime uses " + std::to_string(runtime_.gpus()) + " GPUs");
        }
    }

    /// Numbers in the host's memory, or through a matrix of one row in a GPU's.
    template <class E>
    std::vector<E> read(const VectorArgument& vector, Index count) const {
        const auto* const data = static_cast<const E*>(vector.data);
        std::vector<E> result(static_cast<std::size_t>(count));
        if (vector.memory.host_can_use) {
            std::copy_n(data, count, result.begin());
            return result;
        }
        Matrix<E> row(runtime_, 1, count, {}, "vector");
        row.load(View<const E>::column_major(data, 1, count, 1), Place::gpu(vector.memory.gpu));
        row.store(View<E>::column_major(result.data(), 1, count, 1));
        runtime_.wait();
        return result;
    }
    template <class E>
    void write(const std::vector<E>& numbers, const VectorArgument& vector) const {
        auto* const data = static_cast<E*>(vector.data);
        if (vector.memory.host_can_use) {
            std::copy(numbers.begin(), numbers.end(), data);
            return;
        }
        const auto count = static_cast<Index>(numbers.size());
        Matrix<E> row(runtime_, 1, count, {}, "vector");
        row.load(View<const E>::column_major(numbers.data(), 1, count, 1));
        row.store(View<E>::column_major(data, 1, count, 1), Place::gpu(vector.memory.gpu));
        runtime_.wait();
    }

    /// Integers travel as the floating-point numbers with the same bits.
    template <class I, class Bits>
    std::vector<Index> integers(Index count) const {
        const std::vector<Bits> bits = read<Bits>(call_.pivots, count);
        std::vector<Index> result(bits.size());
        std::transform(bits.begin(), bits.end(), result.begin(), [](Bits b) { return std::bit_cast<I>(b); });
        return result;
    }
    template <class I, class Bits>
    void store_integers(const std::vector<Index>& numbers) const {
        std::vector<Bits> bits(numbers.size());
        std::transform(numbers.begin(), numbers.end(), bits.begin(),
                       [](Index number) { return std::bit_cast<Bits>(static_cast<I>(number)); });
        write(bits, call_.pivots);
    }

    Runtime& runtime_;
    const Call& call_;
};

}  // namespace basalt::lapack
