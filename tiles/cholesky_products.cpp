#include "tiles/cholesky_products.hpp"

#include <algorithm>
#include <bit>
#include <span>

namespace basalt::detail {

namespace {

/// Puts products into batches in the order of their arrival. A batch is of one tile column or across tile columns, and
/// of one level of a recursion.
class BatchCollector {
  public:
    /// What the products of a batch have in common.
    enum class Batches : bool { within_columns, across_columns };
    explicit BatchCollector(Batches batches) : within_columns_(batches == Batches::within_columns) {}

    void add(std::size_t level, Index column, const BlockProduct& product) {
        for (std::size_t b = batches_.size(); b-- > 0;) {
            if (levels_[b] != level || !alike(batches_[b], column, product)) continue;
            if (!continues(batches_[b], column, product)) break;
            ++batches_[b].count;
            return;
        }
        batches_.push_back({column, product});
        levels_.push_back(level);
    }

    std::vector<ProductBatch> take() { return std::move(batches_); }

  private:
    bool alike(const ProductBatch& batch, Index column, const BlockProduct& product) const {
        const BlockProduct& first = batch.first;
        return first.end - first.row == product.end - product.row && first.width == product.width &&
               (within_columns_ ? column == batch.column : column > batch.column && product.col == first.col);
    }
    /// The distances to the second product become the batch's.
    static bool continues(ProductBatch& batch, Index column, const BlockProduct& next) {
        if (batch.count == 1) {
            batch.columns_apart = column - batch.column;
            batch.cols_apart = next.col - batch.first.col;
            batch.rows_apart = next.row - batch.first.row;
            batch.firsts_apart = next.first - batch.first.first;
            return true;
        }
        const BlockProduct expected = batch[batch.count];
        return column == batch.column_of(batch.count) && next.row == expected.row && next.col == expected.col &&
               next.first == expected.first;
    }

    bool within_columns_;
    std::vector<ProductBatch> batches_;
    std::vector<std::size_t> levels_;  ///< of the batches
};

/// A panel, and the number of its tile column in a list.
struct ListedPanel {
    Index column;
    Panel panel;
};

using PanelSpan = std::span<const ListedPanel>;

/// Rows [row, end) of some panels, a product for each tile column.
void add_rectangle(std::size_t level, Index row, Index end, PanelSpan panels, BatchCollector& batches) {
    for (std::size_t begin = 0; begin < panels.size();) {
        std::size_t last = begin;
        while (last + 1 < panels.size() && panels[last + 1].column == panels[begin].column) ++last;
        const Panel& first = panels[begin].panel;
        batches.add(level, panels[begin].column,
                    {row, end, first.col_begin, panels[last].panel.end() - first.first, first.first});
        begin = last + 1;
    }
}

/// Panels from their own rows to `end`.
void add_triangle(Index end, PanelSpan panels, BatchCollector& batches) {
    if (panels.empty()) return;
    if (panels.size() == 1) return add_rectangle(0, panels[0].panel.first, end, panels, batches);
    // halves of a power of two panels are cut like one another
    const PanelSpan left = panels.first(std::bit_floor(panels.size() - 1)), right = panels.subspan(left.size());
    const Index middle = right[0].panel.first;
    add_triangle(middle, left, batches);
    add_rectangle(left.size(), middle, end, left, batches);
    add_triangle(end, right, batches);
}

}  // namespace

std::vector<BlockProduct> upper_products(const std::vector<Panel>& panels, PanelRange rows, PanelRange columns) {
    if (rows.empty() || columns.empty()) return {};
    const auto panel = [&](int p) { return panels[static_cast<std::size_t>(p)]; };
    const Panel left = panel(columns.first), right = panel(columns.last - 1);
    std::vector<BlockProduct> products;
    if (const int above = std::min(rows.last, columns.first); rows.first < above) {
        products.push_back({panel(rows.first).first, panel(above - 1).end(), 0, right.col_end(), left.first});
    }
    const int begin = std::max(rows.first, columns.first);
    if (begin >= std::min(rows.last, columns.last)) return products;
    const Panel top = panel(begin);
    if (rows.last - begin == 1) {
        products.push_back({top.first, top.end(), top.col_begin, right.col_end() - top.col_begin, top.first});
        return products;
    }
    for (int p = begin; p < columns.last; ++p) {
        const Panel own = panel(p);
        products.push_back(
            {top.first, std::min(own.end(), panel(rows.last - 1).end()), own.col_begin, own.width, own.first});
    }
    return products;
}

std::vector<ProductBatch> lower_batches(const std::vector<Panel>& panels, Index rows,
                                        const std::vector<PanelRange>& columns) {
    std::vector<ListedPanel> own;
    for (std::size_t c = 0; c < columns.size(); ++c) {
        for (int p = columns[c].first; p < columns[c].last; ++p) {
            own.push_back({static_cast<Index>(c), panels[static_cast<std::size_t>(p)]});
        }
    }
    using Batches = BatchCollector::Batches;
    BatchCollector batches(own.size() > columns.size() * columns.size() ? Batches::within_columns
                                                                        : Batches::across_columns);
    add_triangle(rows, own, batches);
    return batches.take();
}

std::vector<ProductBatch> upper_batches(const std::vector<Panel>& panels, PanelRange rows,
                                        const std::vector<PanelRange>& columns) {
    BatchCollector batches(BatchCollector::Batches::across_columns);
    for (std::size_t c = 0; c < columns.size(); ++c) {
        for (const BlockProduct& product : upper_products(panels, rows, columns[c])) {
            batches.add(0, static_cast<Index>(c), product);
        }
    }
    return batches.take();
}

}  // namespace basalt::detail
