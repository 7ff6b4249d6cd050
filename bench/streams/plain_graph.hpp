#pragma once

#include <memory>

namespace bench {

/// A CUDA graph of `kernels` empty kernels, one behind the other, made by hand: what a replayed graph can cost at
/// least.
class PlainGraph {
  public:
    /// Throws std::runtime_error where CUDA refuses.
    explicit PlainGraph(int kernels);
    ~PlainGraph();
    PlainGraph(const PlainGraph&) = delete;
    PlainGraph& operator=(const PlainGraph&) = delete;

    /// Launches it `runs` times and waits.
    void run(int runs);

  private:
    struct Handles;
    std::unique_ptr<Handles> handles_;
};

}  // namespace bench
