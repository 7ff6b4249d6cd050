// Gangs whose size may vary: how long they wait for members, and that they do without threads that lose their cores.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "basalt/runtime.hpp"
#include "runtime/gangs/run_delay.hpp"
#include "tests/common/catch.hpp"
#include "tests/common/watchdog.hpp"

using namespace basalt;
using namespace std::chrono_literals;
using basalt_tests::Watchdog;

namespace {

/// What threads are told about themselves while one of these lives.
class LatenessForTests {
  public:
    explicit LatenessForTests(detail::LatenessSource source) { detail::set_lateness_source(source); }
    ~LatenessForTests() { detail::set_lateness_source(nullptr); }
    LatenessForTests(const LatenessForTests&) = delete;
    LatenessForTests& operator=(const LatenessForTests&) = delete;
};

/// The threads that the source reports as late.
class LateThreads {
  public:
    static void set(std::set<std::thread::id> threads) {
        const std::lock_guard guard(lock);
        late = std::move(threads);
    }
    static bool contain_this() {
        const std::lock_guard guard(lock);
        return late.count(std::this_thread::get_id()) > 0;
    }

  private:
    static inline std::mutex lock;
    static inline std::set<std::thread::id> late;
};

bool always() { return true; }
bool never() { return false; }

/// The threads that run one gang together.
std::set<std::thread::id> members_of_gang(Runtime& runtime, Threads threads) {
    std::mutex lock;
    std::set<std::thread::id> members;
    runtime.submit({.name = "gang", .threads = threads}, [&](const Team& team) {
        team.barrier();
        const std::lock_guard guard(lock);
        members.insert(std::this_thread::get_id());
    });
    runtime.wait();
    return members;
}

}  // namespace

TEST_CASE("a thread is late when it waited for a core for more than a fifth of its time") {
    constexpr std::uint64_t ms = 1'000'000;
    detail::RunDelay delay;
    CHECK_FALSE(delay.late());
    delay.update({1000 * ms, 5000 * ms});  // what was before the first look does not count
    CHECK_FALSE(delay.late());
    delay.update({1002 * ms, 5001 * ms});
    CHECK_FALSE(delay.late());  // 3 ms say nothing
    delay.update({1040 * ms, 5009 * ms});
    CHECK_FALSE(delay.late());  // 9 of 49
    delay.update({1050 * ms, 5020 * ms});
    CHECK(delay.late());  // 20 of 70
    delay.update({1400 * ms, 5020 * ms});
    CHECK_FALSE(delay.late());  // old time is forgotten ...
    delay.update({1420 * ms, 5060 * ms});
    CHECK(delay.late());  // ... and 60 ms are enough to notice
}

TEST_CASE("a gang that may be smaller waits for busy workers, but no longer than its patience") {
    const Watchdog watchdog("patience");
    const LatenessForTests source(never);
    Runtime runtime({.workers = 2});
    for (const bool patient : {true, false}) {
        std::atomic<bool> busy{false}, ran{false};
        std::atomic<int> size{0};
        runtime.submit({.name = "busy"}, [&] {
            busy = true;
            const auto end = std::chrono::steady_clock::now() + 30ms;
            while (patient ? std::chrono::steady_clock::now() < end : !ran) std::this_thread::yield();
        });
        // submitted by a task, so that the other worker is busy by then
        runtime.submit({.name = "submitter"}, [&] {
            while (!busy) std::this_thread::yield();
            runtime.submit({.name = "gang", .threads = {1, 2, patient ? 60'000'000us : 0us}}, [&](const Team& team) {
                size = team.size();
                team.barrier();
                ran = true;
            });
        });
        runtime.wait();
        CHECK(size == (patient ? 2 : 1));
    }
}

TEST_CASE("a negative patience is refused") {
    Runtime runtime({.workers = 1});
    CHECK_THROWS_AS(runtime.submit({.threads = {1, 2, -1us}}, [](const Team&) {}), UsageError);
}

TEST_CASE("where all threads are late a gang has its minimum and waits for no more") {
    const Watchdog watchdog("all late");
    const LatenessForTests source(always);
    Runtime runtime({.workers = 4});
    for (int round = 0; round < 20; ++round) {
        // far less than the patience: the watchdog would notice
        CHECK(members_of_gang(runtime, {1, 4, 600'000'000us}).size() == 1);
        CHECK(members_of_gang(runtime, {3, 4, 600'000'000us}).size() == 3);
        CHECK(members_of_gang(runtime, {4, 4}).size() == 4);
    }
}

TEST_CASE("a gang does without the one thread that is late, as a member and as its leader") {
    const Watchdog watchdog("one late");
    const LatenessForTests source(LateThreads::contain_this);
    Runtime runtime({.workers = 4});
    LateThreads::set({});
    const auto all = members_of_gang(runtime, {4, 4});
    REQUIRE(all.size() == 4);
    for (const std::thread::id late : all) {
        LateThreads::set({late});
        for (int round = 0; round < 10; ++round) {
            const auto members = members_of_gang(runtime, {1, 4, 600'000'000us});
            CHECK(members.size() >= 3);  // four if another thread stood in for the one that waits for the runtime
            CHECK(members.count(late) == 0);
        }
        LateThreads::set({});
        std::this_thread::sleep_for(250ms);  // what is known of that thread expires
        CHECK(members_of_gang(runtime, {1, 4, 600'000'000us}).size() == 4);
    }
}

TEST_CASE("gangs of any kind end while their threads are late now and then", "[sanitize]") {
    const Watchdog watchdog("now and then");
    const LatenessForTests source([] {
        thread_local unsigned number = 0;
        return ++number % 7 < 3;
    });
    for (const int workers : {2, 3, 5}) {
        Runtime runtime({.workers = workers});
        std::atomic<long> members{0}, expected{0};
        for (int i = 0; i < 300; ++i) {
            const int least = i % 3 + 1;
            const auto patience = std::chrono::microseconds(i % 5 * 100);
            runtime.submit({.name = "outer", .threads = {least, least + i % 4, patience}}, [&, i](const Team& team) {
                if (team.rank() == 0) expected += team.size();
                team.barrier();
                ++members;
                if (i % 10 != 0) return;
                runtime.submit({.name = "inner", .threads = {1, 3, 200us}}, [](const Team& inner) { inner.barrier(); });
                runtime.wait();
                team.barrier();
            });
            for (int k = 0; k < 3; ++k) runtime.submit({.name = "single"}, [] {});
        }
        runtime.wait();
        CHECK(members == expected);
    }
}
