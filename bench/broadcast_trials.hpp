#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace bench {

/// Ways for one buffer from GPU 0 to those behind it that the runtime does not use, to be measured beside the one that
/// it does. By copy engines, in chunks:
///   pull     the ring, each copy made by the GPU that gets it
///   both     the ring, one chunk made by the GPU that has it and the next one by the GPU that gets it
///   flags    the ring, chunks announced by words in GPU memory that streams write and wait for, instead of events
///   rings    two rings in opposite directions, half the buffer each
///   scatter  a share to each target, which passes it on to all others
///   batches  the same in rounds, what a GPU sends in a round being one batch of copies; a chunk is a round
/// By kernels that pass on a piece when the block of the same number before them has written it, and announce it by a
/// word in the memory of the GPU of the next kernel:
///   relay       16 bytes a thread and instruction, from local memory to the next GPU's
///   relay-bulk  the same by bulk copies through shared memory
///   relay-pull  as relay, from the former GPU's memory to local memory
/// By both at once:
///   mixed       the ring of copies, whose last part is relayed meanwhile
struct BroadcastTrial {
    std::string method;
    int targets = 1;
    std::size_t bytes = 0;
    std::size_t chunk = 0;    ///< what a copy moves
    std::size_t piece = 0;    ///< what a block of a kernel announces at once
    int blocks = 0;           ///< of a kernel
    std::size_t relayed = 0;  ///< what kernels move
};

extern const std::vector<std::string> trial_methods;
inline bool is_relay(const std::string& method) { return method.rfind("relay", 0) == 0; }

class BroadcastTrials {
  public:
    virtual ~BroadcastTrials() = default;
    /// Sends buffers[0] to buffers[1 .. targets], buffers[i] being on GPU i, going round where there are fewer; returns
    /// when it has arrived. The seconds that enqueueing took. Throws std::runtime_error where CUDA fails, TrialHangs
    /// where it does not end.
    virtual double run(const BroadcastTrial& trial, const std::vector<void*>& buffers) = 0;
};

/// Work on GPUs that will never end: the process can only be left.
struct TrialHangs {
    std::string method;
};

/// Whether this was built with CUDA.
extern const bool has_trials;

/// nullptr without CUDA. GPUs reach each other.
std::unique_ptr<BroadcastTrials> make_broadcast_trials(int gpus);

}  // namespace bench
