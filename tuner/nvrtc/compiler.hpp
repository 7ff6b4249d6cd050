#pragma once

#include <memory>
#include <stdexcept>

#include "tuner/compiler.hpp"

namespace basalt::tuner {

/// There is no NVRTC of CUDA 12 or newer; what() says what was looked for.
class NvrtcMissing : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

/// CUDA's compiler at run time, loaded when it is first asked for; it needs no GPU and no other part of the toolkit.
/// Throws NvrtcMissing.
std::unique_ptr<Compiler> make_nvrtc_compiler();

}  // namespace basalt::tuner
