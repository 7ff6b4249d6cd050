// Where the build found no Taskflow.
#include "bench/task_bench/task_systems.hpp"

namespace bench {

std::unique_ptr<GridSystem> make_taskflow_grid(int, TaskflowTasks) { return nullptr; }
bool has_taskflow() { return false; }

}  // namespace bench
