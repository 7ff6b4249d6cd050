#pragma once

namespace basalt::detail {

/// Has the cache line at the address fetched for writing. For x86-64, GCC makes __builtin_prefetch(address, 1) a
/// prefetch for reading unless the processor is named: the first write would fetch the line from the other core once
/// more. Processors without the instruction (Intel's before 2014) ignore it.
inline void prefetch_to_write(const void* address) {
#if defined(__x86_64__)
    asm volatile("prefetchw %0" : : "m"(*static_cast<const char*>(address)));
#else
    __builtin_prefetch(address, 1);
#endif
}

}  // namespace basalt::detail
