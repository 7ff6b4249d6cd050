// Columns dealt to GPUs in blocks.
#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "tests/catch.hpp"
#include "tiles/dealt_columns.hpp"

using namespace basalt;

namespace {

/// By dealing block after block: what each GPU holds, in its order.
std::vector<std::vector<Index>> dealt_one_by_one(Index cols, Index block, int gpus) {
    std::vector<std::vector<Index>> hands(static_cast<std::size_t>(gpus));
    std::size_t turn = 0;
    for (Index j = 0; j < cols; j += block, turn = (turn + 1) % hands.size()) {
        for (Index c = j; c < std::min(j + block, cols); ++c) hands[turn].push_back(c);
    }
    return hands;
}

const DealtColumns shapes[] = {{0, 4, 2},     {1, 4, 3},    {7, 1, 3},   {8, 4, 2},  {9, 4, 2},
                               {611, 256, 2}, {50, 100, 4}, {100, 7, 1}, {97, 8, 5}, {96, 8, 4}};

}  // namespace

TEST_CASE("each column is where dealing block after block puts it") {
    for (const DealtColumns& columns : shapes) {
        const auto hands = dealt_one_by_one(columns.cols(), columns.block(), columns.gpus());
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
}

TEST_CASE("room is of whole blocks and no more than a block beyond an even share") {
    for (const DealtColumns& columns : shapes) {
        CHECK(columns.room() % columns.block() == 0);
        CHECK(columns.room() * columns.gpus() < columns.cols() + columns.block() * columns.gpus());
    }
}

TEST_CASE("blocks follow each other from the first column to the last") {
    for (const DealtColumns& columns : shapes) {
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
    for (const DealtColumns& a : shapes) {
        for (const auto& [block, gpus] : {std::pair{Index{1}, 2}, {Index{3}, 1}, {Index{8}, 4}, {Index{1000}, 1}}) {
            const DealtColumns b(a.cols(), block, gpus);
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
