// The exported symbols: each routine in its precisions and four spellings.
#include <cstdint>

#include "lapack/abi/enter.hpp"

// A template cannot have a symbol of a chosen name, so macros write the functions; routines.inc has the declarations.
// NOLINTBEGIN(bugprone-macro-parentheses): parameter lists come in parentheses, and names cannot have any
#define BASALT_TEXT(x) #x
#define BASALT_ENTRY(symbol, xerbla, routine, parameters, arguments)                                  \
    static constinit Entry entry_of_##routine{BASALT_TEXT(symbol), BASALT_TEXT(xerbla)};              \
    extern "C" __attribute__((visibility("default"))) void symbol parameters {                        \
        enter<I>(entry_of_##routine, __builtin_return_address(0), describe_##routine<T, I> arguments, \
                 BASALT_UNPACK arguments);                                                            \
    }
#define BASALT_UNPACK(...) __VA_ARGS__
// NOLINTEND(bugprone-macro-parentheses)

namespace basalt::lapack {

namespace single_32 {
using T = float;
using I = std::int32_t;
#define ROUTINE(name, parameters, arguments) BASALT_ENTRY(s##name##_, xerbla_, name, parameters, arguments)
#define MIXED(name, parameters, arguments)
#include "lapack/abi/routines.inc"
#undef MIXED
#undef ROUTINE
}  // namespace single_32

namespace double_32 {
using T = double;
using I = std::int32_t;
#define ROUTINE(name, parameters, arguments) BASALT_ENTRY(d##name##_, xerbla_, name, parameters, arguments)
#define MIXED(name, parameters, arguments) BASALT_ENTRY(name##_, xerbla_, name, parameters, arguments)
#include "lapack/abi/routines.inc"
#undef MIXED
#undef ROUTINE
}  // namespace double_32

namespace single_64 {
using T = float;
using I = std::int64_t;
#define ROUTINE(name, parameters, arguments) BASALT_ENTRY(s##name##_64_, xerbla_64_, name, parameters, arguments)
#define MIXED(name, parameters, arguments)
#include "lapack/abi/routines.inc"
#undef MIXED
#undef ROUTINE
}  // namespace single_64

namespace double_64 {
using T = double;
using I = std::int64_t;
#define ROUTINE(name, parameters, arguments) BASALT_ENTRY(d##name##_64_, xerbla_64_, name, parameters, arguments)
#define MIXED(name, parameters, arguments) BASALT_ENTRY(name##_64_, xerbla_64_, name, parameters, arguments)
#include "lapack/abi/routines.inc"
#undef MIXED
#undef ROUTINE
}  // namespace double_64

// The names of the OpenBLAS that the wheels of NumPy and SciPy bring.

namespace scipy_single_32 {
using T = float;
using I = std::int32_t;
#define ROUTINE(name, parameters, arguments) BASALT_ENTRY(scipy_s##name##_, scipy_xerbla_, name, parameters, arguments)
#define MIXED(name, parameters, arguments)
#include "lapack/abi/routines.inc"
#undef MIXED
#undef ROUTINE
}  // namespace scipy_single_32

namespace scipy_double_32 {
using T = double;
using I = std::int32_t;
#define ROUTINE(name, parameters, arguments) BASALT_ENTRY(scipy_d##name##_, scipy_xerbla_, name, parameters, arguments)
#define MIXED(name, parameters, arguments) BASALT_ENTRY(scipy_##name##_, scipy_xerbla_, name, parameters, arguments)
#include "lapack/abi/routines.inc"
#undef MIXED
#undef ROUTINE
}  // namespace scipy_double_32

namespace scipy_single_64 {
using T = float;
using I = std::int64_t;
#define ROUTINE(name, parameters, arguments) \
    BASALT_ENTRY(scipy_s##name##_64_, scipy_xerbla_64_, name, parameters, arguments)
#define MIXED(name, parameters, arguments)
#include "lapack/abi/routines.inc"
#undef MIXED
#undef ROUTINE
}  // namespace scipy_single_64

namespace scipy_double_64 {
using T = double;
using I = std::int64_t;
#define ROUTINE(name, parameters, arguments) \
    BASALT_ENTRY(scipy_d##name##_64_, scipy_xerbla_64_, name, parameters, arguments)
#define MIXED(name, parameters, arguments) \
    BASALT_ENTRY(scipy_##name##_64_, scipy_xerbla_64_, name, parameters, arguments)
#include "lapack/abi/routines.inc"
#undef MIXED
#undef ROUTINE
}  // namespace scipy_double_64

}  // namespace basalt::lapack
