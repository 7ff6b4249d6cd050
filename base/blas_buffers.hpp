#pragma once

namespace basalt {

/// Makes sure that OpenBLAS has a buffer for each thread that computes with it.
///
/// OpenBLAS maps a buffer of 128 MiB for each call that runs at the same time as others, and where the system refuses
/// one it tries again for ever. So where address space is limited (RLIMIT_AS, strict overcommitment), the buffers are
/// asked for in advance: throws Error if there is no room for them. Elsewhere it costs nothing.
///
/// They stay reserved while this lives. OpenBLAS never gives a buffer back to the system.
class BlasBuffers {
  public:
    /// For `threads` more threads.
    explicit BlasBuffers(int threads);
    ~BlasBuffers();
    BlasBuffers(const BlasBuffers&) = delete;
    BlasBuffers& operator=(const BlasBuffers&) = delete;

  private:
    const int threads_;
};

}  // namespace basalt
