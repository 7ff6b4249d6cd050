#pragma once

#include <string_view>

#include <basalt/view.hpp>

namespace basalt::generators {

struct Zero {
    static constexpr std::string_view name = "zero";

    constexpr double operator()(Index, Index) const { return 0; }
};

struct Identity {
    static constexpr std::string_view name = "identity";

    constexpr double operator()(Index i, Index j) const { return i == j ? 1 : 0; }
};

}  // namespace basalt::generators
