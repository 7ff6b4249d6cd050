#pragma once

#include <source_location>

#include "tests/model/memory.hpp"
#include "tests/model/std_headers.hpp"

/// std with other atomics, mutexes, conditions and pauses: a unit of the library that is compiled with `std` defined as
/// this name runs under the checker. A name declared here hides the one that the using-directive would give.
namespace checked_std {

using namespace std;

inline basalt_model::Checker& checker() { return basalt_model::Checker::get(); }

template <class T>
class atomic {
    static_assert(sizeof(T) <= 8 && is_trivially_copyable_v<T>);
    using Where = source_location;

  public:
    atomic() : atomic(T{}) {}
    // NOLINTNEXTLINE(google-explicit-constructor): as in std
    atomic(T value) : initial_(value) { checker().forget(this); }
    atomic(const atomic&) = delete;
    atomic& operator=(const atomic&) = delete;

    T load(memory_order order = memory_order_seq_cst, Where where = Where::current()) const {
        return unpacked(checker().load(at(), order, where));
    }
    void store(T value, memory_order order = memory_order_seq_cst, Where where = Where::current()) {
        checker().store(at(), packed(value), order, where);
    }
    T exchange(T value, memory_order order = memory_order_seq_cst, Where where = Where::current()) {
        return update(order, where, [&](T) { return value; });
    }
    T fetch_add(T by, memory_order order = memory_order_seq_cst, Where where = Where::current()) {
        return update(order, where, [&](T old) { return static_cast<T>(old + by); });
    }
    T fetch_sub(T by, memory_order order = memory_order_seq_cst, Where where = Where::current()) {
        return update(order, where, [&](T old) { return static_cast<T>(old - by); });
    }
    T fetch_or(T bits, memory_order order = memory_order_seq_cst, Where where = Where::current()) {
        return update(order, where, [&](T old) { return static_cast<T>(old | bits); });
    }
    bool compare_exchange_strong(T& expected, T desired, memory_order order, memory_order failed,
                                 Where where = Where::current()) {
        const uint64_t wanted = packed(expected);
        if (const auto stale = checker().stale_other_than(at(), wanted, failed, where)) {
            expected = unpacked(*stale);
            return false;
        }
        const uint64_t old = checker().read_modify_write(
            at(), order, failed, where,
            [&](uint64_t now) -> optional<uint64_t> { return now == wanted ? optional(packed(desired)) : nullopt; });
        expected = unpacked(old);
        return old == wanted;
    }
    bool compare_exchange_weak(T& expected, T desired, memory_order order, memory_order failed,
                               Where where = Where::current()) {
        return compare_exchange_strong(expected, desired, order, failed, where);
    }
    void wait(T old, memory_order order = memory_order_seq_cst, Where where = Where::current()) const {
        checker().wait_while(at(), packed(old), order, where);
    }
    void notify_all() { checker().notify_all(at()); }

  private:
    static uint64_t packed(T value) {
        uint64_t bits = 0;
        memcpy(&bits, &value, sizeof(T));
        return bits;
    }
    static T unpacked(uint64_t bits) {
        T value;
        memcpy(&value, &bits, sizeof(T));
        return value;
    }
    template <class F>
    T update(memory_order order, Where where, const F& f) {
        return unpacked(checker().read_modify_write(
            at(), order, order, where, [&](uint64_t old) -> optional<uint64_t> { return packed(f(unpacked(old))); }));
    }
    int at() const { return checker().location_of(this, packed(initial_)); }

    // nothing else: objects keep the size and the layout that they have with std::atomic
    alignas(sizeof(T)) T initial_;
};

inline void atomic_thread_fence(memory_order order, source_location where = source_location::current()) {
    checker().fence(order, where);
}

class mutex {
  public:
    void lock() { checker().acquire(lock_); }
    bool try_lock() { return checker().try_acquire(lock_); }
    void unlock() { checker().release(lock_); }
    basalt_model::Checker::Lock& model() { return lock_; }

  private:
    basalt_model::Checker::Lock lock_;
};

class condition_variable {
  public:
    template <class Done>
    void wait(unique_lock<mutex>& guard, Done done) {
        while (!done()) checker().wait_on(this, guard.mutex()->model(), false);
    }
    template <class Time>
    cv_status wait_until(unique_lock<mutex>& guard, const Time&) {
        return checker().wait_on(this, guard.mutex()->model(), true) ? cv_status::no_timeout : cv_status::timeout;
    }
    template <class Time, class Done>
    bool wait_until(unique_lock<mutex>& guard, const Time& time, Done done) {
        while (!done()) {
            if (wait_until(guard, time) == cv_status::timeout) return done();
        }
        return true;
    }
    template <class Time, class... Done>
    auto wait_for(unique_lock<mutex>& guard, const Time& time, Done... done) {
        return wait_until(guard, time, done...);
    }
    void notify_one() { checker().wake(this, false); }
    void notify_all() { checker().wake(this, true); }
};

/// A container whose shape is plain data to the checker: uses that nothing orders are races. Elements and iterators are
/// not watched.
template <class Base>
class Watched : public Base {
  public:
    using Base::Base;
    using Base::operator=;

    bool empty() const { return shape_.read(), Base::empty(); }
    size_t size() const { return shape_.read(), Base::size(); }
    decltype(auto) front() { return shape_.read(), Base::front(); }
    decltype(auto) back() { return shape_.read(), Base::back(); }
    decltype(auto) back() const { return shape_.read(), Base::back(); }
    template <class Value>
    void push_back(Value&& value) {
        shape_.write();
        Base::push_back(std::forward<Value>(value));
    }
    template <class... Arguments>
    auto insert(Arguments&&... arguments) {
        shape_.write();
        return Base::insert(std::forward<Arguments>(arguments)...);
    }
    void pop_back() {
        shape_.write();
        Base::pop_back();
    }
    void pop_front() {
        shape_.write();
        Base::pop_front();
    }
    void clear() {
        shape_.write();
        Base::clear();
    }

  private:
    /// Every object has its own, whatever is copied.
    struct Shape {
        mutable basalt_model::Checker::Plain data;
        Shape() = default;
        Shape(const Shape&) {}
        Shape& operator=(const Shape&) { return *this; }
        void read() const { checker().plain_read(data); }
        void write() { checker().plain_write(data); }
    };
    Shape shape_;
};

template <class T>
class vector : public Watched<std::vector<T>> {
  public:
    using Watched<std::vector<T>>::Watched;
};
template <class T>
class deque : public Watched<std::deque<T>> {
  public:
    using Watched<std::deque<T>>::Watched;
};

namespace this_thread {
inline void yield() { checker().yield(); }
}  // namespace this_thread

}  // namespace checked_std
