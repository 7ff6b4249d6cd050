#pragma once

namespace basalt {

/// The version of the headers, major.minor.patch. Before 1.0 a minor version may change the interface.
inline constexpr const char* version = "0.1.0";

}  // namespace basalt
