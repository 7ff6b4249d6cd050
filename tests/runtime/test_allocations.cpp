// Submitting and running tasks takes no memory from the system once earlier tasks have left theirs. This program counts
// calls of operator new in all threads, the library's too.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <limits>
#include <new>
#include <utility>
#include <vector>

#include "basalt/array.hpp"
#include "basalt/runtime.hpp"
#include "basalt/token.hpp"
#include "tests/common/catch.hpp"
#include "tests/common/runtime_settings.hpp"
#include "tests/common/watchdog.hpp"

namespace {

std::atomic<std::size_t> allocations{0};

// Not inline, both: GCC warns of memory from aligned_alloc() that operator delete gets, or the other way round.
[[gnu::noinline]] void* counted(std::size_t bytes, std::size_t align) {
    allocations.fetch_add(1, std::memory_order_relaxed);
    const std::size_t whole = (std::max<std::size_t>(bytes, 1) + align - 1) / align * align;
    void* memory = std::aligned_alloc(align, whole);
    if (memory == nullptr) throw std::bad_alloc();
    return memory;
}

[[gnu::noinline]] void give_back(void* memory) { std::free(memory); }

}  // namespace

void* operator new(std::size_t bytes) { return counted(bytes, __STDCPP_DEFAULT_NEW_ALIGNMENT__); }
void* operator new(std::size_t bytes, std::align_val_t align) {
    return counted(bytes, static_cast<std::size_t>(align));
}
void operator delete(void* memory) noexcept { give_back(memory); }
void operator delete(void* memory, std::size_t) noexcept { give_back(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { give_back(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { give_back(memory); }

using namespace basalt;
using basalt_tests::small_machine;
using basalt_tests::Watchdog;

namespace {

constexpr int tasks = 4000;

/// Whether `tasks` tasks are submitted and run without a call of operator new for each, in the best of some rounds
/// after a warm-up. In a round in which more tasks are in flight than ever before, the runtime takes memory for these.
/// A wait, also that for room in the window, may call operator new: that is once in many tasks.
template <class Submit>
bool no_allocation_a_task(Runtime& rt, const Submit& submit) {
    std::size_t fewest = std::numeric_limits<std::size_t>::max();
    for (int round = 0; round < 7; ++round) {
        const std::size_t before = allocations.load();
        for (int i = 0; i < tasks; ++i) submit(i);
        rt.wait();
        if (round >= 2) fewest = std::min(fewest, allocations.load() - before);
    }
    UNSCOPED_INFO(fewest << " allocations for " << tasks << " tasks");
    return fewest < tasks / 20;
}

/// Rows of arrays; each task takes the next row, so several chains run at once.
class Rows {
  public:
    Rows(Runtime& rt, std::size_t length) {
        for (std::vector<Array<long>>& row : rows_) {
            for (std::size_t i = 0; i < length; ++i) row.emplace_back(rt, 1);
        }
    }
    const std::vector<Array<long>>& of(int task) const { return rows_[static_cast<std::size_t>(task) % rows_.size()]; }

  private:
    std::array<std::vector<Array<long>>, 3> rows_;
};

template <std::size_t... I>
auto submit_typed(Runtime& rt, const std::vector<Array<long>>& row, std::index_sequence<I...>) {
    return rt.submit({.name = "typed"}, readwrite(row[I])..., [](const auto&... view) { (++view[0], ...); });
}

}  // namespace

TEST_CASE("operator new is counted") {
    const std::size_t before = allocations.load();
    const std::vector<int> memory(100);
    CHECK(allocations.load() > before);
}

TEST_CASE("tasks with up to 16 typed accesses take no memory from the system") {
    const Watchdog watchdog;
    Runtime rt(small_machine());
    const Rows rows(rt, 16);
    const auto none = [&](auto count) {
        INFO(count() << " accesses");
        CHECK(no_allocation_a_task(rt,
                                   [&](int i) { submit_typed(rt, rows.of(i), std::make_index_sequence<count()>{}); }));
    };
    none(std::integral_constant<std::size_t, 1>{});
    none(std::integral_constant<std::size_t, 3>{});
    none(std::integral_constant<std::size_t, 4>{});
    none(std::integral_constant<std::size_t, 8>{});
    none(std::integral_constant<std::size_t, 16>{});
}

TEST_CASE("tasks with ranges take no memory from the system") {
    const Watchdog watchdog;
    Runtime rt(small_machine());
    const std::size_t length = GENERATE(1, 4, 8, 32, 62);
    CAPTURE(length);
    const Rows rows(rt, length);
    const Array<long> sum(rt, 1);
    const auto submit = [&](int i) {
        rt.submit({.name = "range"}, readwrite(rows.of(i)), commute(sum), [](Views<long> views, View<long> total) {
            for (const View<long>& view : views) total[0] += ++view[0];
        });
    };
    CHECK(no_allocation_a_task(rt, submit));
    const auto two = [&](int i) {
        rt.submit({.name = "two ranges"}, read(rows.of(i)), commute(sum), readwrite(rows.of(i + 1)),
                  [](Views<const long> from, View<long>, Views<long> to) {
                      for (std::size_t k = 0; k < from.size(); ++k) to[k][0] = from[k][0];
                  });
    };
    if (length < 32) CHECK(no_allocation_a_task(rt, two));
}

TEST_CASE("tasks with lists take no memory from the system") {
    const Watchdog watchdog;
    Runtime rt(small_machine());
    const std::size_t length = GENERATE(1, 4, 8, 32, 63);
    CAPTURE(length);
    const Rows rows(rt, length);
    const Token token(rt);
    AccessList list;
    const auto build = [&](int i) -> const AccessList& {
        list.clear();
        return list.readwrite(rows.of(i));
    };
    const auto add_one = [](const Addresses& at) {
        for (void* address : at) ++*static_cast<long*>(address);
    };
    CHECK(no_allocation_a_task(rt, [&](int i) { rt.submit({.name = "list"}, build(i), add_one); }));
    CHECK(no_allocation_a_task(rt, [&](int i) { rt.submit({.name = "token"}, build(i), read(token), add_one); }));
}
