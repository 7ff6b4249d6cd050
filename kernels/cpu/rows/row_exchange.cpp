#include <algorithm>
#include <cassert>
#include <numeric>
#include <vector>

#include "kernels/on_stream/implement.hpp"
#include "kernels/on_stream/rows.hpp"

namespace basalt::on_stream {

// Before step k, row k holds the contents of a top row, held(k): those of row j where j is the last step
// before k that exchanged with row k, that is held(j); its own where there is none. So a row p that step k
// exchanges with holds held(q) for the last step q before k that exchanged with p, or else its own contents;
// and held(k) moves there.
void run_on_cpu(FindRowMoves, const Index* pivots, RowMoves moves) {
    const auto count = static_cast<std::size_t>(moves.count);
    std::vector<std::size_t> steps(count);  // in the order of the rows exchanged with, then in time
    std::iota(steps.begin(), steps.end(), std::size_t{0});
    std::stable_sort(steps.begin(), steps.end(), [&](std::size_t a, std::size_t b) { return pivots[a] < pivots[b]; });

    std::vector<Index> held(count, -1), previous(count, -1), last(count);
    for (std::size_t begin = 0, end = 0; begin < count; begin = end) {
        const Index row = pivots[steps[begin]];
        while (end < count && pivots[steps[end]] == row) ++end;
        for (std::size_t i = begin; i < end; ++i) {
            const auto step = static_cast<Index>(steps[i]);
            assert(step <= row);
            if (i > begin) previous[steps[i]] = static_cast<Index>(steps[i - 1]);
            last[steps[i]] = static_cast<Index>(steps[end - 1]);
            if (step < row && row < moves.count) held[static_cast<std::size_t>(row)] = step;
        }
    }
    for (std::size_t k = 0; k < count; ++k) {
        held[k] = held[k] < 0 ? static_cast<Index>(k) : held[static_cast<std::size_t>(held[k])];
    }
    for (std::size_t k = 0; k < count; ++k) {
        const bool untouched = previous[k] < 0;
        moves.top_source[k] = untouched ? pivots[k] : held[static_cast<std::size_t>(previous[k])];
        moves.refill[k] = untouched && pivots[k] >= moves.count ? held[static_cast<std::size_t>(last[k])] : -1;
    }
}

template <class T>
void run_on_cpu(ExchangeRows<T>, RowMoves moves, TileColumns<T> a, TileColumns<T> w) {
    assert(w.rows == moves.count && w.columns == a.columns && w.width == a.width && moves.count <= a.rows);
    for (Index l = 0; l < a.columns; ++l) {
        const View<T> from = a.column(l), to = w.column(l);
        for (Index k = 0; k < moves.count; ++k) {
            T* const source = from.data() + moves.top_source[k] * a.ld;
            std::copy_n(source, a.width, to.data() + k * w.ld);
            if (moves.refill[k] >= 0) std::copy_n(from.data() + moves.refill[k] * a.ld, a.width, source);
        }
    }
}

template <>
const ExchangeRows<float>::Cpu Code<ExchangeRows<float>>::cpu = cpu_code<ExchangeRows<float>>;
template <>
const ExchangeRows<double>::Cpu Code<ExchangeRows<double>>::cpu = cpu_code<ExchangeRows<double>>;
template <>
const FindRowMoves::Cpu Code<FindRowMoves>::cpu = cpu_code<FindRowMoves>;

}  // namespace basalt::on_stream
