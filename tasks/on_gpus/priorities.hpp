#pragma once

namespace basalt::detail {

/// Priority of tasks on GPUs that others wait for: streams of high priority. Those of panels are one higher.
inline constexpr int urgent = 1;

/// Priority of step k's other tasks on GPUs: older steps first, below everything that is urgent.
constexpr int after_urgent(int k) { return -k - 1; }

}  // namespace basalt::detail
