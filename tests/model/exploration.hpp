#pragma once

#include <cstdlib>
#include <memory>

#include "tests/model/checker.hpp"

/// The checker's schedules: seeded ones, half of them with random priorities that change at a few random steps
/// (Burckhardt et al., "A randomized scheduler with probabilistic guarantees of finding bugs", ASPLOS 2010), and
/// depth-first ones with a bound on preemptions.
namespace basalt_model {

constexpr std::uint64_t most_steps = 20'000;

inline std::uint64_t Checker::random() {  // splitmix64, Steele et al. 2014
    std::uint64_t z = rng_ += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
}

/// Below `count`; 0, the usual, half of the time.
inline std::uint32_t Checker::choose(std::uint32_t count) {
    if (count <= 1) return 0;
    if (!options_.preemptions) {
        const std::uint64_t number = random();
        return (number & 1) != 0 ? 0 : static_cast<std::uint32_t>((number >> 1) % count);
    }
    if (depth_ == path_.size()) path_.push_back({0, count});
    return path_[depth_++].taken;
}

inline bool Checker::next_path() {
    while (!path_.empty() && path_.back().taken + 1 == path_.back().count) path_.pop_back();
    if (path_.empty()) return false;
    ++path_.back().taken;
    return true;
}

inline int Checker::pick_among(const std::array<int, most_threads>& candidates, int count, bool may_stay) {
    const auto candidate = [&](std::uint32_t i) { return candidates[static_cast<std::size_t>(i)]; };
    if (count == 1) return candidate(0);
    if (options_.preemptions) {
        if (may_stay && preempted_ >= *options_.preemptions) return candidate(0);
        const std::uint32_t chosen = choose(static_cast<std::uint32_t>(count));
        if (may_stay && chosen != 0) ++preempted_;
        return candidate(chosen);
    }
    if (!by_priority_) {
        if (may_stay && (random() & 3) != 0) return candidate(0);
        return candidate(static_cast<std::uint32_t>(random() % static_cast<std::uint64_t>(count)));
    }
    return *std::max_element(candidates.begin(), candidates.begin() + count, [&](int a, int b) {
        return threads_[static_cast<std::size_t>(a)].priority < threads_[static_cast<std::size_t>(b)].priority;
    });
}

/// The thread that runs next; 0 where all have finished, none where they wait for each other.
inline int Checker::pick() {
    std::array<int, most_threads> candidates{};
    int count = 0;
    bool finished = true;
    const auto eligible = [&](Thread& thread) {
        if (thread.yielded && writes_ != thread.yielded_at) thread.yielded = false;
        return thread.state == State::ready && !thread.yielded;
    };
    bool may_stay = false;
    if (current_ != 0 && eligible(self())) {
        candidates[0] = current_;
        count = 1;
        may_stay = true;
    }
    for (int i = 1; i <= thread_count_; ++i) {
        Thread& thread = threads_[static_cast<std::size_t>(i)];
        if (thread.state != State::finished) finished = false;
        if (i != current_ && eligible(thread)) candidates[static_cast<std::size_t>(count++)] = i;
    }
    if (count > 0) return pick_among(candidates, count, may_stay);
    if (finished) return 0;
    bool any = false;
    for (int i = 1; i <= thread_count_; ++i) {  // who spins looks again
        Thread& thread = threads_[static_cast<std::size_t>(i)];
        any = any || thread.yielded;
        thread.yielded = false;
    }
    for (int i = 1; i <= thread_count_ && !any; ++i) {  // time passes
        Thread& thread = threads_[static_cast<std::size_t>(i)];
        if (thread.state != State::timed) continue;
        thread.state = State::ready;
        thread.timed_out = true;
        any = true;
    }
    return any ? pick() : none;
}

inline void Checker::switch_to(int thread) {
    Fiber& from = self().fiber;
    current_ = thread;
    self().fiber.resume_from(from);
}

inline void Checker::to_main() { switch_to(0); }

/// Every access to an atomic begins with it: another thread may run first.
inline void Checker::step(bool may_throw) {
    if (current_ == 0) return;
    if (aborting_) {
        if (may_throw && std::uncaught_exceptions() == 0) throw Abort{};
        return;
    }
    if (++steps_ > most_steps) return fail("livelock: the threads run on without end");
    if (self().burst > 0) return;
    for (const std::uint64_t change : changes_) {
        if (change == steps_) self().priority = --lowest_;
    }
    const int next = pick();
    if (next != current_) {
        if (next == none) return fail("livelock: nothing can change any more");
        switch_to(next);
        if (aborting_ && may_throw && std::uncaught_exceptions() == 0) throw Abort{};
    }
}

inline void Checker::block(const void* what, bool timed) {
    if (aborting_) return step(true);
    if (current_ == 0) return fail("the model's constructor or end waits");
    Thread& thread = self();
    thread.burst = 0;
    thread.waits_for = what;
    thread.timed_out = false;
    thread.state = timed ? State::timed : State::blocked;
    const int next = pick();
    if (next == none) return fail("deadlock: all threads that are left sleep");
    if (next != current_) switch_to(next);
    if (aborting_ && std::uncaught_exceptions() == 0) throw Abort{};
}

inline void Checker::wake(const void* condition, bool all) {
    std::array<int, most_threads> waiting{};
    std::uint32_t count = 0;
    for (int i = 1; i <= thread_count_; ++i) {
        const Thread& thread = threads_[static_cast<std::size_t>(i)];
        if ((thread.state == State::blocked || thread.state == State::timed) && thread.waits_for == condition) {
            waiting[count++] = i;
        }
    }
    if (count == 0) return;
    const std::uint32_t one = all ? 0 : choose(count);
    for (std::uint32_t i = all ? 0 : one; i < (all ? count : one + 1); ++i) {
        threads_[static_cast<std::size_t>(waiting[i])].state = State::ready;
    }
}

/// A pause in a loop that polls. Either another thread runs until something has changed, or, now and then, the loop
/// goes on for long without: so a bounded one ends and parks.
inline void Checker::spin() {
    if (current_ == 0 || aborting_) return step(true);
    Thread& thread = self();
    if (thread.burst > 0) {
        if (--thread.burst == 0) yield();
        return;
    }
    if (choose(4) == 1) {
        thread.burst = 250;
        return;
    }
    yield();
}

inline void Checker::yield() {
    if (current_ == 0 || aborting_) return step(true);
    Thread& thread = self();
    thread.burst = 0;
    thread.fresh = true;  // stores become visible after a finite time
    thread.yielded = true;
    thread.yielded_at = writes_;
    if (by_priority_) thread.priority = --lowest_;
    step(true);
}

/// Ends the schedule. The fiber that calls it is unwound later.
inline void Checker::fail(const std::string& what) {
    if (aborting_) return;
    if (failure_.empty()) failure_ = what;
    if (current_ == 0) return;
    to_main();
    if (std::uncaught_exceptions() == 0) throw Abort{};
}

inline void Checker::note(const char* what, int location, std::uint64_t value, memory_order order,
                          const std::source_location& where) {
    if (!tracing_ || aborting_) return;
    constexpr std::array names{"relaxed", "consume", "acquire", "release", "acq_rel", "seq_cst"};
    const std::string_view file = where.file_name();
    trace_ << "  thread " << current_ << ": " << what << ' ' << names[static_cast<std::size_t>(order)];
    if (location != none) trace_ << " of a" << location << ": " << value;
    trace_ << "  " << file.substr(file.rfind('/') + 1) << ':' << where.line() << '\n';
}

inline void Checker::thread_main() { get().thread_body(); }

inline void Checker::thread_body() {
    try {
        if (!aborting_) body_(model_, current_ - 1);
    } catch (const Abort&) {
    }
    self().state = State::finished;
    ++writes_;
    int next = aborting_ ? 0 : pick();
    if (next == none) {
        failure_ = "deadlock: all threads that are left sleep";
        next = 0;
    }
    switch_to(next);
}

inline void Checker::begin(std::uint64_t seed) {
    ++run_;
    used_locations_ = 0;
    sc_ = {};
    current_ = thread_count_ = 0;
    steps_ = writes_ = 0;
    depth_ = 0;
    preempted_ = 0;
    lowest_ = 0;
    aborting_ = false;
    failure_.clear();
    rng_ = seed * 0xd1342543de82ef95 + 1;
    by_priority_ = !options_.preemptions && (random() & 1) != 0;
    changes_ = {};
    const std::uint64_t changes = random() % (changes_.size() + 1);
    for (std::uint64_t i = 0; by_priority_ && i < changes; ++i) {
        changes_[static_cast<std::size_t>(i)] = 1 + random() % expected_steps_;
    }
    threads_[0].now = threads_[0].acquired = threads_[0].released = {};
    threads_[0].now.at[0] = 1;
}

inline void Checker::run_threads(int count) {
    thread_count_ = count;
    ++threads_[0].now.at[0];
    for (int i = 1; i <= count; ++i) {
        Thread& thread = threads_[static_cast<std::size_t>(i)];
        thread.now = threads_[0].now;
        --thread.now.at[0];
        thread.now.at[static_cast<std::size_t>(i)] = 1;
        thread.acquired = thread.released = {};
        thread.state = State::ready;
        thread.yielded = thread.fresh = thread.timed_out = false;
        thread.burst = 0;
        thread.priority = static_cast<int>(random() % 1000) + 1;
        thread.fiber.prepare(&Checker::thread_main);
    }
    switch_to(pick());
    aborting_ = true;
    for (int i = 1; i <= count; ++i) {
        if (threads_[static_cast<std::size_t>(i)].state != State::finished) switch_to(i);
    }
    aborting_ = false;
    for (int i = 1; i <= count; ++i) threads_[0].now.join(threads_[static_cast<std::size_t>(i)].now);
}

/// One schedule. False where it failed.
template <class Model>
bool Checker::execute(std::uint64_t seed) {
    begin(seed);
    auto model = std::make_unique<Model>();
    model_ = model.get();
    body_ = [](void* object, int thread) { static_cast<Model*>(object)->run(thread); };
    run_threads(Model::threads);
    if (failure_.empty()) model->finish();
    return failure_.empty();
}

template <class Model>
std::string Checker::described(std::uint64_t seed) {
    tracing_ = true;
    trace_.str({});
    execute<Model>(seed);
    tracing_ = false;
    std::ostringstream text;
    text << failure_ << '\n';
    if (!options_.preemptions) text << "again with BASALT_MODEL_SEED=" << seed << '\n';
    text << trace_.str();
    return text.str();
}

template <class Model>
Outcome Checker::explore(const Options& options) {
    options_ = options;
    path_.clear();
    expected_steps_ = 64;
    execute<Model>(0);
    expected_steps_ = std::max<std::uint64_t>(steps_, 1);
    const char* only = std::getenv("BASALT_MODEL_SEED");
    if (only != nullptr && !options.preemptions) {
        const std::uint64_t seed = std::strtoull(only, nullptr, 10);
        return {1, false, execute<Model>(seed) ? std::string() : described<Model>(seed)};
    }
    path_.clear();
    for (std::uint64_t seed = 1; seed <= options.schedules; ++seed) {
        if (!execute<Model>(seed)) return {seed, false, described<Model>(seed)};
        if (options.preemptions && !next_path()) return {seed, true, {}};
    }
    return {options.schedules, false, {}};
}

}  // namespace basalt_model
