#pragma once

#include "kernels/cuda/common/device_code.hpp"
#include "kernels/cuda/qr/leaf_data.hpp"

/// Elimination, inverse and product of matrices of a leaf's order by one block, written without CUDA so that a test can
/// run it on the host: `Thread` is a thread of the block (`number`, `sync()`, and `all()`, which is sync() and says
/// whether all threads said yes). Matrices are 64 x 64, smaller ones filled up with the unit matrix. A thread
/// has a patch of 4 x 4 elements in registers, 16 rows and 16 columns apart.
namespace basalt::cuda_detail {

constexpr int leaf_order = qr_leaf_width;
constexpr int leaf_threads = 256;
constexpr int patch_step = 16;  // threads on a side
constexpr int patch_size = leaf_order / patch_step;
constexpr int square_ld = leaf_order + 1;

template <class T>
struct Patch {
    T at[patch_size][patch_size];
};

/// A thread's place: rows row(p) and columns col(q).
struct PatchPlace {
    int first_row, first_col;
    BASALT_DEVICE explicit PatchPlace(int thread) : first_row(thread / patch_step), first_col(thread % patch_step) {}
    BASALT_DEVICE int row(int p) const { return first_row + p * patch_step; }
    BASALT_DEVICE int col(int q) const { return first_col + q * patch_step; }
};

/// visit(i, j, p, q) for the elements of a patch.
template <class F>
BASALT_DEVICE void for_patch(const PatchPlace& place, F visit) {
    BASALT_UNROLL
    for (int p = 0; p < patch_size; ++p) {
        BASALT_UNROLL
        for (int q = 0; q < patch_size; ++q) visit(place.row(p), place.col(q), p, q);
    }
}

/// A 64 x 64 matrix in shared memory.
template <class T>
struct Square {
    T* at;
    BASALT_DEVICE T& operator()(int i, int j) const { return at[i * square_ld + j]; }
};

/// Two steps' rows and columns for all threads, in alternation.
template <class T>
struct StepLines {
    T row[2][2][leaf_order], unit_row[2][2][leaf_order], column[2][2][leaf_order];
};

/// What the elimination found of the diagonal.
template <class T>
struct Pivots {
    T value[leaf_order], inverse[leaf_order], sign[leaf_order];
};

/// A = L U: U above and on the diagonal of `a`, the multipliers of L below it, L^-1 in `unit`. With
/// `signed_pivots`, S = diag(-sign of the pivots) is subtracted from A as it goes, so that no pivot is below
/// 1; U's diagonal then is in pivots.value only. False where a pivot is not above zero (signed: in
/// magnitude). One meeting for two columns: all threads take the first one's step with the second one's row
/// and column for themselves.
template <class T, class Thread>
BASALT_DEVICE bool eliminate(const Thread& thread, const PatchPlace& place, Patch<T>& a, Patch<T>& unit,
                             bool signed_pivots, StepLines<T>& lines, Pivots<T>& pivots) {
    for_patch(place, [&](int i, int j, int p, int q) { unit.at[p][q] = i == j ? T{1} : T{0}; });
    bool good = true;
    const auto pivot_of = [&](int j, T diagonal) {
        const T sign = diagonal >= 0 ? T{-1} : T{1}, pivot = signed_pivots ? diagonal - sign : diagonal;
        const T inverse = T{1} / pivot;
        good = good && (signed_pivots || pivot > 0);
        if (thread.number == 0) {
            pivots.value[j] = pivot;
            pivots.inverse[j] = inverse;
            pivots.sign[j] = sign;
        }
        return inverse;
    };
    BASALT_UNROLL
    for (int block = 0; block < patch_size; ++block) {
        for (int inner = 0; inner < patch_step; inner += 2) {
            const int j = block * patch_step + inner, parity = j / 2 % 2;
            if (place.first_row / 2 * 2 == inner) {
                const int which = place.first_row % 2;
                BASALT_UNROLL
                for (int q = block; q < patch_size; ++q) lines.row[parity][which][place.col(q)] = a.at[block][q];
                BASALT_UNROLL
                for (int q = 0; q <= block; ++q) lines.unit_row[parity][which][place.col(q)] = unit.at[block][q];
            }
            if (place.first_col / 2 * 2 == inner) {
                BASALT_UNROLL
                for (int p = block; p < patch_size; ++p) {
                    lines.column[parity][place.first_col % 2][place.row(p)] = a.at[p][block];
                }
            }
            thread.sync();
            const auto& row = lines.row[parity];
            const auto& unit_row = lines.unit_row[parity];
            const auto& column = lines.column[parity];
            const T first_inverse = pivot_of(j, row[0][j]), between = column[0][j + 1] * first_inverse;
            const T second_inverse = pivot_of(j + 1, row[1][j + 1] - between * row[0][j + 1]);
            T first[patch_size], second[patch_size];  // multipliers
            BASALT_UNROLL
            for (int p = block; p < patch_size; ++p) {
                const int i = place.row(p);
                first[p] = i > j ? column[0][i] * first_inverse : T{0};
                second[p] = i > j + 1 ? (column[1][i] - first[p] * row[0][j + 1]) * second_inverse : T{0};
            }
            BASALT_UNROLL
            for (int q = block; q < patch_size; ++q) {
                // left of the pivots are multipliers, which stay
                const int c = place.col(q);
                const T above = c > j ? row[0][c] : T{0}, next = c > j + 1 ? row[1][c] - between * above : T{0};
                BASALT_UNROLL
                for (int p = block; p < patch_size; ++p) a.at[p][q] -= first[p] * above + second[p] * next;
            }
            BASALT_UNROLL
            for (int q = 0; q <= block; ++q) {  // right of the pivots the unit matrix's rows are zero
                const int c = place.col(q);
                const T above = unit_row[0][c], next = unit_row[1][c] - between * above;
                BASALT_UNROLL
                for (int p = block; p < patch_size; ++p) unit.at[p][q] -= first[p] * above + second[p] * next;
            }
            if (place.first_col / 2 * 2 == inner) {
                const bool is_second = place.first_col % 2 == 1;
                BASALT_UNROLL
                for (int p = block; p < patch_size; ++p) {
                    if (place.row(p) > j + (is_second ? 1 : 0)) a.at[p][block] = is_second ? second[p] : first[p];
                }
            }
        }
    }
    thread.sync();  // the pivots
    return good;
}

/// X = U^-1 for U as eliminate() leaves it, from the last two rows up.
template <class T, class Thread>
BASALT_DEVICE void invert_upper(const Thread& thread, const PatchPlace& place, const Patch<T>& u, Patch<T>& x,
                                StepLines<T>& lines, const Pivots<T>& pivots) {
    for_patch(place, [&](int i, int j, int p, int q) { x.at[p][q] = i == j ? T{1} : T{0}; });
    BASALT_UNROLL
    for (int block = patch_size - 1; block >= 0; --block) {
        for (int inner = patch_step - 2; inner >= 0; inner -= 2) {
            const int j = block * patch_step + inner, parity = j / 2 % 2;
            const bool own = place.first_row / 2 * 2 == inner;
            const int which = place.first_row % 2;
            if (own) {
                BASALT_UNROLL
                for (int q = block; q < patch_size; ++q) lines.row[parity][which][place.col(q)] = x.at[block][q];
            }
            if (place.first_col / 2 * 2 == inner) {
                BASALT_UNROLL
                for (int p = 0; p <= block; ++p)
                    lines.column[parity][place.first_col % 2][place.row(p)] = u.at[p][block];
            }
            thread.sync();
            const auto& column = lines.column[parity];
            const T between = column[1][j];
            T first[patch_size], second[patch_size];
            BASALT_UNROLL
            for (int p = 0; p <= block; ++p) {
                const int i = place.row(p);
                first[p] = i < j ? column[0][i] : T{0};
                second[p] = i < j ? column[1][i] : T{0};
            }
            BASALT_UNROLL
            for (int q = block; q < patch_size; ++q) {
                const T below = lines.row[parity][1][place.col(q)] * pivots.inverse[j + 1],
                        above = (lines.row[parity][0][place.col(q)] - between * below) * pivots.inverse[j];
                BASALT_UNROLL
                for (int p = 0; p <= block; ++p) x.at[p][q] -= first[p] * above + second[p] * below;
                if (own) x.at[block][q] = which == 0 ? above : below;
            }
        }
    }
}

/// A B, of matrices that all threads have written, which may be upper triangular.
template <bool a_upper, bool b_upper, class T>
BASALT_DEVICE Patch<T> multiply(const PatchPlace& place, Square<T> a, Square<T> b) {
    Patch<T> sums = {};
    BASALT_UNROLL
    for (int block = 0; block < patch_size; ++block) {
        const int rows = a_upper ? block + 1 : patch_size, first_col = b_upper ? block : 0;
        for (int inner = 0; inner < patch_step; ++inner) {
            const int l = block * patch_step + inner;
            T left[patch_size];
            BASALT_UNROLL
            for (int p = 0; p < rows; ++p) left[p] = a(place.row(p), l);
            BASALT_UNROLL
            for (int q = first_col; q < patch_size; ++q) {
                const T right = b(l, place.col(q));
                BASALT_UNROLL
                for (int p = 0; p < rows; ++p) sums.at[p][q] += left[p] * right;
            }
        }
    }
    return sums;
}

}  // namespace basalt::cuda_detail
