#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "runtime/engine/placement.hpp"
#include "runtime/engine/window.hpp"

namespace basalt::detail {

/// Memory of the user's: `rows` rows of `row_bytes` bytes, `pitch` bytes apart.
struct HostWindow {
    void* memory;
    std::size_t row_bytes;
    std::size_t rows;
    std::size_t pitch;
};

/// Copies that are no transfers of whole data: between data on GPUs and pinned memory of the user's, and of parts of
/// data. Thread-safe.
class HostCopies {
  public:
    HostCopies(TaskGraph& graph, Window& window, Placement& placement)
        : graph_(graph), window_(window), placement_(placement) {}

    /// Submits a task that copies between pinned memory of the user's and rows of a datum on a GPU, where the rows are
    /// contiguous. A reading `record` copies to the user, a writing one from the user, each on the stream of its
    /// direction. Throws UsageError inside a task, and DeviceError as Runtime::submit() does.
    void submit_host_copy(const TaskOptions& options, const AccessRecord& record, int device, const HostWindow& window);
    /// Submits a task that copies elements of one datum, `from`, from the host's memory to elements of another datum,
    /// `to`, on a GPU. Nothing else of `from` travels, and its memory on the GPU does not change. Both records are not
    /// empty and have the same number of rows; if `to` has more columns, its other columns have no contents afterwards.
    /// Throws as above.
    void submit_fetch(const TaskOptions& options, const AccessRecord& from, const AccessRecord& to, int device);

  private:
    struct Request;
    template <class F>
    void submit(const TaskOptions& options, const Request& request, const F& copy_at);

    TaskGraph& graph_;
    Window& window_;
    Placement& placement_;
};

}  // namespace basalt::detail
