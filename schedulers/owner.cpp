#include "schedulers/owner.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace basalt::detail {

std::size_t Owner::choose(const TaskToPlace& task) {
    const auto most = std::max_element(task.offers.begin(), task.offers.end(), [](const auto& a, const auto& b) {
        return std::pair(a.written_bytes_there, a.bytes_there) < std::pair(b.written_bytes_there, b.bytes_there);
    });
    return static_cast<std::size_t>(std::distance(task.offers.begin(), most));
}

}  // namespace basalt::detail
