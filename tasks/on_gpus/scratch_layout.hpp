#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "base/host_memory.hpp"
#include "runtime/memory/host_pool.hpp"
#include "tasks/on_gpus/scratch_matrix.hpp"

namespace basalt::detail {

/// The host's memory behind scratch buffers.
enum class ScratchHome : std::uint8_t {
    pinned,     ///< for what cores and GPUs exchange
    pageable,   ///< for what only cores use, and for what leaves a GPU only where that is short of memory
    addresses,  ///< for what only GPUs use: addresses that are never touched on the host
};

/// Equal scratch buffers: `count` matrices of rows x cols elements.
struct ScratchShape {
    const char* name;
    Index rows = 0;
    Index cols = 1;
    Index count = 0;
    Index on_a_gpu = 0;  ///< how many of them one GPU holds at once; 0: only cores use them
    ScratchHome home = ScratchHome::pinned;
};

/// The host's memory of a layout. It outlives the buffers.
struct ScratchMemory {
    PooledBuffer pinned;
    HostBuffer pageable;
    HostBuffer addresses;
};

/// The scratch buffers of a factorization. Each kind of them is declared once: the declarations give the bytes to plan
/// with as well as the addresses.
class ScratchLayout {
  public:
    /// Declares buffers that make() appends to `to`.
    template <class T>
    void add(std::vector<ScratchMatrix<T>>& to, const ScratchShape& shape) {
        add_bytes(sizeof(T), shape, [&to, shape](Runtime& runtime, void* memory) {
            to.emplace_back(runtime, static_cast<T*>(memory), shape.rows, shape.cols, shape.name);
        });
    }

    /// Bytes that all buffers together take of one GPU's memory.
    std::size_t gpu_bytes() const;

    /// Registers all buffers with the runtime. Throws std::bad_alloc, DeviceError.
    ScratchMemory make(Runtime& runtime) const;

  private:
    struct Kind {
        ScratchShape shape;
        std::size_t bytes;  ///< of one buffer, with what keeps the next one aligned
        std::function<void(Runtime&, void* memory)> make_buffer;
    };

    void add_bytes(std::size_t element_size, const ScratchShape& shape,
                   std::function<void(Runtime&, void* memory)> make_buffer);
    std::size_t host_bytes(ScratchHome home) const;

    std::vector<Kind> kinds_;
};

}  // namespace basalt::detail
