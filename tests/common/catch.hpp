#pragma once

#include <string>

// An assertion costs a fifth less to compile. An exception in a CHECK ends its test case, which fails all the same; in
// another thread or a destructor it ends the program.
#define CATCH_CONFIG_FAST_COMPILE

// Catch2 2.13 (Debian 12) is one header; 3.x (Ubuntu 24.04) is a library with another include path.
#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
using Catch::Approx;
#else
#include <catch2/catch.hpp>
#endif

namespace basalt_tests {

/// INFO(text) for as long as the object lives, e.g. as a member.
class ShownText {
  public:
    explicit ShownText(const std::string& text)
        : message_(Catch::MessageBuilder("INFO", CATCH_INTERNAL_LINEINFO, Catch::ResultWas::Info) << text) {}

  private:
    const Catch::ScopedMessage message_;
};

/// Marks the running test case as skipped, so that the totals of `./run test` do not count it as passed, and says why.
void note_skipped(const char* reason);

}  // namespace basalt_tests

// Catch2 3.3 and newer have SKIP(reason). Earlier ones get this twin, which must stand in the body of the
// test case itself because it returns from it.
#ifndef SKIP
#define SKIP(reason)                        \
    do {                                    \
        basalt_tests::note_skipped(reason); \
        return;                             \
    } while (false)
#endif
