#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "basalt/view.hpp"

namespace basalt::detail {

struct Datum;

/// Cuts of an array's rows and columns: they ascend, and the first and the last one are its borders.
struct Cuts {
    std::vector<Index> rows;
    std::vector<Index> cols;

    std::size_t block_rows() const { return rows.size() - 1; }
    std::size_t block_cols() const { return cols.size() - 1; }
};

/// Rows and columns of an array.
struct ArrayPart {
    Index row_begin;
    Index row_end;
    Index col_begin;
    Index col_end;
};

/// All the ways in which an array is cut into blocks at present. Not synchronised: the lock of the array's home order
/// guards it.
class Partitions {
  public:
    /// The blocks of one partition, row by row. They outlive this object or are removed before.
    void add(Cuts cuts, std::vector<Datum*> blocks);
    /// Forgets a block that is there.
    void remove(const Datum* block);
    /// visit(block) for each block that has an element of the part.
    template <class F>
    void for_each_in(const ArrayPart& part, const F& visit) const {
        for (const Partition& p : partitions_) {
            const auto [first_row, last_row] = range_of(p.cuts.rows, part.row_begin, part.row_end);
            const auto [first_col, last_col] = range_of(p.cuts.cols, part.col_begin, part.col_end);
            for (std::size_t i = first_row; i < last_row; ++i) {
                for (std::size_t j = first_col; j < last_col; ++j) {
                    Datum* const block = p.blocks[i * p.cuts.block_cols() + j];
                    if (block != nullptr) visit(*block);
                }
            }
        }
    }
    /// visit(block) for each block.
    template <class F>
    void for_each(const F& visit) const {
        for (const Partition& p : partitions_) {
            for (Datum* block : p.blocks) {
                if (block != nullptr) visit(*block);
            }
        }
    }

  private:
    struct Partition {
        Cuts cuts;
        std::vector<Datum*> blocks;  ///< nullptr: was removed
        std::size_t left;            ///< that were not
    };

    /// The intervals between cuts that have an element in [begin, end), which is not empty.
    static std::pair<std::size_t, std::size_t> range_of(const std::vector<Index>& cuts, Index begin, Index end) {
        const auto first = std::upper_bound(cuts.begin(), cuts.end(), begin) - 1;
        const auto last = std::lower_bound(first, cuts.end(), end);
        return {static_cast<std::size_t>(first - cuts.begin()), static_cast<std::size_t>(last - cuts.begin())};
    }

    std::vector<Partition> partitions_;
};

}  // namespace basalt::detail
