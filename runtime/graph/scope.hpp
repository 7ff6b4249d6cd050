#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "runtime/graph/held_accesses.hpp"
#include "runtime/graph/program_order.hpp"
#include "runtime/graph/task.hpp"

namespace basalt::detail {

/// What is waited for, cancelled and fails together: a graph (level 0), or the children of one task.
///
/// All graphs of a runtime share one program order; the children of a task have their own. The atomics are shared with
/// the workers that finish the tasks.
class Scope {
  public:
    /// The runtime's own graph.
    explicit Scope(std::uint64_t order_id) : Scope({.order_id = order_id}) {}
    /// A graph of the user's, in the same program order.
    Scope(Scope& own_graph, int priority)
        : Scope({.priority = priority, .counts_outstanding = true, .shared_order = &own_graph.order}) {}
    /// The children of `owner`.
    Scope(Task& owner, std::uint64_t order_id)
        : Scope({.owner = &owner,
                 .parent = owner.scope,
                 .priority = owner.scope->priority,
                 .counts_outstanding = true,
                 .order_id = order_id}) {}
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

    // -- what every worker reads for each task, on a line that hardly ever changes
    Task* const owner;  ///< the task whose children these are; nullptr at level 0
    Scope* const parent;
    Scope& graph;  ///< the one at level 0
    const int level;
    const int priority;  ///< added to that of each task
    /// Some task around these runs as a gang: fellow members of the submitting thread may stand at a barrier
    /// until these are done, so a gang among them takes what threads it can get (see GangHall).
    bool inside_gang = false;
    /// The owner is a coroutine: an error among its children cancels none of them. The owner is told of it where it
    /// awaits that child, or fails in the end. Set before the first child is submitted.
    bool of_coroutine = false;
    /// Whether tasks in flight are counted in `outstanding`. Those of the runtime's own graph are counted a worker at a
    /// time, see Progress::in_flight().
    const bool counts_outstanding;
    std::atomic<bool> cancelled{false};
    /// Of a graph: scopes in it that are cancelled, itself included.
    std::atomic<int> cancelled_scopes{0};

    // -- what submitting changes for each task
    /// Tasks that have entered the runtime's own graph, internal ones too; written under the order's lock.
    alignas(64) std::atomic<std::uint64_t> submitted{0};
    std::optional<ProgramOrder> own_order;

    // -- what finishing changes
    /// Tasks in flight, and one more: at level 0 for the graph itself, deeper for the owner's own kernel while it runs.
    /// The thread that takes a deeper one to zero completes the owner.
    alignas(64) std::atomic<std::int64_t> outstanding{1};

    /// What the children may access. Under the order's lock.
    HeldAccesses held_by_owner;
    ProgramOrder& order;
    /// See CancellableCall: how many there are for this graph, and their graphs. Under the order's lock.
    int calls = 0;
    std::vector<Scope*> parts;
    /// The number of losses in the user's own arrays that the graph's wait() has thrown. Under the order's lock.
    std::size_t losses_seen = 0;

    /// Cancels what has not started.
    void cancel() {
        // release: a thread that sees the scope cancelled sees why
        if (!cancelled.exchange(true, std::memory_order_acq_rel)) {
            graph.cancelled_scopes.fetch_add(1, std::memory_order_release);
        }
    }
    /// Cancels what has not started and keeps the first error.
    void fail(std::exception_ptr error) {
        const std::lock_guard guard(error_lock_);
        add_error(std::move(error));
        if (!of_coroutine) cancel();
    }
    /// Keeps the first error; what does not depend on it goes on.
    void keep_error(std::exception_ptr error) {
        const std::lock_guard guard(error_lock_);
        add_error(std::move(error));
    }
    /// The owner, a coroutine, was told of the error. Whether the scope had it.
    bool take_error(const std::exception_ptr& error) {
        const std::lock_guard guard(error_lock_);
        return std::erase(errors_, error) > 0;
    }
    /// How the scope's tasks ended.
    struct Outcome {
        std::exception_ptr error;
        bool cancelled;
    };
    /// The scope is as new afterwards. Nothing of it is in flight, and nothing is submitted meanwhile: otherwise a task
    /// that is dropped could be taken for one that ran.
    Outcome take_outcome() {
        const std::lock_guard guard(error_lock_);
        const bool was_cancelled = cancelled.exchange(false, std::memory_order_acq_rel);
        if (was_cancelled) graph.cancelled_scopes.fetch_sub(1, std::memory_order_release);
        const std::vector<std::exception_ptr> errors = std::exchange(errors_, {});
        return {errors.empty() ? nullptr : errors.front(), was_cancelled};
    }
    /// The first error since the last outcome.
    std::exception_ptr error() const {
        const std::lock_guard guard(error_lock_);
        return errors_.empty() ? nullptr : errors_.front();
    }

    /// Whether this scope or one around it is cancelled.
    bool drained() const {
        // acquire: see cancel(). One look is enough as long as nothing in the graph is cancelled, however deep this is.
        if (graph.cancelled_scopes.load(std::memory_order_acquire) == 0) return false;
        for (const Scope* scope = this; scope != nullptr; scope = scope->parent) {
            if (scope->cancelled.load(std::memory_order_acquire)) return true;
        }
        return false;
    }

  private:
    /// What the kinds of scopes differ in.
    struct Kind {
        Task* owner = nullptr;
        Scope* parent = nullptr;
        int priority = 0;
        bool counts_outstanding = false;
        ProgramOrder* shared_order = nullptr;  ///< nullptr: it has its own, with this number
        std::uint64_t order_id = 0;
    };
    explicit Scope(const Kind& kind)
        : owner(kind.owner),
          parent(kind.parent),
          graph(parent == nullptr ? *this : parent->graph),
          level(parent == nullptr ? 0 : parent->level + 1),
          priority(kind.priority),
          counts_outstanding(kind.counts_outstanding),
          held_by_owner(owner),
          order(kind.shared_order != nullptr ? *kind.shared_order : own_order.emplace(kind.order_id)) {}

    /// The first one suffices, unless a coroutine is told of each. Under the lock.
    void add_error(std::exception_ptr error) {
        if (errors_.empty() || of_coroutine) errors_.push_back(std::move(error));
    }

    mutable std::mutex error_lock_;
    std::vector<std::exception_ptr> errors_;
};

}  // namespace basalt::detail
