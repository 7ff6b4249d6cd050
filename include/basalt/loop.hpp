#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "basalt/access.hpp"
#include "basalt/device.hpp"
#include "basalt/error.hpp"
#include "basalt/task_handle.hpp"
#include "basalt/task_options.hpp"
#include "basalt/view.hpp"

namespace basalt {

class Runtime;

/// The indices begin .. end - 1 of a loop, of any size and sign.
struct IndexRange {
    Index begin = 0;
    Index end = 0;

    bool empty() const { return begin == end; }
    /// Without overflow, unlike end - begin.
    std::uint64_t size() const { return static_cast<std::uint64_t>(end) - static_cast<std::uint64_t>(begin); }
    friend bool operator==(const IndexRange&, const IndexRange&) = default;
};

namespace detail {

/// Throws UsageError for a range or grain that is not allowed.
void check_loop(const TaskName& name, IndexRange range, Index grain);

/// Submits a loop by calling `submit`, and waits for it. See Runtime::parallel_for().
void run_and_wait(Runtime& runtime, const std::function<TaskHandle()>& submit);

/// The chunks of a loop, which several threads take one by one.
class LoopChunks {
  public:
    LoopChunks(IndexRange range, Index grain, int workers) : range_(range), grain_(grain_of(range, grain, workers)) {
        count_ = range.size() / grain_ + (range.size() % grain_ != 0 ? 1 : 0);
    }

    std::uint64_t count() const { return count_; }
    /// The next chunk; empty when all are taken or the loop has ended early.
    std::optional<IndexRange> take() {
        if (next_.load(std::memory_order_relaxed) >= count_) return std::nullopt;
        // relaxed: chunks carry no data; the task's completion orders what they wrote
        const std::uint64_t chunk = next_.fetch_add(1, std::memory_order_relaxed);
        if (chunk >= count_) return std::nullopt;
        const std::uint64_t first = static_cast<std::uint64_t>(range_.begin) + chunk * grain_;
        const bool last = chunk + 1 == count_;
        return IndexRange{static_cast<Index>(first), last ? range_.end : static_cast<Index>(first + grain_)};
    }
    /// No thread takes another chunk.
    void end() { next_.store(count_, std::memory_order_relaxed); }

  private:
    static constexpr std::uint64_t chunks_a_worker = 32;

    static std::uint64_t grain_of(IndexRange range, Index grain, int workers) {
        if (grain > 0) return static_cast<std::uint64_t>(grain);
        return range.size() / (chunks_a_worker * static_cast<std::uint64_t>(workers)) + 1;
    }

    const IndexRange range_;
    const std::uint64_t grain_;
    std::uint64_t count_ = 0;
    alignas(64) std::atomic<std::uint64_t> next_{0};
};

/// The kernel of a loop's task: it submits a child for each further worker that may find a chunk, and all of them take
/// chunks. `R` is Runtime, which this header does not know.
template <class R, class F>
class LoopKernel {
  public:
    template <class G>
    LoopKernel(R& runtime, const TaskName& name, IndexRange range, Index grain, G&& f)
        : runtime_(&runtime), name_(name), range_(range), grain_(grain), f_(std::forward<G>(f)) {
        check_loop(name, range, grain);
    }

    template <class... V>
    requires(std::is_invocable_v<F&, Index, PassedOn<V>...> || std::is_invocable_v<F&, IndexRange, PassedOn<V>...>) void
    operator()(V&&... views) {
        LoopChunks chunks(range_, grain_, runtime_->workers());
        const auto work = [&] {
            try {
                while (const auto chunk = chunks.take()) {
                    if (runtime_->cancelled()) throw Cancelled("the task graph was cancelled");
                    run(*chunk, static_cast<PassedOn<V>>(views)...);
                }
            } catch (...) {
                chunks.end();
                throw;
            }
        };
        std::exception_ptr error;
        const auto keep_error = [&error](const auto& action) {
            try {
                action();
            } catch (...) {
                if (!error) error = std::current_exception();
            }
        };
        keep_error([&] {
            const auto most = static_cast<std::uint64_t>(runtime_->workers());
            const std::uint64_t threads = chunks.count() < most ? chunks.count() : most;
            for (std::uint64_t i = 1; i < threads; ++i) runtime_->submit({.name = name_}, work);
        });
        keep_error(work);
        keep_error([&] { runtime_->wait(); });  // the children use what lies on this stack
        if (error) std::rethrow_exception(error);
    }

  private:
    template <class... V>
    void run(IndexRange chunk, V&... views) {
        if constexpr (std::is_invocable_v<F&, Index, V&...>) {  // first: so is a generic f
            for (Index i = chunk.begin; i != chunk.end; ++i) f_(i, views...);
        } else {
            f_(chunk, views...);
        }
    }

    R* runtime_;
    TaskName name_;
    IndexRange range_;
    Index grain_;
    F f_;
};

/// The kernel of a chunk that is a task of its own: f(i, views...) for each index, or f(chunk, views...).
template <class F>
struct ChunkKernel {
    IndexRange chunk;
    F f;

    template <class... V>
    requires(std::is_invocable_v<F&, Index, V&...> || std::is_invocable_v<F&, IndexRange, V&...>) void operator()(
        V&&... views) {
        if constexpr (std::is_invocable_v<F&, Index, V&...>) {  // first: so is a generic f
            for (Index i = chunk.begin; i != chunk.end; ++i) f(i, views...);
        } else {
            f(chunk, views...);
        }
    }
};
/// Its cuda kernel: g(stream, chunk, views...).
template <class G>
struct ChunkCudaKernel {
    IndexRange chunk;
    G g;

    template <class... V>
    requires std::is_invocable_v<G&, Stream, IndexRange, const V&...>
    void operator()(Stream stream, const V&... views) { g(stream, chunk, views...); }
};
template <class F>
ChunkKernel<F> kernel_of_chunk(IndexRange chunk, const F& f) {
    return {chunk, f};
}
template <class G>
CudaKernel<ChunkCudaKernel<G>> kernel_of_chunk(IndexRange chunk, const CudaKernel<G>& kernel) {
    return {{chunk, kernel.function}};
}

template <class A>
inline constexpr bool is_tuple = false;
template <class... A>
inline constexpr bool is_tuple<std::tuple<A...>> = true;

/// A task for each chunk. See Runtime::submit_chunks(); `R` is Runtime.
template <class R, class AccessesOf, class... Kernels>
std::vector<TaskHandle> submit_chunks(R& runtime, const TaskOptions& options, IndexRange range, Index grain,
                                      const AccessesOf& accesses_of, const Kernels&... kernels) {
    check_loop(options.name, range, grain);
    LoopChunks chunks(range, grain, runtime.workers());
    std::vector<TaskHandle> tasks;
    tasks.reserve(static_cast<std::size_t>(chunks.count()));
    while (const auto chunk = chunks.take()) {
        const auto submit = [&](const auto&... access) {
            tasks.push_back(runtime.submit(options, access..., kernel_of_chunk(*chunk, kernels)...));
        };
        const auto accesses = accesses_of(*chunk);
        if constexpr (is_tuple<std::remove_cvref_t<decltype(accesses)>>) {
            std::apply(submit, accesses);
        } else {
            submit(accesses);
        }
    }
    return tasks;
}

}  // namespace detail

}  // namespace basalt
