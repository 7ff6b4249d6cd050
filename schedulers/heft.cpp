#include "schedulers/heft.hpp"

#include <algorithm>
#include <iterator>
#include <tuple>

namespace basalt::detail {

namespace {

bool known(const PlaceOffer& offer) { return offer.seconds.has_value(); }

/// The least finish; of equals where most of what it writes is, then most of the rest.
bool better(const PlaceOffer& a, const PlaceOffer& b) {
    const auto rank = [](const PlaceOffer& offer) {
        const double finish = std::max(offer.free_in, offer.data_in) + offer.seconds.value_or(0);
        // larger is better, smaller finish too
        return std::tuple(-finish, offer.written_bytes_there, offer.bytes_there);
    };
    return rank(a) > rank(b);
}

}  // namespace

std::size_t Heft::choose(const TaskToPlace& task) {
    const auto& offers = task.offers;
    const auto index = [&](auto offer) { return static_cast<std::size_t>(std::distance(offers.begin(), offer)); };
    const auto best = [&](auto begin) {
        return index(std::min_element(begin, offers.end(), [](const auto& a, const auto& b) { return better(a, b); }));
    };
    if (std::all_of(offers.begin(), offers.end(), known)) return best(offers.begin());
    const auto untried = std::find_if(offers.begin(), offers.end(),
                                      [](const PlaceOffer& offer) { return !known(offer) && offer.tried == 0; });
    if (untried != offers.end()) return index(untried);
    // the first runs are on their way
    const auto gpu =
        std::find_if(offers.begin(), offers.end(), [](const PlaceOffer& offer) { return offer.place.is_gpu(); });
    return best(gpu != offers.end() ? gpu : offers.begin());
}

}  // namespace basalt::detail
