// What Runtime offers to steer where data are.

#include <memory>
#include <string>

#include "basalt/pinned_memory.hpp"
#include "basalt/runtime.hpp"
#include "base/process.hpp"
#include "runtime/engine/engine.hpp"

namespace basalt {

namespace detail {

/// Memory that the program has pinned, until this ends.
struct PinnedRange {
    PinnedRange(std::shared_ptr<ProgramPins> of_runtime, void* begin, std::size_t bytes)
        : pins(std::move(of_runtime)), memory(begin) {
        pins->pin(memory, bytes);
    }
    ~PinnedRange() {
        if (mark.is_current()) pins->unpin(memory);
    }
    PinnedRange(const PinnedRange&) = delete;
    PinnedRange& operator=(const PinnedRange&) = delete;

    const std::shared_ptr<ProgramPins> pins;
    void* const memory;
    ProcessMark mark;
};

}  // namespace detail

void Runtime::prefetch(const detail::AccessRecord& record, Place place, int priority, std::optional<int> step) {
    engine().gpu_data().prefetch(record, place, {priority, step});
}
void Runtime::broadcast(const detail::AccessRecord& record, int priority, std::optional<int> step) {
    engine().gpu_data().broadcast(record, {priority, step});
}
void Runtime::evict(const detail::AccessRecord& record, Place gpu) { engine().gpu_data().evict(record, gpu); }
void Runtime::invalidate(const detail::AccessRecord& record) { engine().data().invalidate(record); }

PinnedMemory Runtime::pin(void* memory, std::size_t bytes) {
    if (memory == nullptr && bytes > 0) {
        throw UsageError("Runtime::pin(): the address is null for " + std::to_string(bytes) + " bytes");
    }
    if (bytes == 0) return PinnedMemory();
    return PinnedMemory(std::make_shared<detail::PinnedRange>(engine().program_pins(), memory, bytes));
}

}  // namespace basalt
