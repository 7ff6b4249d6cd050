#include "lapack/abi/enter.hpp"

#include <cstdio>
#include <cstdlib>

namespace basalt::lapack {

void tell_size(const Described& d) {
    if (d.work == nullptr) return;
    if (d.call.is_double) {
        *static_cast<double*>(d.work) = static_cast<double>(d.least_work);
    } else {
        *static_cast<float*>(d.work) = static_cast<float>(d.least_work);
    }
}

void execute_without_behind(const char* symbol, Described& d) {
    char reason[256] = "";
    if (!d.asks_size && !execute(d.call, reason, sizeof reason)) {
        std::fprintf(stderr, "basalt: %s failed (%s), and there is no other LAPACK in this process\n", symbol, reason);
        std::abort();
    }
    tell_size(d);
}

}  // namespace basalt::lapack
