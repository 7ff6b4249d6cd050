// Columns dealt to GPUs in blocks.
#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "tests/common/catch.hpp"
#include "tiles/dealt_columns.hpp"

using namespace basalt;

namespace {

/// Deals block after block in rounds, each of which starts `further` GPUs after the previous one: the blocks that each
/// GPU holds, in its order.
std::vector<std::vector<Index>> dealt_one_by_one(Index cols, Index block, std::size_t gpus, std::size_t further) {
    std::vector<std::vector<Index>> hands(gpus);
    std::size_t first = 0, dealt = 0;
    for (Index j = 0; j < cols; j += block) {
        for (Index c = j; c < std::min(j + block, cols); ++c) hands[(first + dealt) % gpus].push_back(c);
        if (++dealt == gpus) first += further, dealt = 0;
    }
    return hands;
}

struct Shape {
    Index cols, block;
    int gpus;
};
constexpr Shape shapes[] = {{0, 4, 2},     {1, 4, 3},    {7, 1, 3},   {8, 4, 2},  {9, 4, 2},  {64, 1, 8},
                            {611, 256, 2}, {50, 100, 4}, {100, 7, 1}, {97, 8, 5}, {96, 8, 4}, {31, 2, 4}};

std::vector<DealtColumns> all_dealt() {
    std::vector<DealtColumns> dealt;
    for (const Shape& s : shapes) {
        dealt.emplace_back(s.cols, s.block, ColumnDeal(Deal::cyclic, s.gpus));
        dealt.emplace_back(s.cols, s.block, ColumnDeal(Deal::balanced, s.gpus));
    }
    return dealt;
}

void check_hands(const DealtColumns& columns, const std::vector<std::vector<Index>>& hands) {
    Index seen = 0;
    for (std::size_t gpu = 0; gpu < hands.size(); ++gpu) {
        CHECK(static_cast<Index>(hands[gpu].size()) <= columns.room());
        for (std::size_t k = 0; k < hands[gpu].size(); ++k, ++seen) {
            CHECK(columns.gpu_of(hands[gpu][k]) == static_cast<int>(gpu));
            CHECK(columns.number_there(hands[gpu][k]) == static_cast<Index>(k));
        }
    }
    CHECK(seen == columns.cols());
}

}  // namespace

TEST_CASE("each column is where dealing block after block puts it") {
    for (const Shape& s : shapes) {
        const auto gpus = static_cast<std::size_t>(s.gpus);
        check_hands({s.cols, s.block, ColumnDeal(Deal::cyclic, s.gpus)}, dealt_one_by_one(s.cols, s.block, gpus, 0));
        check_hands({s.cols, s.block, ColumnDeal(Deal::balanced, s.gpus)},
                    dealt_one_by_one(s.cols, s.block, gpus, s.gpus > 2 ? 1 : 0));
    }
}

TEST_CASE("a balanced deal gives no GPU two columns in a row, and all the same sum of positions") {
    for (const int gpus : {2, 3, 4, 5, 8}) {
        const ColumnDeal deal(Deal::balanced, gpus);
        const Index cols = 3 * gpus * gpus;
        std::vector<Index> sums(static_cast<std::size_t>(gpus));
        for (Index j = 0; j < cols; ++j) {
            CHECK(deal.gpu_of(j) != deal.gpu_of(j + 1));
            sums[static_cast<std::size_t>(deal.gpu_of(j))] += j;
        }
        if (gpus > 2) CHECK(std::count(sums.begin(), sums.end(), sums.front()) == gpus);
    }
}

TEST_CASE("the columns of a GPU between two are those that it is dealt, in order") {
    for (const int gpus : {1, 3, 4}) {
        const ColumnDeal deal(Deal::balanced, gpus);
        for (Index begin = 0; begin < 20; ++begin) {
            std::vector<Index> all;
            for (int gpu = 0; gpu < gpus; ++gpu) {
                const std::vector<Index> own = deal.of_gpu(gpu, begin, 20);
                CHECK(std::is_sorted(own.begin(), own.end()));
                for (const Index j : own) CHECK(deal.gpu_of(j) == gpu);
                all.insert(all.end(), own.begin(), own.end());
            }
            std::sort(all.begin(), all.end());
            REQUIRE(static_cast<Index>(all.size()) == 20 - begin);
            for (std::size_t i = 0; i < all.size(); ++i) CHECK(all[i] == begin + static_cast<Index>(i));
        }
    }
}

TEST_CASE("room is of whole blocks and no more than a block beyond an even share") {
    for (const DealtColumns& columns : all_dealt()) {
        CHECK(columns.room() % columns.block() == 0);
        CHECK(columns.room() * columns.gpus() < columns.cols() + columns.block() * columns.gpus());
    }
}

TEST_CASE("blocks follow each other from the first column to the last") {
    for (const DealtColumns& columns : all_dealt()) {
        Index next = 0;
        for_each_block(columns, [&](Index first, Index cols) {
            CHECK(first == next);
            CHECK(first % columns.block() == 0);
            CHECK(cols <= columns.block());
            next = first + cols;
            CHECK((next == columns.cols() || next % columns.block() == 0));
        });
        CHECK(next == columns.cols());
    }
}

TEST_CASE("common runs of two ways to deal lie together in both and end where one of them has to") {
    for (const DealtColumns& a : all_dealt()) {
        for (const auto& [block, gpus] : {std::pair{Index{1}, 2}, {Index{3}, 1}, {Index{8}, 4}, {Index{1000}, 1}}) {
            const DealtColumns b(a.cols(), block, ColumnDeal(Deal::cyclic, gpus));
            Index next = 0;
            for_each_common_run(a, b, [&](Index first, Index cols) {
                REQUIRE(cols > 0);
                CHECK(first == next);
                next = first + cols;
                for (const DealtColumns& dealt : {a, b}) {
                    CHECK(dealt.gpu_of(next - 1) == dealt.gpu_of(first));
                    CHECK(dealt.number_there(next - 1) == dealt.number_there(first) + cols - 1);
                }
                CHECK((next == a.cols() || next % a.block() == 0 || next % b.block() == 0));
            });
            CHECK(next == a.cols());
        }
    }
}
