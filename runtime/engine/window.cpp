#include "runtime/engine/window.hpp"

#include <string>
#include <utility>

namespace basalt::detail {

namespace {

std::string in_submit() { return "in submit(), for room in the window"; }

}  // namespace

void Window::make_room_inside(const Scope& scope) {
    const auto room = [&] { return scope.outstanding.load(std::memory_order_acquire) - 1 < tasks_; };
    if (room()) return;
    const Waiters::Note note(waiting_.waiters(), scope.owner, in_submit);
    waiting_.help(scope, room);
}

void Window::make_room_in_graph(const Scope& graph) {
    const auto in_flight = [&] { return graph.outstanding.load(std::memory_order_acquire) - 1; };
    if (in_flight() < tasks_) return;
    const Waiters::Note note(waiting_.waiters(), nullptr, in_submit);
    waiting_.help_outside(graph, [&] { return in_flight() <= low_mark(); });
}

bool Window::make_room_outside(const Scope& root) {
    known_completed_.store(progress_.completed(), std::memory_order_relaxed);
    if (has_room(root, tasks_)) return false;
    const Waiters::Note note(waiting_.waiters(), nullptr, in_submit);
    // Where no other place runs tasks meanwhile, all that can run do: the next ones find their predecessors completed.
    // But no more than a window full, since other threads may go on submitting.
    const auto most = static_cast<std::uint64_t>(one_place_ ? tasks_ : 0);
    const std::uint64_t begun = progress_.completed();
    std::uint64_t before = begun;
    waiting_.help_outside(root, [&] {
        if (static_cast<std::int64_t>(progress_.in_flight()) > low_mark()) return false;
        if (!waiting_.works()) return true;  // another thread works the place
        const std::uint64_t completed = progress_.completed();
        const bool runs_on = completed != std::exchange(before, completed) && completed - begun < most;
        return !runs_on || progress_.in_flight() == 0;
    });
    known_completed_.store(progress_.completed(), std::memory_order_relaxed);
    return true;
}

}  // namespace basalt::detail
