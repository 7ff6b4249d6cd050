#include "lapack/abi/settings.hpp"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace basalt::lapack {

namespace {

constinit Settings current;

void warn(const char* name, const char* value, const char* allowed) {
    std::fprintf(stderr, "basalt: %s = '%s' is ignored; allowed: %s\n", name, value, allowed);
}

void read_taking() {
    const char* const text = std::getenv("BASALT_LAPACK");
    if (text == nullptr || std::strcmp(text, "auto") == 0) return;
    if (std::strcmp(text, "off") == 0) {
        current.taking = Taking::none;
    } else if (std::strcmp(text, "always") == 0) {
        current.taking = Taking::all;
    } else {
        warn("BASALT_LAPACK", text, "off, auto, always");
    }
}

void read_threshold() {
    const char* const text = std::getenv("BASALT_LAPACK_THRESHOLD");
    if (text == nullptr) return;
    char* end = nullptr;
    const double number = std::strtod(text, &end);
    constexpr double largest = 1e9;
    if (end != text && *end == '\0' && number >= 1 && number <= largest) {
        current.threshold = number;
    } else {
        warn("BASALT_LAPACK_THRESHOLD", text, "an order of matrices, 1 to 1000000000");
    }
}

__attribute__((constructor)) void read_settings() {
    read_taking();
    read_threshold();
}

}  // namespace

const Settings& settings() { return current; }

}  // namespace basalt::lapack
