// A user's program: it knows the installed headers and library alone.
// usage: main VERSION; exits 0 if the headers are of that version and the library works.

#include <basalt/basalt.hpp>

#include <atomic>
#include <cstdio>
#include <cstring>
#include <thread>

namespace {

bool headers_are(const char* expected) {
    if (std::strcmp(basalt::version, expected) == 0) return true;
    std::printf("basalt/version.hpp says %s, the project is %s\n", basalt::version, expected);
    return false;
}

bool views_address_columns() {
    double a[] = {1, 2, 3, 4, 5, 6};
    const auto A = basalt::View<double>::column_major(a, 3, 2, 3);
    return A(2, 1) == 6 && A.block(1, 1, 2, 1)(0, 0) == 5;
}

/// Calls into the shared library, so that linking is checked and not headers alone.
bool barrier_lets_both_pass() {
    basalt::TeamBarrier barrier(2);
    std::atomic<int> arrived = 0;
    std::thread other([&] {
        ++arrived;
        barrier.wait();
    });
    ++arrived;
    barrier.wait();
    const bool both = arrived == 2;
    other.join();
    return both;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 2) return 2;
    return headers_are(argv[1]) && views_address_columns() && barrier_lets_both_pass() ? 0 : 1;
}
