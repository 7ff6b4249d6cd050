#pragma once

#include <memory>

#include "basalt/runtime.hpp"

namespace basalt {
class RunModels;
}

namespace basalt::detail {

class BeforeWait;
class Engine;
class GpuData;
class GpuMemory;
struct GraphState;
class Gpus;
class HostCopies;
class HostPool;
class RecordedRuns;
class TraceRecorder;

// What the library's own algorithms, its benches and its tests use of a Runtime in addition to its public members, each
// part for itself. Not installed.

Engine& engine_of(const Runtime& runtime);
const Gpus& gpus_of(const Runtime& runtime);
GpuData& gpu_data(const Runtime& runtime);
GpuMemory& gpu_memory(const Runtime& runtime);
HostCopies& host_copies(const Runtime& runtime);
/// Actions before the program's next wait() outside tasks, and before the runtime's end.
BeforeWait& before_wait(const Runtime& runtime);
BeforeWait& before_end(const Runtime& runtime);
TraceRecorder& trace_of(const Runtime& runtime);
/// See Recording.
RecordedRuns& recorded_runs(const Runtime& runtime);
/// Memory that GPUs copy to and from.
HostPool& pinned_memory(const Runtime& runtime);
/// Memory that only cores compute with.
HostPool& workspaces(const Runtime& runtime);
/// nullptr where Config names no file.
const RunModels* models_of(const Runtime& runtime);
/// See Graph.
std::shared_ptr<GraphState> make_graph(Runtime& runtime, int priority);
/// Whether the calling thread runs a task. Throws UsageError inside a device kernel.
bool inside_task(const Runtime& runtime);

}  // namespace basalt::detail
