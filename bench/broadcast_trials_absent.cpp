// In the place of the trials where there is no CUDA.
#include "bench/broadcast_trials.hpp"

namespace bench {

const std::vector<std::string> trial_methods;
const bool has_trials = false;

std::unique_ptr<BroadcastTrials> make_broadcast_trials(int) {
    return nullptr;
}

}  // namespace bench
