#pragma once

// std::source_location for clang-tidy 14: libstdc++ declares it only where the compiler has the builtin behind it, and
// clang has that from version 16 on. Checks of the source need its interface, not its values.
#if defined(__clang__) && !__has_builtin(__builtin_source_location)
#include <cstdint>

namespace std {
struct source_location {
    static constexpr source_location current() noexcept { return {}; }
    constexpr uint_least32_t line() const noexcept { return 0; }
    constexpr uint_least32_t column() const noexcept { return 0; }
    constexpr const char* file_name() const noexcept { return ""; }
    constexpr const char* function_name() const noexcept { return ""; }
};
}  // namespace std
#endif
