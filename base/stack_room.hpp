#pragma once

namespace basalt::detail {

/// Whether little of the calling thread's stack is left: less than 256 KiB, or than a quarter of a smaller stack. False
/// where the system does not tell.
bool stack_ends_soon();

}  // namespace basalt::detail
