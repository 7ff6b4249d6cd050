#pragma once

// What the tasks of a random graph do: the kernels of an Execution.
#include "tests/runtime/random_graph/execution.hpp"

namespace basalt_tests {

inline void Execution::submit(const TaskSpec& task) {
    const basalt::TaskOptions options{
        .name = "node", .priority = task.priority, .threads = task.threads, .tile = {task.id}, .place = task.place};
    if (task.as_list && (runtime_.gpus() > 0 || learns_addresses_)) {
        submit_with_addresses(options, task);
    } else if (task.as_list) {
        submit_with_list(options, task);
    } else if (const std::size_t reductions = reductions_of(task); reductions == 0) {
        submit_with_views(options, task, std::index_sequence<>{});
    } else if (reductions == 1) {
        submit_reducing(options, task, std::make_index_sequence<1>{}, std::index_sequence<>{});
    } else {
        submit_reducing(options, task, std::make_index_sequence<most_reductions>{}, std::index_sequence<>{});
    }
}

inline void Execution::perform(const TaskSpec& task, const basalt::Team& team, const std::vector<CellView>& views) {
    enter(task, team);
    work(task, team, views, 0);
    if (task.throws && team.rank() == task.id % team.size()) {
        state(task.id).thrown = true;
        throw Thrown(task.id);
    }
    if (task.cancels && team.rank() == 0) runtime_.cancel();
    if (team.rank() == task.id % team.size()) {
        run_local_steps(task);
        run_children(task);
        if (task.works_again) wait_for_children(task);
    }
    if (task.works_again) {
        team.barrier();
        work(task, team, views, 1);
    } else if (team.rank() % 2 == 0) {
        team.barrier();  // the others have left, or will
    }
}

inline void Execution::perform_on_gpu(const TaskSpec& task, basalt::Stream stream, const std::vector<CellView>& views) {
    state(task.id).gpu = stream.device();
    if (task.place.is_gpu() && task.place.gpu_number() != stream.device()) complain(task, "is on the wrong GPU");
    if (task.place.is_cpu() || task.depth > 0) complain(task, "is on a GPU");
    basalt::TeamBarrier alone(1);
    perform(task, basalt::Team(0, alone), views);
}

inline void Execution::enter(const TaskSpec& task, const basalt::Team& team) {
    State& s = state(task.id);
    if (team.rank() == 0 && s.runs.fetch_add(1) != 0) complain(task, "ran twice");
    s.inside.fetch_add(1);
    team.barrier();
    if (s.inside.load() != team.size()) complain(task, "not all members of the gang were inside");
    const int most = std::min(task.threads.max, runtime_.workers());
    const bool on_gpu = task.place.is_gpu() || state(task.id).gpu >= 0;
    const int least = task.depth == 0 && !on_gpu ? std::min(task.threads.min, most) : 1;
    if (team.size() < least || team.size() > most) complain(task, "the gang has a size that was not asked for");
    team.barrier();
}

inline void Execution::work(const TaskSpec& task, const basalt::Team& team, const std::vector<CellView>& views,
                            int round) {
    std::unique_ptr<Guard> guard;
    const bool moves = runtime_.gpus() > 0;  // guards would be copied along, perhaps while somebody holds them
    if (team.rank() == 0 && !moves) {
        guard = std::make_unique<Guard>(task, views);
        if (guard->violated()) complain(task, "somebody else uses what it accesses");
    }
    const Work work(task, round);
    std::uint64_t sum = 0;
    for (std::size_t k = 0; k < views.size(); ++k) {
        team.barrier();  // accesses of one task may overlap
        const std::uint64_t read = work.apply(k, views[k], team.rank(), team.size());
        sum += read;
        if (!moves || task.accesses[k].mode != basalt::AccessMode::read) continue;
        if (task.id % 8 == 0) std::this_thread::sleep_for(std::chrono::microseconds(20));
        if (work.apply(k, views[k], team.rank(), team.size()) != read)
            complain(task, "what it reads changes meanwhile");
    }
    state(task.id).read[round].fetch_add(sum);
    team.barrier();
    guard.reset();
    team.barrier();  // children come only now
}

/// A chain on an array that no other task knows.
inline void Execution::run_local_steps(const TaskSpec& task) {
    if (task.local_steps == 0) return;
    basalt::Array<std::uint64_t> local(runtime_, 1, "local");
    for (int step = 0; step < task.local_steps; ++step) {
        runtime_.submit({.name = "local"}, readwrite(local),
                        [step](basalt::View<std::uint64_t> x) { x[0] = local_step(x[0], step); });
    }
    state(task.id).local = local.host_view()[0];
}

inline void Execution::run_children(const TaskSpec& task) {
    for (std::size_t i = 0; i < task.children.size(); ++i) {
        submit(task.children[i]);
        if (task.waits_after[i]) wait_for_children(task);
    }
}

inline void Execution::wait_for_children(const TaskSpec& task) {
    try {
        runtime_.wait();
    } catch (const basalt::Error&) {
        if (!task.catches) throw;
        caught_ = true;
    }
}

}  // namespace basalt_tests
