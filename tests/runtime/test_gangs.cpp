// Gang tasks: who enters, what a barrier and an error do to them, and that none ever waits in vain for
// another.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "basalt/array.hpp"
#include "basalt/runtime.hpp"
#include "base/topology.hpp"
#include "tests/common/catch.hpp"
#include "tests/common/mentions.hpp"
#include "tests/common/runtime_settings.hpp"
#include "tests/common/watchdog.hpp"

using namespace basalt;
using basalt_tests::every_setting;
using basalt_tests::mentions;
using basalt_tests::Watchdog;
using basalt_tests::WatchedSetting;

TEST_CASE("all members of a gang are inside at once and ranks are distinct", "[sanitize]") {
    const WatchedSetting setting(GENERATE(from_range(every_setting())));
    Runtime runtime(setting.config());
    for (int asked = 1; asked <= 8; ++asked) {
        std::atomic<int> inside{0};
        std::atomic<int> ranks{0};
        std::atomic<int> size{0};
        std::atomic<bool> alone{false};
        runtime.submit({.name = "gang", .threads = {asked, asked}}, [&](const Team& team) {
            size = team.size();
            ++inside;
            ranks += 1 << team.rank();
            team.barrier();
            if (inside != team.size()) alone = true;
            team.barrier();
        });
        runtime.wait();
        CAPTURE(asked);
        CHECK(size == std::min(asked, setting.workers));
        CHECK(ranks == (1 << size) - 1);
        CHECK_FALSE(alone);
    }
}

TEST_CASE("a gang gets at least its minimum and at most its maximum, clamped to the workers there are") {
    const WatchedSetting setting(GENERATE(from_range(every_setting())));
    Runtime runtime(setting.config());
    std::atomic<int> wrong{0};
    for (const Threads threads : {Threads{1, 3}, Threads{2, 100}, Threads{50, 100}, Threads{3, 3}}) {
        for (int i = 0; i < 20; ++i) {
            runtime.submit({.threads = threads}, [&, threads](const Team& team) {
                const int most = std::min(threads.max, setting.workers);
                const int least = std::min(threads.min, most);
                if (team.size() < least || team.size() > most) ++wrong;
            });
        }
        runtime.wait();
    }
    CHECK(wrong == 0);
}

TEST_CASE("a gang with a senseless number of threads is refused, naming it") {
    Runtime runtime({.workers = 1});
    for (const Threads threads : {Threads{0, 1}, Threads{-1, 2}, Threads{3, 2}}) {
        try {
            runtime.submit({.name = "trio", .threads = threads}, [](const Team&) {});
            FAIL("no exception");
        } catch (const UsageError& error) {
            CAPTURE(error.what());
            CHECK(mentions(error.what(), "trio"));
            CHECK(mentions(error.what(), "{" + std::to_string(threads.min) + ", " + std::to_string(threads.max) + "}"));
        }
    }
}

TEST_CASE("what members write before a barrier is seen by all behind it", "[sanitize]") {
    const WatchedSetting setting(GENERATE(from_range(every_setting({2, 8}))));
    Runtime runtime(setting.config());
    std::vector<long> plain(8, 0);
    Array<long> sum(runtime, 1);
    runtime.submit({.threads = {2, 8}}, readwrite(sum), [&plain](const Team& team, View<long> sum) {
        for (long round = 0; round < 500; ++round) {
            plain[static_cast<std::size_t>(team.rank())] = round;
            team.barrier();
            if (team.rank() == 0) {
                for (int rank = 0; rank < team.size(); ++rank)
                    sum[0] += plain[static_cast<std::size_t>(rank)] == round ? 0 : 1;
            }
            team.barrier();
        }
    });
    runtime.wait();
    CHECK(sum.host_view()[0] == 0);
}

TEST_CASE("a gang takes part in the order of accesses like any task") {
    const WatchedSetting setting(GENERATE(from_range(every_setting())));
    Runtime runtime(setting.config());
    Array<long> x(runtime, 1);
    for (int i = 0; i < 50; ++i) {
        runtime.submit({.threads = {1, 4}}, readwrite(x), [i](const Team& team, View<long> x) {
            team.barrier();
            if (team.rank() == team.size() - 1) x[0] = 3 * x[0] + i;
            team.barrier();
        });
        runtime.submit({}, readwrite(x), [i](View<long> x) { x[0] = 2 * x[0] - i; });
        x.host_view()[0] %= 1000;
    }
    long expected = 0;
    for (int i = 0; i < 50; ++i) expected = (2 * (3 * expected + i) - i) % 1000;
    CHECK(x.host_view()[0] == expected);
}

TEST_CASE("when a member throws, the others leave their barrier and wait() rethrows that error", "[sanitize]") {
    const WatchedSetting setting(GENERATE(from_range(every_setting())));
    Runtime runtime(setting.config());
    for (int repeat = 0; repeat < 20; ++repeat) {
        std::atomic<int> too_far{0};
        runtime.submit({.name = "quarrel", .threads = {4, 4}, .tile = {repeat}}, [&](const Team& team) {
            team.barrier();
            if (team.rank() == repeat % team.size()) throw std::runtime_error("I go");
            team.barrier();
            ++too_far;
        });
        try {
            runtime.wait();
            FAIL("no exception");
        } catch (const TaskError& error) {
            CHECK(error.task() == "quarrel(" + std::to_string(repeat) + ")");
            CHECK(mentions(error.what(), "I go"));
        }
        CHECK(too_far == 0);
    }
    std::atomic<int> ran{0};
    runtime.submit({.threads = {2, 2}}, [&](const Team& team) {
        team.barrier();
        ++ran;
    });
    runtime.wait();
    CHECK(ran == std::min(2, setting.workers));
}

TEST_CASE("when all members throw, one of their errors is rethrown and the runtime goes on") {
    const WatchedSetting setting(GENERATE(from_range(every_setting())));
    Runtime runtime(setting.config());
    runtime.submit({.name = "all", .threads = {8, 8}},
                   [](const Team& team) { throw std::runtime_error("member " + std::to_string(team.rank())); });
    CHECK_THROWS_AS(runtime.wait(), TaskError);
    runtime.submit({}, [] {});
    runtime.wait();
}

TEST_CASE("members may return early and the others' barriers no longer wait for them") {
    const WatchedSetting setting(GENERATE(from_range(every_setting())));
    Runtime runtime(setting.config());
    std::atomic<int> passed{0};
    std::atomic<int> size{0};
    runtime.submit({.threads = {4, 8}}, [&](const Team& team) {
        size = team.size();
        for (int round = 0; round < team.rank(); ++round) {
            team.barrier();
            ++passed;
        }
    });
    runtime.wait();
    CHECK(passed == size * (size - 1) / 2);
}

TEST_CASE("twenty gangs with children run at once, with more members than cores") {
    const WatchedSetting setting(GENERATE(from_range(every_setting())));
    Runtime runtime(setting.config());
    std::atomic<int> children{0};
    std::atomic<int> members{0};
    std::atomic<int> expected_members{0};
    for (int gang = 0; gang < 20; ++gang) {
        runtime.submit({.priority = gang % 3, .threads = {gang % 5 + 1, 8}}, [&](const Team& team) {
            if (team.rank() == 0) expected_members += team.size();
            ++members;
            for (int i = 0; i < 5; ++i) runtime.submit({}, [&] { ++children; });
            runtime.wait();
            team.barrier();
            for (int i = 0; i < 5; ++i)
                runtime.submit({.threads = {2, 2}}, [&](const Team& inner) {
                    inner.barrier();
                    if (inner.rank() == 0) ++children;
                });
        });
    }
    runtime.wait();
    CHECK(members == expected_members);
    CHECK(children == 10 * members);
}

TEST_CASE("gangs nest in gangs, three levels deep") {
    const WatchedSetting setting(GENERATE(from_range(every_setting())));
    Runtime runtime(setting.config());
    std::atomic<int> innermost{0};
    for (int i = 0; i < 4; ++i) {
        runtime.submit({.threads = {2, 4}}, [&](const Team& outer) {
            outer.barrier();
            if (outer.rank() == 0) {
                for (int j = 0; j < 4; ++j) {
                    runtime.submit({.threads = {2, 4}}, [&](const Team& middle) {
                        middle.barrier();
                        if (middle.rank() == 0) {
                            for (int k = 0; k < 4; ++k) {
                                runtime.submit({.threads = {2, 4}}, [&](const Team& inner) {
                                    inner.barrier();
                                    if (inner.rank() == inner.size() - 1) ++innermost;
                                });
                            }
                            runtime.wait();
                        }
                        middle.barrier();
                    });
                }
                runtime.wait();
            }
            outer.barrier();  // the others stand here while rank 0 waits for the inner gangs
        });
    }
    runtime.wait();
    CHECK(innermost == 64);
}

TEST_CASE("a member that waits inside its gang never leads a gang that needs the fellow at the barrier") {
    const WatchedSetting setting(GENERATE(from_range(every_setting({2, 3, 4}))));
    Runtime runtime(setting.config());
    std::atomic<int> foreign_gangs{0};
    for (int repeat = 0; repeat < 30; ++repeat) {
        // plain parents whose children submit gangs and wait for them ...
        for (int parent = 0; parent < 3; ++parent) {
            runtime.submit({}, [&] {
                for (int child = 0; child < 3; ++child) {
                    runtime.submit({}, [&] {
                        runtime.submit({.threads = {2, 2}}, [&](const Team& team) {
                            team.barrier();
                            if (team.rank() == 0) ++foreign_gangs;
                        });
                        runtime.wait();
                    });
                }
                runtime.wait();
            });
        }
        // ... next to gangs in which one member waits for children while the others wait at the barrier
        runtime.submit({.threads = {2, 8}}, [&](const Team& team) {
            if (team.rank() == 0) {
                for (int child = 0; child < 3; ++child) runtime.submit({}, [] { std::this_thread::yield(); });
                runtime.wait();
            }
            team.barrier();
        });
    }
    runtime.wait();
    CHECK(foreign_gangs == 30 * 9);
}

TEST_CASE("gangs nested deeper than there are queues still find their members") {
    const WatchedSetting setting(GENERATE(from_range(every_setting({1, 2, 4}))));
    Runtime runtime(setting.config());
    std::atomic<int> bottom{0};
    struct Descent {
        Runtime& runtime;
        std::atomic<int>& bottom;
        void operator()(int depth) const {
            if (depth == 0) {
                runtime.submit({.threads = {2, 2}}, [this](const Team& team) {
                    team.barrier();
                    if (team.rank() == 0) ++bottom;
                });
            } else {
                runtime.submit({}, [this, depth] { (*this)(depth - 1); });
            }
            runtime.wait();
        }
    };
    const Descent descend{runtime, bottom};
    descend(30);
    CHECK(bottom == 1);
}

TEST_CASE("a cancelled gang does not run, and one that runs notices") {
    const WatchedSetting setting(GENERATE(from_range(every_setting())));
    Runtime runtime(setting.config());
    std::atomic<bool> started{false};
    std::atomic<int> ran{0};
    Array<int> x(runtime, 1);
    runtime.submit({.threads = {2, 2}}, readwrite(x), [&](const Team&, View<int>) {
        started = true;
        while (!runtime.cancelled()) std::this_thread::yield();
    });
    runtime.submit({.threads = {2, 2}}, readwrite(x), [&](const Team&, View<int>) { ++ran; });
    std::thread canceller([&] {
        while (!started) std::this_thread::yield();
        runtime.cancel();
    });
    CHECK_THROWS_AS(runtime.wait(), Cancelled);
    canceller.join();
    CHECK(ran == 0);
}

TEST_CASE("a gang assembles although no thread waits for it") {
    const WatchedSetting setting(GENERATE(from_range(every_setting())));
    Runtime runtime(setting.config());
    std::atomic<int> entered{0};
    runtime.submit({.threads = {8, 8}}, [&](const Team& team) {
        team.barrier();
        ++entered;
    });
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (entered < setting.workers && std::chrono::steady_clock::now() < limit) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    CHECK(entered == setting.workers);
    runtime.wait();
}

// Run under HWLOC_SYNTHETIC, which makes a machine of two sockets with two cores each.
TEST_CASE("a gang that fits a socket has all its members from there", "[.two_sockets]") {
    const Watchdog watchdog("two sockets");
    Runtime runtime({.workers = 4, .trace = true});
    REQUIRE(detail::package_of(1) == 0);
    REQUIRE(detail::package_of(2) == 1);
    for (int round = 0; round < 200; ++round) {
        runtime.submit({.name = "pair", .threads = {2, 2}}, [](const Team& team) { team.barrier(); });
        if (round % 10 == 0) {
            runtime.submit({.name = "all", .threads = {4, 4}}, [](const Team& team) { team.barrier(); });
        }
        for (int i = 0; i < 5; ++i) runtime.submit({.name = "single"}, [] {});
    }
    runtime.wait();
    std::map<std::uint64_t, std::set<int>> sockets;
    for (const TraceEvent& event : runtime.take_trace().events) {
        if (event.name == "pair") sockets[event.id].insert(event.row / 2);
    }
    CHECK(sockets.size() == 200);
    CHECK(std::all_of(sockets.begin(), sockets.end(), [](const auto& pair) { return pair.second.size() == 1; }));
}

// Run under HWLOC_SYNTHETIC as well.
TEST_CASE("a gang near pinned memory comes from one socket, whichever worker leads it", "[.two_sockets]") {
    const Watchdog watchdog("two sockets");
    Config config{.workers = 4, .trace = true};
    config.emulation.gpus = 1;
    Runtime runtime(config);
    std::atomic<int> members{0};
    for (int round = 0; round < 300; ++round) {
        runtime.submit({.name = "pair", .threads = {2, 2}, .place = Place::cpu(), .near_pinned_memory = true},
                       [&](const Team& team) {
                           team.barrier();
                           members += team.size() == 2 && team.rank() < 2 ? 1 : 0;
                       });
        if (round % 10 == 0) {
            runtime.submit({.name = "all", .threads = {4, 4}, .place = Place::cpu(), .near_pinned_memory = true},
                           [](const Team& team) { team.barrier(); });
            runtime.submit({.name = "any", .threads = {2, 2}, .place = Place::cpu()},
                           [](const Team& team) { team.barrier(); });
        }
        for (int i = 0; i < 5; ++i) runtime.submit({.name = "single", .place = Place::cpu()}, [] {});
    }
    runtime.wait();
    CHECK(members == 600);
    std::map<std::string, std::set<int>> sockets;
    for (const TraceEvent& event : runtime.take_trace().events) sockets[event.name].insert(event.row / 2);
    CHECK(sockets["pair"] == std::set<int>{0});
    CHECK(sockets["all"] == std::set<int>{0, 1});
}
