#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace basalt::tuner {

/// What became of the program of a candidate.
struct Compiled {
    std::string error;             ///< what the compiler said; empty: `image` is there
    std::string image;             ///< machine code for one kind of GPU
    int registers = 0;             ///< of a thread
    std::size_t spill_bytes = 0;   ///< that a thread stores to and loads from local memory because registers are short
    std::size_t shared_bytes = 0;  ///< that the kernel has itself
};

/// Makes machine code of source_of() a candidate.
class Compiler {
  public:
    virtual ~Compiler() = default;
    /// Thread-safe. A program that is refused is no exception but has an error.
    virtual Compiled compile(const std::string& source, const std::vector<std::string>& options) = 0;
};

/// Reads registers, spills and shared memory of a kernel from what ptxas writes with -v. Throws std::runtime_error
/// where the text has no registers.
void read_resources(std::string_view log, Compiled& compiled);

}  // namespace basalt::tuner
