#include "lapack/abi/xerbla.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdio>

#include "lapack/abi/behind.hpp"
#include "lapack/abi/rule.hpp"

namespace basalt::lapack {

namespace {

template <class I>
void call_function(void* function, const char* name, std::size_t length, int argument) {
    const I number = argument;
    reinterpret_cast<void (*)(const char*, const I*, std::size_t)>(function)(name, &number, length);
}

}  // namespace

void call_xerbla(const char* spelling, const void* caller, const Call& call, int argument) {
    constexpr std::size_t length = 6;  // LAPACK pads "DGESV"
    char name[length + 1];
    const bool whole = call.routine == Routine::dsgesv || call.routine == Routine::dsposv;
    const char* const precision = whole ? "" : call.is_double ? "D" : "S";
    std::snprintf(name, sizeof name, "%s%-6s", precision, name_of(call.routine));
    for (char& letter : name) {
        if ('a' <= letter && letter <= 'z') letter = char(letter - 32);
    }
    void* const function = find_xerbla(spelling, caller);
    if (function == nullptr) {
        std::fprintf(stderr, " ** On entry to %s parameter number %2d had an illegal value\n", name, argument);
    } else if (call.wide) {
        call_function<std::int64_t>(function, name, length, argument);
    } else {
        call_function<std::int32_t>(function, name, length, argument);
    }
}

}  // namespace basalt::lapack
