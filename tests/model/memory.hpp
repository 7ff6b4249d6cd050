#pragma once

#include "tests/model/checker.hpp"

/// The checker's memory: what a load may read, and what is known after it. Views follow the operational models of Kang
/// et al., "A promising semantics" (POPL 2017), without promises.
namespace basalt_model {

inline bool acquires(memory_order order) {
    return order != std::memory_order_relaxed && order != std::memory_order_release;
}
inline bool releases(memory_order order) {
    return order == std::memory_order_release || order == std::memory_order_acq_rel ||
           order == std::memory_order_seq_cst;
}

/// The object's entry, or the free one where it belongs.
inline Checker::Known& Checker::known(const void* object) {
    static_assert(sizeof(known_) / sizeof(Known) == 256 && most_locations < 128);
    auto at = static_cast<std::uint8_t>((reinterpret_cast<std::uintptr_t>(object) * 0x9e3779b97f4a7c15) >> 56);
    while (known_[at].run == run_ && known_[at].object != object) ++at;
    return known_[at];
}

inline void Checker::forget(const void* object) {
    Known& entry = known(object);
    if (entry.run == run_) entry.location = none;
}

inline int Checker::location_of(const void* object, std::uint64_t initial) {
    Known& entry = known(object);
    if (entry.run == run_ && entry.location != none) return entry.location;
    if (used_locations_ == most_locations) {
        fail("the model has too many atomic objects");
        return 0;
    }
    entry = {run_, object, used_locations_++};
    messages(entry.location).clear();
    messages(entry.location).push_back({initial, {}});
    return entry.location;
}

inline memory_order Checker::effective(Access access, memory_order order, const std::source_location& where) const {
    if (!options_.weakened || options_.weakened->access != access) return order;
    const std::string_view function = where.function_name();
    return function.find(options_.weakened->function) != std::string_view::npos ? options_.weakened->to : order;
}

inline void Checker::acquire_view(const View& view, memory_order order) {
    (acquires(order) ? self().now : self().acquired).join(view);
}

inline std::uint64_t Checker::load(int location, memory_order order, std::source_location where) {
    order = effective(Access::load, order, where);
    step(true);
    auto& stores = messages(location);
    const auto newest = static_cast<std::uint32_t>(stores.size() - 1);
    std::uint32_t oldest = seen(location);
    if (order == std::memory_order_seq_cst) oldest = std::max(oldest, sc_.at[index(location)]);
    if (self().fresh || current_ == 0) oldest = newest;
    if (self().burst == 0) self().fresh = false;
    const std::uint32_t read =
        self().burst > 0 ? std::max(oldest, seen(location)) : newest - choose(newest - oldest + 1);
    seen(location) = read;
    acquire_view(stores[read].view, order);
    note("load", location, stores[read].value, order, where);
    return stores[read].value;
}

inline void Checker::append(int location, std::uint64_t value, memory_order order, const View* continued) {
    auto& stores = messages(location);
    const auto time = static_cast<std::uint32_t>(stores.size());
    seen(location) = time;
    self().fresh = false;
    stores.push_back({value, releases(order) ? self().now : self().released});
    if (continued != nullptr) stores.back().view.join(*continued);
    stores.back().view.at[index(location)] = time;
    if (releases(order)) ++own_time();
    if (order == std::memory_order_seq_cst) sc_.at[index(location)] = time;
    ++writes_;
}

inline void Checker::store(int location, std::uint64_t value, memory_order order, std::source_location where) {
    order = effective(Access::store, order, where);
    step(false);
    note("store", location, value, order, where);
    append(location, value, order, nullptr);
}

template <class Update>
std::uint64_t Checker::read_modify_write(int location, memory_order order, memory_order failed,
                                         std::source_location where, const Update& update) {
    order = effective(Access::rmw, order, where);
    failed = effective(Access::failed_compare, failed, where);
    step(true);
    auto& stores = messages(location);
    const std::uint64_t old = stores.back().value;
    const std::optional<std::uint64_t> next = update(old);
    const View before = stores.back().view;  // a release sequence goes on
    seen(location) = static_cast<std::uint32_t>(stores.size() - 1);
    acquire_view(before, next ? order : failed);
    note(next ? "read-modify-write" : "failed compare", location, next.value_or(old), order, where);
    if (next) append(location, *next, order, &before);
    return old;
}

inline std::optional<std::uint64_t> Checker::stale_other_than(int location, std::uint64_t expected, memory_order order,
                                                              std::source_location where) {
    if (current_ == 0 || self().fresh) return std::nullopt;
    order = effective(Access::failed_compare, order, where);
    step(true);
    auto& stores = messages(location);
    const std::uint32_t oldest = seen(location);
    const auto newest = static_cast<std::uint32_t>(stores.size() - 1);
    if (oldest == newest) return std::nullopt;
    const std::uint32_t read = newest - choose(newest - oldest + 1);
    if (read == newest || stores[read].value == expected) return std::nullopt;
    seen(location) = read;
    acquire_view(stores[read].view, order);
    note("failed compare", location, stores[read].value, order, where);
    return stores[read].value;
}

inline void Checker::fence(memory_order order, std::source_location where) {
    order = effective(Access::fence, order, where);
    step(true);
    note("fence", none, 0, order, where);
    if (order == std::memory_order_relaxed) return;
    Thread& thread = self();
    if (acquires(order)) thread.now.join(thread.acquired);
    if (order == std::memory_order_seq_cst) {
        thread.now.join(sc_);
        sc_ = thread.now;
    }
    if (releases(order)) {
        thread.released = thread.now;
        ++own_time();
    }
}

/// As a futex: looks at the newest value and goes to sleep in one step.
inline void Checker::wait_while(int location, std::uint64_t old, memory_order order, std::source_location where) {
    while (load(location, order, where) == old) {
        step(true);
        if (messages(location).back().value == old) {
            block(&messages(location), false);
        } else {
            self().fresh = true;
        }
    }
}

inline void Checker::notify_all(int location) {
    step(false);
    wake(&messages(location), true);
}

inline bool Checker::try_acquire(Lock& lock) {
    step(true);
    if (lock.owner != none) return false;
    lock.owner = current_;
    self().now.join(lock.view);
    return true;
}

inline void Checker::acquire(Lock& lock) {
    while (!try_acquire(lock)) block(&lock, false);
}

inline void Checker::release(Lock& lock) {
    step(false);
    lock.view = self().now;
    ++own_time();
    lock.owner = none;
    ++writes_;
    wake(&lock, true);
}

inline bool Checker::wait_on(const void* condition, Lock& lock, bool timed) {
    // no step between unlocking and blocking: wake-ups go astray before wait() or not at all
    lock.view = self().now;
    ++own_time();
    lock.owner = none;
    ++writes_;
    wake(&lock, true);
    block(condition, timed);
    const bool in_time = !self().timed_out;
    acquire(lock);
    return in_time;
}

inline void Checker::plain_read(Plain& data) {
    if (aborting_) return;
    refresh(data);
    if (data.writer != current_ && self().now.at[static_cast<std::size_t>(data.writer)] < data.written) {
        fail("a thread reads data that another one writes at the same time");
    }
    data.read[static_cast<std::size_t>(current_)] = own_time();
}

inline void Checker::plain_write(Plain& data) {
    if (aborting_) return;
    refresh(data);
    for (int thread = 0; thread <= thread_count_; ++thread) {
        if (thread == current_) continue;
        const auto t = static_cast<std::size_t>(thread);
        const std::uint32_t last = thread == data.writer ? std::max(data.written, data.read[t]) : data.read[t];
        if (self().now.at[t] < last) fail("a thread writes data that another one uses at the same time");
    }
    data.writer = current_;
    data.written = own_time();
}

}  // namespace basalt_model
