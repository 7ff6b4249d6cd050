#include "runtime/engine/window.hpp"

#include <string>

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

void Window::make_room_outside(const Scope& root) {
    known_completed_.store(progress_.completed(), std::memory_order_relaxed);
    if (has_room(root, tasks_)) return;
    const Waiters::Note note(waiting_.waiters(), nullptr, in_submit);
    waiting_.help_outside(root, [&] { return static_cast<std::int64_t>(progress_.in_flight()) <= low_mark(); });
    known_completed_.store(progress_.completed(), std::memory_order_relaxed);
}

}  // namespace basalt::detail
