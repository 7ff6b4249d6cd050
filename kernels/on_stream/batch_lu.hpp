#pragma once

#include <optional>

#include <basalt/batch_lu.hpp>
#include <basalt/batch_qr.hpp>

#include "kernels/on_stream/kernel.hpp"

/// LU and QR of batches in a device's memory. Arguments are checked by the callers: uniform or bounded batches, up to
/// largest_gpu_lu_order rows and columns, equal counts, shapes as in basalt/batch_lu.hpp and basalt/batch_qr.hpp.
namespace basalt::on_stream {

/// How a GPU treats matrices of more than 32 rows or columns.
struct BatchLuPlan {
    /// Columns of a panel, where all matrices have one shape: of LU in shared memory 8, 16 or 32; of geqrf up to 128
    /// rows 4, 8 or 16, up to 256 rows 8 or 16.
    int width = 16;
};

template <class T>
struct BatchGetrf
    : Kernel<BatchGetrf<T>, void(BatchView<T> a, std::optional<BatchView<Index>> pivots, Index* info, BatchLuPlan)> {};
/// getrf for each matrix, without pivoting where there are no pivots. Info has an element for each matrix.
template <class T>
inline constexpr BatchGetrf<T> batch_getrf{};

template <class T>
struct BatchGetrs : Kernel<BatchGetrs<T>, void(BatchView<const T> factors, std::optional<BatchView<const Index>> pivots,
                                               BatchView<T> b)> {};
/// getrs for each matrix.
template <class T>
inline constexpr BatchGetrs<T> batch_getrs{};

template <class T>
struct BatchGesv
    : Kernel<BatchGesv<T>, void(BatchView<T> a, BatchView<Index> pivots, BatchView<T> b, Index* info, BatchLuPlan)> {};
/// gesv for each matrix: in one pass up to order 32 with one right-hand side, otherwise in two kernels.
template <class T>
inline constexpr BatchGesv<T> batch_gesv{};

template <class T>
struct BatchGetri : Kernel<BatchGetri<T>, void(BatchView<const T> factors, BatchView<const Index> pivots,
                                               BatchView<T> inverse, Index* info)> {};
/// getri for each matrix, to another place.
template <class T>
inline constexpr BatchGetri<T> batch_getri{};

template <class T>
struct BatchGeqrf : Kernel<BatchGeqrf<T>, void(BatchView<T> a, BatchView<T> tau, BatchLuPlan)> {};
/// geqrf for each matrix.
template <class T>
inline constexpr BatchGeqrf<T> batch_geqrf{};

template <class T>
struct BatchOrgqr : Kernel<BatchOrgqr<T>, void(BatchView<T> a, BatchView<const T> tau)> {};
/// orgqr for each matrix, with as many reflectors as tau has rows.
template <class T>
inline constexpr BatchOrgqr<T> batch_orgqr{};

template <class T>
struct BatchGels : Kernel<BatchGels<T>, void(BatchView<T> a, BatchView<T> b, Index* info)> {};
/// gels for each matrix.
template <class T>
inline constexpr BatchGels<T> batch_gels{};

}  // namespace basalt::on_stream
