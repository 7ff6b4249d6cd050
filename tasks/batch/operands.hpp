#pragma once

#include <string>

#include <basalt/batch.hpp>
#include <basalt/error.hpp>

/// Checks of the operands of batches. They throw UsageError with the call, the operand and, where shapes may differ,
/// the number of the matrix.
namespace basalt::detail {

template <class T>
void check_batch(const char* call, const char* name, const BatchView<T>& batch);

/// check_batch(), and that matrices are square.
template <class T>
void check_square(const char* call, const char* name, const BatchView<T>& batch);

/// check_batch() for B, and that it has as many matrices as A, with as many rows.
template <class T>
void check_right_sides(const char* call, const BatchView<const T>& a, const BatchView<const T>& b);

/// Rows and columns of a matrix.
struct BatchExtent {
    Index rows, cols;
};

/// check_batch() for an operand that has a matrix for each of A's, with the extent(k) that A's matrix k demands.
template <class T, class A, class Extent>
void check_companions(const char* call, const char* name, const BatchView<const T>& batch, const BatchView<A>& a,
                      const Extent& extent) {
    check_batch(call, name, batch);
    const Index count = a.count();
    if (batch.count() != count) {
        throw UsageError(std::string(call) + ": " + name + " has " + std::to_string(batch.count()) +
                         " matrices; allowed are as many as A has, " + std::to_string(count));
    }
    for (Index k = 0; k < (a.uniform() && batch.uniform() && count > 0 ? 1 : count); ++k) {
        const View<const T> matrix = batch[k];
        const BatchExtent wanted = extent(k);
        if (matrix.rows() == wanted.rows && matrix.cols() == wanted.cols) continue;
        throw UsageError(std::string(call) + ": matrix " + std::to_string(k) + " of " + name + " is " +
                         std::to_string(matrix.rows()) + " x " + std::to_string(matrix.cols()) +
                         "; allowed is, for this matrix of A, " + std::to_string(wanted.rows) + " x " +
                         std::to_string(wanted.cols));
    }
}

/// That INFO has an element for each matrix.
void check_info(const char* call, Index count, Index info);

// The same for batches in a GPU's memory, which are not looked at: the shape of the batch, or the bounds of a list, has
// to be allowed.

/// check_batch() for what a host may look at: not the elements of a list, which has bounds.
template <class T>
void check_device_batch(const char* call, const char* name, const BatchView<T>& batch);

/// check_device_batch() for an operand that has as many matrices as A, of this extent.
template <class T>
void check_device_companions(const char* call, const char* name, const BatchView<const T>& batch, Index count,
                             const BatchExtent& extent) {
    check_device_batch(call, name, batch);
    const View<const T>& own = batch.shape();
    if (batch.count() == count && (count == 0 || (own.rows() == extent.rows && own.cols() == extent.cols))) return;
    throw UsageError(std::string(call) + ": " + name + " has " + std::to_string(batch.count()) + " matrices of " +
                     std::to_string(own.rows()) + " x " + std::to_string(own.cols()) +
                     "; allowed are as many as A has, " + std::to_string(count) + " of " + std::to_string(extent.rows) +
                     " x " + std::to_string(extent.cols));
}

/// "the matrices of A are 3 x 4"; of a list its bounds.
template <class T>
std::string shape_text(const char* name, const BatchView<T>& batch) {
    return std::string("the ") + (batch.uniform() ? "matrices" : "bounds") + " of " + name + " are " +
           std::to_string(batch.shape().rows()) + " x " + std::to_string(batch.shape().cols());
}

template <class T>
void check_device_square(const char* call, const char* name, const BatchView<T>& batch);

template <class T>
void check_device_right_sides(const char* call, const BatchView<const T>& a, const BatchView<const T>& b);

}  // namespace basalt::detail
