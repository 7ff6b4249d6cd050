#pragma once

// The library's lock-free parts under the checker: docs/decisions/0027-model-checking.md. The program that includes
// this holds its own copies of them, compiled with another std, and links nothing of the library.
#include "tests/model/checked_std.hpp"
#include "tests/model/exploration.hpp"

#define std checked_std
#define __builtin_ia32_pause() checked_std::checker().spin()
#include "base/spin_lock.hpp"
#include "runtime/execution/neighbours.cpp"
#include "runtime/execution/parking.cpp"
#include "runtime/gangs/team.cpp"
#include "runtime/graph/task.hpp"
#include "runtime/recording/replay_queue.hpp"
#include "runtime/workers/outside_place.cpp"
#include "schedulers/fifo.cpp"
#include "schedulers/priority_stealing.cpp"
#undef __builtin_ia32_pause
#undef std

namespace basalt_model {

using namespace basalt::detail;
using Flag = checked_std::atomic<int>;

inline constexpr auto relaxed = std::memory_order_relaxed;

/// Two threads add under the lock; one tries only.
struct SpinLockModel {
    static constexpr int threads = 3;
    SpinLock lock;
    Shared<int> sum;
    Shared<int> tried;

    void run(int thread) {
        if (thread == 2) {
            if (!lock.try_lock()) return;
            tried.write(1);
        } else {
            lock.lock();
        }
        sum.write(sum.read() + 1);
        lock.unlock();
    }
    void finish() { require(sum.read() == 2 + tried.read(), "an addition was lost"); }
};

/// A task, and what the thread that pushed it has written for it.
struct Job {
    Task task;
    Shared<int> input{0};
    Shared<int> taken{0};
};

/// The thread of place 0 and one that leaves its task with it push; all look for a task.
template <class Queue>
struct SchedulerModel {
    static constexpr int threads = 3;
    Queue queue;
    std::array<Job, 3> jobs;

    SchedulerModel() : queue(make()) {}
    static Queue make() {
        static const Neighbours places(3);
        if constexpr (std::is_same_v<Queue, Fifo>) {
            return {};
        } else {
            return Queue(places);
        }
    }
    void take(int place) {
        Task* task = queue.pop(place).task;
        if (task == nullptr) return;
        Job& job = jobs[task->slot];
        require(job.input.read() == 7, "a task runs without its input");
        require(job.taken.read() == 0, "a task is returned twice");
        job.taken.write(1);
    }
    void push(std::optional<int> place, std::size_t first, std::size_t count) {
        std::array<Task*, 3> tasks{};
        for (std::size_t i = 0; i < count; ++i) {
            jobs[first + i].input.write(7);
            jobs[first + i].task.slot = static_cast<std::uint32_t>(first + i);
            tasks[i] = &jobs[first + i].task;
        }
        queue.push(place, tasks.data(), count);
    }
    void run(int thread) {
        if (thread == 0) push(0, 0, 2);
        if (thread == 1) push(std::nullopt, 2, 1);  // goes to place 0
        take(thread);
    }
    void finish() {
        for (int i = 0; i < 3; ++i) take(0);
        for (Job& job : jobs) require(job.taken.read() == 1, "a task was lost");
        require(queue.empty(), "the empty queue is not empty");
    }
};

/// The queue of a replay: its place pushes and pops, two others steal.
struct ReplayModel {
    static constexpr int threads = 3;
    ReplayQueue queue{2};
    std::array<Shared<int>, 3> input;
    std::array<Shared<int>, 3> taken;

    void take(std::uint32_t task) {
        require(input[task].read() == 7, "a task runs without its input");
        require(taken[task].read() == 0, "a task is returned twice");
        taken[task].write(1);
    }
    void run(int thread) {
        if (thread == 0) {
            for (auto& datum : input) datum.write(7);
            const std::array<std::uint32_t, 3> tasks{0, 1, 2};
            queue.push(tasks.data(), 3, [](std::uint32_t task) { return task == 2 ? 1U : 0U; });
            if (const auto task = queue.pop([](std::uint32_t) {})) take(*task);
        } else {
            checked_std::vector<std::uint32_t> loot;
            queue.steal(loot, 2);
            for (const std::uint32_t task : loot) take(task);
        }
    }
    void finish() {
        while (const auto task = queue.pop([](std::uint32_t) {})) take(*task);
        for (auto& datum : taken) require(datum.read() == 1, "a task was lost");
    }
};

/// Two tasks complete while a submitter makes a third depend on both. The slot of the first then has another tenant,
/// and a second submitter, with a reference to the old one, must not hang an edge on it.
struct SuccessorModel {
    static constexpr int threads = 4;
    static constexpr std::int32_t held = 1 << 30;
    struct Node {
        Task task;
        Shared<int> output{0};
    };
    std::array<Node, 2> before;
    std::array<Node, 2> after;
    std::array<std::array<Shared<int>, 2>, 2> linked;  ///< as next_edge of the tasks in `after`
    std::array<Shared<int>, 2> prepared;
    std::array<Shared<int>, 2> ran;

    void run_task(std::uint32_t slot) {
        require(ran[slot].read() == 0, "a task runs twice");
        require(prepared[slot].read() == 7, "a task runs before it is prepared");
        for (std::size_t i = 0; i < 2 - slot; ++i) {
            require(before[i].output.read() == 1, "a task runs before its predecessor");
        }
        ran[slot].write(1);
    }
    void complete(Node& node) {
        node.output.write(1);
        const std::uint64_t closed = node.task.close_successors();
        require(Task::generation_of(closed) == 0, "a task completes twice");
        for (auto edge = static_cast<std::uint32_t>(closed); edge != Task::no_edge;) {
            Task& target = after[edge >> 8].task;
            require(linked[edge >> 8][edge & 0xff].read() == 1, "an edge is followed before it is there");
            edge = target.next_edge[edge & 0xff];
            if (target.let_go(1)) run_task(target.slot);
        }
    }
    void submit(std::uint32_t slot, std::size_t predecessors) {
        Task& task = after[slot].task;
        task.slot = slot;
        task.pending.store(held, relaxed);
        prepared[slot].write(7);
        std::int32_t edges = 0;
        for (std::uint32_t i = 0; i < predecessors; ++i) {
            std::uint64_t head = before[i].task.successors.load(std::memory_order_acquire);
            linked[slot][i].write(1);
            if (before[i].task.push_edge(head, 0, slot << 8 | i, task.next_edge[i])) ++edges;
        }
        if (task.let_go(held - edges)) run_task(slot);
    }
    void run(int thread) {
        if (thread < 2) complete(before[static_cast<std::size_t>(thread)]);
        if (thread == 2) submit(0, 2);
        if (thread == 3) submit(1, 1);
    }
    void finish() {
        for (auto& flag : ran) require(flag.read() == 1, "a task never runs");
        for (Node& node : before) {
            const std::uint64_t word = node.task.successors.load(relaxed);
            require(Task::generation_of(word) == 1, "the generation did not advance");
            require(static_cast<std::uint32_t>(word) == Task::no_edge, "an edge hangs on the slot's next tenant");
        }
    }
};

/// Two sleepers, as workers do it: announce, look once more, sleep. Two threads publish and wake.
struct ParkingModel {
    static constexpr int threads = 4;
    ParkingLot parking;
    std::array<Flag, 2> work{};

    void run(int thread) {
        Flag& mine = work[static_cast<std::size_t>(thread % 2)];
        if (thread >= 2) {
            mine.store(1, relaxed);
            if (parking.anyone_parked()) parking.wake_scope(&mine);
            return;
        }
        while (mine.load(relaxed) == 0) {
            ParkingLot::Sleeper sleeper;
            sleeper.scope = &mine;
            parking.announce(sleeper);
            if (mine.load(relaxed) != 0) {
                parking.leave(sleeper);
                return;
            }
            parking.sleep(sleeper, std::nullopt);
        }
    }
    void finish() { require(!parking.anyone_parked(), "a sleeper was left behind"); }
};

/// Three members, two rounds: each reads what the others wrote in the round before.
struct BarrierModel {
    static constexpr int threads = 3;
    basalt::TeamBarrier barrier{threads};
    std::array<std::array<Shared<int>, threads>, 2> data;

    void run(int thread) {
        const auto rank = static_cast<std::size_t>(thread);
        data[0][rank].write(1);
        barrier.wait();
        data[1][rank].write(data[0][(rank + 1) % 3].read() + data[0][(rank + 2) % 3].read());
        barrier.wait();
        require(data[1][(rank + 1) % 3].read() == 2, "a member went on before the others");
        data[0][rank].write(3);
    }
    void finish() {}
};

/// A member leaves early, another fails: no thread is left waiting, and those that wait learn of the failure.
struct BrokenBarrierModel {
    static constexpr int threads = 3;
    basalt::TeamBarrier barrier{threads};
    Shared<int> reason;
    std::array<Shared<int>, threads> told;

    void run(int thread) {
        if (thread == 0) {
            barrier.drop();
        } else if (thread == 1) {
            reason.write(5);
            barrier.poison();
        } else {
            bool thrown = false;
            try {
                barrier.wait();
            } catch (const basalt::Cancelled&) {
                thrown = true;
            }
            require(thrown, "a member is not told of the failure");
            require(reason.read() == 5, "the failure's reason is not there");
        }
    }
    void finish() {}
};

/// Threads that want place 0 take turns. They wait for each other with a time limit, as the class says.
struct OutsidePlaceModel {
    static constexpr int threads = 3;
    ParkingLot parking;
    OutsidePlace place{parking, this};
    Shared<int> worked;

    void run(int) {
        while (!place.try_take()) place.wait_for_change();
        worked.write(worked.read() + 1);
        place.leave();
    }
    void finish() {
        require(worked.read() == threads, "two threads worked the place at once");
        require(!place.wanted(), "a waiter was left behind");
    }
};

/// The stand-in parks until a task is there; who pushes one behind a full fence calls it if it is parked.
struct StandInModel {
    static constexpr int threads = 2;
    ParkingLot parking;
    OutsidePlace place{parking, this};
    Flag tasks;

    void run(int thread) {
        if (thread == 0) {
            place.park_stand_in([&] { return tasks.load(relaxed) != 0; });
        } else {
            tasks.store(1, relaxed);
            (void)parking.anyone_parked();  // the fence of the thread that pushes
            place.call_stand_in();
        }
    }
    void finish() {}
};

/// Store buffering with seq_cst fences and message passing: what the checker itself must and must not allow.
template <std::memory_order Order, bool WithFence>
struct StoreBuffering {
    static constexpr int threads = 2;
    std::array<Flag, 2> x;
    std::array<int, 2> seen{};
    void run(int thread) {
        const auto t = static_cast<std::size_t>(thread);
        x[t].store(1, Order);
        if (WithFence) checked_std::atomic_thread_fence(std::memory_order_seq_cst);
        seen[t] = x[1 - t].load(Order == relaxed || Order == std::memory_order_seq_cst ? Order : relaxed);
    }
    void finish() { require(seen[0] + seen[1] > 0, "neither saw the other"); }
};

template <std::memory_order Store, std::memory_order Load>
struct MessagePassing {
    static constexpr int threads = 2;
    Flag ready;
    Shared<int> data;
    void run(int thread) {
        if (thread == 0) {
            data.write(1);
            ready.store(1, Store);
        } else if (ready.load(Load) != 0) {
            require(data.read() == 1, "old data");
        }
    }
    void finish() {}
};

}  // namespace basalt_model
