#pragma once

#include <span>

namespace basalt::tuner {

/// A file that programs of candidates include: its name there, and its contents.
struct SourceFile {
    const char* name;
    const char* text;
};

/// The headers of the batched kernels, which the build copies into the library (embed.py).
std::span<const SourceFile> kernel_headers();

}  // namespace basalt::tuner
