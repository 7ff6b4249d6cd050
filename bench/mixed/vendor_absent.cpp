#include "bench/mixed/vendor.hpp"

namespace bench {

std::vector<VendorRun> vendor_refinement(basalt::Index, basalt::Index, int, const basalt::Generator<double>&,
                                         const std::vector<double>&) {
    return {};
}

}  // namespace bench
