#include "tiles/cholesky_products.hpp"

#include <algorithm>

namespace basalt::detail {

std::vector<BlockProduct> lower_products(const std::vector<Panel>& panels, Index rows, PanelRange columns) {
    if (columns.empty()) return {};
    const auto panel = [&](int p) { return panels[static_cast<std::size_t>(p)]; };
    const Panel first = panel(columns.first), last = panel(columns.last - 1);
    if (columns.last - columns.first == 1)
        return {{first.first, rows, first.col_begin, first.width, first.first}};
    std::vector<BlockProduct> products;
    for (int p = columns.first; p < columns.last; ++p) {
        const Panel own = panel(p);
        products.push_back({own.first, last.end(), own.col_begin, own.width, own.first});
    }
    if (last.end() < rows) {
        products.push_back({last.end(), rows, first.col_begin, last.end() - first.first, first.first});
    }
    return products;
}

std::vector<BlockProduct> upper_products(const std::vector<Panel>& panels, PanelRange rows,
                                         PanelRange columns) {
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
        products.push_back({top.first, std::min(own.end(), panel(rows.last - 1).end()), own.col_begin,
                            own.width, own.first});
    }
    return products;
}

}  // namespace basalt::detail
