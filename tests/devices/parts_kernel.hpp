#pragma once

#include <cstdint>

#include "basalt/device.hpp"
#include "basalt/view.hpp"

namespace basalt_tests {

/// What a task of a random program on blocks does: `salt` and all that it reads go into what it changes and writes.
struct PartsWork {
    using Word = std::uint32_t;
    static constexpr int most_views = 9;

    struct Elements {
        Word* data;
        basalt::Index rows, cols, row_stride, col_stride;
    };
    Word salt = 0;
    int reads = 0, changes = 0, writes = 0;
    Elements views[3 * most_views];  ///< those that are read, changed and written, in this order
};

/// Does the work on a real GPU, by one thread.
void launch_parts_work(basalt::Stream stream, const PartsWork& work);

}  // namespace basalt_tests
