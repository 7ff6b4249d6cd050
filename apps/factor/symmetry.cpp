#include "apps/factor/symmetry.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include <fmt/format.h>

namespace basalt {

namespace {

constexpr Index block_size = 128;

void merge(Asymmetry& all, const Asymmetry& part) {
    all.largest_element = std::max(all.largest_element, part.largest_element);
    if (!(part.largest_difference > all.largest_difference)) return;
    all.largest_difference = part.largest_difference;
    all.row = part.row;
    all.col = part.col;
}

/// Compares the block whose first element is (first, second) with its mirror image.
template <class T>
Asymmetry compare(const Generator<T>& matrix, Index first, Index second, View<T> block, View<T> mirrored) {
    matrix.fill(block, first, second);
    matrix.fill(mirrored, second, first);
    Asymmetry found;
    for (Index j = 0; j < block.cols(); ++j) {
        for (Index i = 0; i < block.rows(); ++i) {
            const auto one = static_cast<double>(block(i, j));
            const auto other = static_cast<double>(mirrored(j, i));
            merge(found, {std::max(std::abs(one), std::abs(other)), std::abs(one - other), first + i, second + j});
        }
    }
    return found;
}

/// Compares the blocks in rows [first, first + block_size) on the diagonal and to the right of it.
template <class T>
Asymmetry compare_rows(const Generator<T>& matrix, Index first) {
    std::vector<T> scratch(2 * block_size * block_size);
    const Index rows = std::min(block_size, matrix.rows() - first);
    Asymmetry found;
    for (Index second = first; second < matrix.cols(); second += block_size) {
        const Index cols = std::min(block_size, matrix.cols() - second);
        T* const other = scratch.data() + block_size * block_size;
        merge(found, compare(matrix, first, second, View<T>::column_major(scratch.data(), rows, cols, rows),
                             View<T>::column_major(other, cols, rows, cols)));
    }
    return found;
}

}  // namespace

std::string text_of(const Asymmetry& found) {
    return fmt::format("elements ({0}, {1}) and ({1}, {0}) differ by {2:.3g}", found.row + 1, found.col + 1,
                       found.largest_difference);
}

template <class T>
Asymmetry asymmetry(Runtime& runtime, const Generator<T>& matrix) {
    std::vector<Asymmetry> parts(static_cast<std::size_t>((matrix.rows() + block_size - 1) / block_size));
    for (Index part = 0; part < std::ssize(parts); ++part) {
        runtime.submit({.name = "symmetry"},
                       [&, part] { parts[static_cast<std::size_t>(part)] = compare_rows(matrix, part * block_size); });
    }
    runtime.wait();
    Asymmetry all;
    for (const Asymmetry& part : parts) merge(all, part);
    return all;
}

template Asymmetry asymmetry(Runtime&, const Generator<float>&);
template Asymmetry asymmetry(Runtime&, const Generator<double>&);

}  // namespace basalt
