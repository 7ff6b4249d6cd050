// The main program of every unit test: compiled once, because Catch2 2.13 is slow to compile.

#define CATCH_CONFIG_RUNNER
#include "tests/common/catch.hpp"

#include <cstdlib>
#include <iostream>
#include <string>

namespace {

// Meson and automake take this exit status as "skipped".
constexpr int exit_skipped = 77;

struct Counts {
    int passed = 0;
    int failed = 0;
    int skipped = 0;
};

Counts counts;
bool current_is_skipped = false;
std::string current_name;

#if __has_include(<catch2/catch_all.hpp>)
using ListenerBase = Catch::EventListenerBase;
int skipped_by_catch(const Catch::TestCaseStats& stats) { return static_cast<int>(stats.totals.testCases.skipped); }
#else
using ListenerBase = Catch::TestEventListenerBase;
int skipped_by_catch(const Catch::TestCaseStats&) { return 0; }
#endif

/// Counts test cases (not assertions) for the closing line of `./run test`.
class CaseCounter : public ListenerBase {
  public:
    using ListenerBase::ListenerBase;

    void testCaseStarting(const Catch::TestCaseInfo& info) override {
        ListenerBase::testCaseStarting(info);
        current_is_skipped = false;
        current_name = info.name;
    }

    void testCaseEnded(const Catch::TestCaseStats& stats) override {
        ListenerBase::testCaseEnded(stats);
        if (stats.totals.testCases.failed > 0)
            ++counts.failed;
        else if (current_is_skipped || skipped_by_catch(stats) > 0)
            ++counts.skipped;
        else
            ++counts.passed;
    }
};

}  // namespace

CATCH_REGISTER_LISTENER(CaseCounter)

void basalt_tests::note_skipped(const char* reason) {
    current_is_skipped = true;
    std::cout << "skipped: " << current_name << ": " << reason << "\n";
}

int main(int argc, char** argv) {
    Catch::Session session;
    const int status = session.run(argc, argv);
    if (counts.passed + counts.failed + counts.skipped == 0) {
        const auto& options = session.configData();
        const bool only_shows = options.showHelp || options.listTests || options.listTags || options.listReporters;
        // Catch2 2.13 takes a filter that matches no case for success.
        return status != 0 || only_shows ? status : EXIT_FAILURE;
    }
    std::cout << "cases: " << counts.passed << " passed, " << counts.failed << " failed, " << counts.skipped
              << " skipped\n";
    if (counts.failed == 0 && counts.passed == 0) return exit_skipped;
    return status;
}
