#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <exception>
#include <optional>
#include <source_location>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "tests/common/fiber.hpp"

/// A model checker for lock-free code: see docs/decisions/0027-model-checking.md for what it covers.
namespace basalt_model {

using basalt_tests::Fiber;
using std::memory_order;

constexpr int most_threads = 7;  ///< besides the one that constructs the model and looks at the end
constexpr int most_locations = 56;

/// What a thread knows: of each thread how far it got (entries 0 to 7), which orders plain data, and of each location
/// the oldest store that may still be read.
struct View {
    std::array<std::uint32_t, most_threads + 1 + most_locations> at{};
    void join(const View& other) {
        for (std::size_t i = 0; i < at.size(); ++i) at[i] = std::max(at[i], other.at[i]);
    }
};

enum class Access : std::uint8_t { load, store, rmw, failed_compare, fence };

/// A seeded mistake: accesses of this kind in functions whose name contains `function` have a weaker order.
struct Weakened {
    std::string_view function;
    Access access;
    memory_order to = std::memory_order_relaxed;
};

struct Options {
    std::uint64_t schedules = 20'000;
    std::optional<Weakened> weakened{};
    /// Depth-first through all schedules with at most this many preemptions, instead of random ones.
    std::optional<int> preemptions{};
};

struct Outcome {
    std::uint64_t schedules = 0;
    bool complete = false;  ///< depth-first: there are no others
    std::string failure;    ///< with seed and trace; empty: none
};

class Checker {
  public:
    static Checker& get() {
        static Checker checker;
        return checker;
    }

    template <class Model>
    Outcome explore(const Options& options);

    // -- what models and the stand-ins for std call
    void fail(const std::string& what);
    /// The number of an atomic object in this schedule: it gets one when it is first used.
    int location_of(const void* object, std::uint64_t initial);
    /// Another object begins there.
    void forget(const void* object);
    std::uint64_t load(int location, memory_order order, std::source_location where);
    void store(int location, std::uint64_t value, memory_order order, std::source_location where);
    /// update(old): the new value, or nothing where the comparison failed, which is a load then.
    template <class Update>
    std::uint64_t read_modify_write(int location, memory_order order, memory_order failed, std::source_location where,
                                    const Update& update);
    /// A compare-exchange that reads a store older than the newest can only fail.
    std::optional<std::uint64_t> stale_other_than(int location, std::uint64_t expected, memory_order order,
                                                  std::source_location where);
    void fence(memory_order order, std::source_location where);
    void wait_while(int location, std::uint64_t old, memory_order order, std::source_location where);
    void notify_all(int location);
    void spin();
    void yield();

    struct Lock {
        int owner = none;
        View view;
    };
    void acquire(Lock& lock);
    void release(Lock& lock);
    bool try_acquire(Lock& lock);
    /// False: the time limit ended, which happens only where no other thread can run.
    bool wait_on(const void* condition, Lock& lock, bool timed);
    void wake(const void* condition, bool all);

    struct Plain {
        unsigned run = 0;  ///< the schedule of its last use: what came before is forgotten
        int writer = 0;
        std::uint32_t written = 0;
        std::array<std::uint32_t, most_threads + 1> read{};
    };
    void refresh(Plain& data) const {
        if (data.run != run_) data = {.run = run_, .read = {}};
    }
    void plain_read(Plain& data);
    void plain_write(Plain& data);

    static constexpr int none = -1;

  private:
    struct Message {
        std::uint64_t value;
        View view;
    };
    enum class State : std::uint8_t { ready, blocked, timed, finished };
    struct Thread {
        View now;
        View acquired;  ///< what relaxed loads read, for a later fence
        View released;  ///< at the last release fence
        State state = State::ready;
        const void* waits_for = nullptr;
        bool timed_out = false;
        bool yielded = false;
        bool fresh = false;            ///< its next load reads the newest store
        std::uint64_t yielded_at = 0;  ///< value of writes_
        int burst = 0;                 ///< spins left during which no other thread runs
        int priority = 0;
        Fiber fiber;
    };
    struct Abort {};

    Thread& self() { return threads_[static_cast<std::size_t>(current_)]; }
    std::uint32_t& seen(int location) { return self().now.at[static_cast<std::size_t>(most_threads + 1 + location)]; }
    std::uint32_t& own_time() { return self().now.at[static_cast<std::size_t>(current_)]; }
    static std::size_t index(int location) { return static_cast<std::size_t>(most_threads + 1 + location); }
    struct Known {
        unsigned run = 0;  ///< the schedule that the entry is of
        const void* object = nullptr;
        int location = none;
    };
    Known& known(const void* object);
    std::vector<Message>& messages(int location) { return locations_[static_cast<std::size_t>(location)]; }

    void begin(std::uint64_t seed);
    template <class Model>
    bool execute(std::uint64_t seed);
    template <class Model>
    std::string described(std::uint64_t seed);
    void run_threads(int count);
    static void thread_main();
    void thread_body();
    void to_main();
    bool next_path();

    void step(bool may_throw);
    void block(const void* what, bool timed);
    int pick();
    int pick_among(const std::array<int, most_threads>& candidates, int count, bool may_stay);
    std::uint32_t choose(std::uint32_t count);
    std::uint64_t random();
    void switch_to(int thread);
    void acquire_view(const View& view, memory_order order);
    void append(int location, std::uint64_t value, memory_order order, const View* continued);
    memory_order effective(Access access, memory_order order, const std::source_location& where) const;
    void note(const char* what, int location, std::uint64_t value, memory_order order,
              const std::source_location& where);

    std::array<Thread, most_threads + 1> threads_;  // 0: main
    std::array<std::vector<Message>, most_locations> locations_;
    int used_locations_ = 0;
    std::array<Known, 256> known_;  ///< by address, with open addressing
    View sc_;
    int current_ = 0;
    int thread_count_ = 0;
    unsigned run_ = 0;
    std::uint64_t steps_ = 0;
    std::uint64_t writes_ = 0;
    std::uint64_t rng_ = 0;
    bool by_priority_ = false;
    int lowest_ = 0;
    std::array<std::uint64_t, 4> changes_{};  ///< steps at which the running thread's priority falls
    std::uint64_t expected_steps_ = 64;
    bool aborting_ = false;
    std::string failure_;
    Options options_;
    void* model_ = nullptr;
    void (*body_)(void*, int) = nullptr;
    bool tracing_ = false;
    std::ostringstream trace_;

    struct Choice {
        std::uint32_t taken;
        std::uint32_t count;
    };
    std::vector<Choice> path_;
    std::size_t depth_ = 0;
    int preempted_ = 0;
};

/// Plain data that threads hand to each other: an access that is not ordered behind others by happens-before fails.
template <class T>
class Shared {
  public:
    Shared(T value = {}) : value_(value) { Checker::get().plain_write(data_); }
    T read() const {
        Checker::get().plain_read(data_);
        return value_;
    }
    void write(T value) {
        Checker::get().plain_write(data_);
        value_ = value;
    }

  private:
    mutable Checker::Plain data_;
    T value_;
};

inline void require(bool holds, const char* what) {
    if (!holds) Checker::get().fail(what);
}

}  // namespace basalt_model
