// A wavefront: the edit distance of two texts, block by block. Each block needs its upper and its left neighbour, so
// that the blocks of an antidiagonal run at the same time. No code says so: it follows from what the tasks access.
#include <basalt/basalt.hpp>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <numeric>
#include <string>
#include <vector>

using basalt::Index;
using basalt::View;

namespace {

constexpr Index n = 4096, block = 256;  // letters of each text, and of a block's side

/// D(i, j), the distance of the first i letters of one text from the first j of the other, is the least of
/// D(i - 1, j) + 1, D(i, j - 1) + 1 and D(i - 1, j - 1) + (do letters i and j differ?). `above` has the row above the
/// block, `left` the column left of it with the corner before; they become the block's last row and last column.
void distances(const char* a, const char* b, View<int> above, View<int> left) {
    int corner = left[0];
    left[0] = above[above.size() - 1];
    for (Index i = 0; i + 1 < left.size(); ++i) {
        int diagonal = corner, west = left[i + 1];
        corner = west;
        for (Index j = 0; j < above.size(); ++j) {
            const int north = above[j];
            above[j] = west = std::min(std::min(north, west) + 1, diagonal + (a[i] != b[j] ? 1 : 0));
            diagonal = north;
        }
        left[i + 1] = west;
    }
}

/// A text of four letters: numbers of a linear congruential generator.
std::string text(unsigned seed) {
    std::string letters(n, ' ');
    for (char& letter : letters) letter = "ACGT"[(seed = seed * 1664525 + 1013904223) >> 30];
    return letters;
}

}  // namespace

int main() try {
    const std::string a = text(1), b = text(2);

    basalt::Runtime rt;
    std::vector<basalt::Array<int>> rows, columns;  // the front: a row for each column of blocks, and the reverse
    for (Index begin = 0; begin < n; begin += block) {
        rows.emplace_back(rt, block);
        columns.emplace_back(rt, block + 1);
        rt.submit({.name = "border"}, write(rows.back()), write(columns.back()),
                  [begin](View<int> row, View<int> column) {
                      std::iota(row.data(), row.data() + row.size(), static_cast<int>(begin) + 1);
                      std::iota(column.data(), column.data() + column.size(), static_cast<int>(begin));
                  });
    }
    for (Index i = 0; i < n; i += block) {
        for (Index j = 0; j < n; j += block) {
            rt.submit({.name = "distances"}, readwrite(rows[j / block]), readwrite(columns[i / block]),
                      [&a, &b, i, j](View<int> above, View<int> left) { distances(&a[i], &b[j], above, left); });
        }
    }
    rt.wait();
    const int result = rows.back().host_view()[block - 1];

    std::vector<int> row(n), column(n + 1);  // the same in one block
    std::iota(row.begin(), row.end(), 1);
    std::iota(column.begin(), column.end(), 0);
    distances(a.data(), b.data(), View<int>(row.data(), n), View<int>(column.data(), n + 1));
    std::printf("the edit distance is %d; in one block it is %d\n", result, row.back());
    return result == row.back() ? 0 : 1;
} catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
}
