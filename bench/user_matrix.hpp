#pragma once

#include <cstddef>
#include <memory>

#include <basalt/view.hpp>

#include "bench/vendor_gpu.hpp"

namespace bench {

/// The user's matrix: column-major, in pinned host memory or the first GPU's.
template <class T>
class UserMatrix {
  public:
    UserMatrix(basalt::Index m, basalt::Index n, bool on_host)
        : m_(m), n_(n), bytes_(static_cast<std::size_t>(m * n) * sizeof(T)) {
        if (on_host) {
            host_.reset(allocate_pinned(bytes_));
        } else {
            device_ = std::make_unique<GpuMemory>(bytes_);
        }
    }
    T* data() const { return static_cast<T*>(host_ ? host_.get() : device_->data()); }
    basalt::View<T> view() const { return basalt::View<T>::column_major(data(), m_, n_, m_); }
    std::size_t bytes() const { return bytes_; }

  private:
    struct FreePinned {
        void operator()(void* memory) const { free_pinned(memory); }
    };
    basalt::Index m_, n_;
    std::size_t bytes_;
    std::unique_ptr<void, FreePinned> host_;
    std::unique_ptr<GpuMemory> device_;
};

}  // namespace bench
