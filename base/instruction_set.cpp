#include "base/instruction_set.hpp"

#include <string_view>

namespace basalt {

bool runs_instruction_set(const char* name) {
    const std::string_view wanted(name);
#if defined(__x86_64__)
    const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    if (wanted == "avx512") return avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl");
    if (wanted == "avx2") return avx2;
#endif
    return wanted == "generic";
}

const char* widest_instruction_set() {
    for (const char* name : {"avx512", "avx2"}) {
        if (runs_instruction_set(name)) return name;
    }
    return "generic";
}

}  // namespace basalt
