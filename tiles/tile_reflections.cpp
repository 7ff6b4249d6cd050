#include "tiles/tile_reflections.hpp"

#include <algorithm>

namespace basalt {

namespace {

/// Rows [begin, end), reduced to one triangle.
struct Domain {
    Index begin;
    Index end;
};

/// Cut at multiples of `height` into blocks of at least `width` rows.
std::vector<Domain> cut_domains(Index first, Index rows, Index width, Index height) {
    std::vector<Domain> domains;
    for (Index begin = first; begin < rows;) {
        Index end = std::min(rows, (begin / height + 1) * height);
        while (end - begin < width && end < rows) end = std::min(rows, end + height);
        if (end - begin < width) {
            domains.back().end = rows;
        } else {
            domains.push_back({begin, end});
        }
        begin = end;
    }
    return domains;
}

}  // namespace

std::vector<TileReflection> tile_reflections(Index first, Index rows, Index width, Index height, Index domain_tiles) {
    using Kind = TileReflection::Kind;
    const bool one = domain_tiles == 0 || (rows - 1) / height / domain_tiles == 0;
    const std::vector<Domain> domains = cut_domains(first, rows, width, one ? rows : height * domain_tiles);
    std::vector<TileReflection> all;
    for (int d = 0; d < static_cast<int>(domains.size()); ++d) {
        const auto [top, end] = domains[static_cast<std::size_t>(d)];
        const auto border = [&, end = end](Index row) { return std::min(end, (row / height + 1) * height); };
        Index head = border(top);
        while (head - top < width) head = border(head);
        all.push_back({Kind::head, top, top, head, d, d});
        for (Index row = head; row < end; row = border(row)) all.push_back({Kind::square, top, row, border(row), d, d});
    }
    for (std::size_t apart = 1; apart < domains.size(); apart *= 2) {
        for (std::size_t d = 0; d + apart < domains.size(); d += 2 * apart) {
            const Index other = domains[d + apart].begin;
            all.push_back({Kind::triangle, domains[d].begin, other, other + width, static_cast<int>(d),
                           static_cast<int>(d + apart)});
        }
    }
    return all;
}

}  // namespace basalt
