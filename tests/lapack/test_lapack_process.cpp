// The library in a process: what it starts and when, threads, fork(), exit, failures, GPU memory and the log.
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <random>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <dirent.h>
#include <sys/resource.h>
#include <unistd.h>

#include "tests/common/child_process.hpp"
#include "tests/common/lapack_oracle.hpp"
#include "tests/common/mentions.hpp"
#include "tests/common/watchdog.hpp"
#include "tests/lapack/lapack_calls.hpp"

using namespace basalt_tests;

namespace {

using Double = Lapack<double, std::int32_t>;

/// Solves a random system; whether the solution is right.
bool solves(int n, unsigned seed) {
    Dense<double> a = random_dense<double>(n, n, seed), x = random_dense<double>(n, 2, seed + 1);
    for (Index i = 0; i < n; ++i) a(i, i) += n;
    const Dense<double> matrix = a, b = x;
    std::vector<std::int32_t> p(static_cast<std::size_t>(n));
    const Double lapack;
    return lapack.gesv(n, 2, a.values.data(), n, p.data(), x.values.data(), n) == 0 && solve_ratio(matrix, x, b) < 30;
}

bool factors(int n, unsigned seed) {
    Dense<double> a = random_dense<double>(n, n, seed);
    for (Index i = 0; i < n; ++i) a(i, i) += n;
    return Double().potrf('L', n, a.values.data(), n) == 0 && std::isfinite(a(n - 1, n - 1));
}

bool factors_qr(int n, unsigned seed) {
    Dense<double> a = random_dense<double>(n + 5, n, seed);
    std::vector<double> tau(static_cast<std::size_t>(n)), work(static_cast<std::size_t>(64 * n));
    double length = 0;
    for (Index i = 0; i < n + 5; ++i) length += a(i, 0) * a(i, 0);
    const int info = Double().geqrf(n + 5, n, a.values.data(), n + 5, tau.data(), work.data(), 64 * n);
    return info == 0 && std::abs(std::abs(a(0, 0)) - std::sqrt(length)) < 1e-10 * n;
}

std::size_t entries_of(const char* folder) {
    std::size_t count = 0;
    DIR* const open = opendir(folder);
    while (readdir(open) != nullptr) ++count;
    closedir(open);
    return count;
}

/// in_child(), whose output has none of what this process has yet to print.
template <class Program>
Ended in_clean_child(const Program& program) {
    std::fflush(nullptr);
    std::cout.flush();
    return in_child(program);
}

bool engine_is_loaded() {
    std::ifstream maps("/proc/self/maps");
    std::stringstream text;
    text << maps.rdbuf();
    return mentions(text.str(), "basalt_lapack_engine");
}

std::string log_text() {
    std::ifstream file(std::getenv("BASALT_LAPACK_LOG"));
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
}

int lines_with(const std::string& text, const std::string& part) {
    int count = 0;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) count += mentions(line, part);
    return count;
}

}  // namespace

// Each of the following is a process of its own: see meson.build.

TEST_CASE("nothing starts before the first call that is taken", "[.fresh]") {
    const std::size_t threads = entries_of("/proc/self/task");
    CHECK(solves(20, 1));
    CHECK_FALSE(engine_is_loaded());
    CHECK(entries_of("/proc/self/task") == threads);
    std::thread([] { CHECK(solves(300, 2)); }).join();  // 300: BASALT_LAPACK_THRESHOLD is 200
    CHECK(engine_is_loaded());
    CHECK(solves(300, 3));  // the thread that made the runtime has ended
}

TEST_CASE("the log has one line for each call", "[.fresh]") {
    CHECK(solves(20, 1));
    CHECK(solves(300, 2));
    complaints();
    std::int32_t pivot = 0;
    double element = 0;
    CHECK(Double().getrf(-1, 1, &element, 1, &pivot) == -1);
    const std::string log = log_text();
    INFO(log);
    CHECK(lines_with(log, "dgesv_ (20 x 20, 2) passed on: small; ") == 1);
    CHECK(lines_with(log, "dgesv_ (300 x 300, 2) taken: large; ") == 1);
    CHECK(lines_with(log, "dgetrf_ refused: argument 1") == 1);
    CHECK(lines_with(log, std::to_string(getpid())) == 3);  // none of what the engine calls
}

TEST_CASE("a process that forks while the first call makes the runtime", "[.fresh]") {
    std::atomic<bool> right{false}, begun{false}, done{false};
    std::thread caller([&] {
        begun = true;
        right = solves(300, 1);
        done = true;
    });
    while (!begun) std::this_thread::yield();
    for (bool last = false; !last;) {
        last = done;
        const Ended child = in_clean_child([] {
            if (solves(300, 2)) std::puts("right");
        });
        CHECK(child.text == "right\n");
        CHECK(child.ending == "exit 0");
    }
    caller.join();
    CHECK(right);
}

TEST_CASE("a child process has a runtime of its own", "[process]") {
    CHECK(solves(60, 1));
    const Ended child = in_clean_child([] {
        if (solves(60, 2) && solves(61, 3)) std::puts("right");
    });
    CHECK(child.text == "right\n");
    CHECK(child.ending == "exit 0");
    CHECK(solves(60, 4));
}

TEST_CASE("a process that forks while threads call", "[process]") {
    std::atomic<bool> stop{false}, right{true};
    std::vector<std::thread> threads;
    for (unsigned t = 0; t < 3; ++t) {
        threads.emplace_back([&, t] {
            for (unsigned i = 0; !stop; ++i) right = right && solves(40, t * 100 + i % 50);
        });
    }
    for (unsigned i = 0; i < 5; ++i) {
        const Ended child = in_clean_child([i] {
            if (solves(50, i)) std::puts("right");
        });
        CHECK(child.text == "right\n");
    }
    stop = true;
    for (std::thread& thread : threads) thread.join();
    CHECK(right);
}

TEST_CASE("calls while the process exits", "[process]") {
    const Ended child = in_clean_child([] {
        // runs after what the first call registers
        std::atexit([] {
            std::puts(solves(70, 1) ? "right" : "wrong");
            std::fflush(stdout);
            _exit(0);
        });
        if (!solves(70, 2)) std::puts("wrong before");
        std::exit(1);
    });
    CHECK(child.text == "right\n");
    CHECK(child.ending == "exit 0");
}

TEST_CASE("many threads call at once, and end", "[process]") {
    const Watchdog watchdog;
    std::atomic<int> wrong{0};
    std::vector<std::thread> threads;
    for (unsigned t = 0; t < 16; ++t) {
        threads.emplace_back([&wrong, t] {
            std::mt19937 random(t);
            for (unsigned i = 0; i < 12; ++i) {
                const int n = 1 + static_cast<int>(random() % 150);
                const bool right = i % 3 == 0 ? solves(n, i) : i % 3 == 1 ? factors(n, i) : factors_qr(n, i);
                wrong += !right;
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
    CHECK(wrong == 0);
}

TEST_CASE("64 threads for a minute", "[.soak]") {
    std::atomic<int> wrong{0};
    std::vector<std::thread> threads;
    const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    for (unsigned t = 0; t < 64; ++t) {
        threads.emplace_back([&wrong, t, end] {
            std::mt19937 random(t);
            for (unsigned i = 0; std::chrono::steady_clock::now() < end; ++i) {
                const int n = 1 + static_cast<int>(random() % 600);
                wrong += !(i % 3 == 0 ? solves(n, i) : i % 3 == 1 ? factors(n, i) : factors_qr(n, i));
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
    CHECK(wrong == 0);
}

TEST_CASE("calls from an OpenMP region", "[process]") {
    const Watchdog watchdog;
    int wrong = 0;
#pragma omp parallel for num_threads(4) reduction(+ : wrong)
    for (int i = 0; i < 16; ++i) wrong += !solves(30 + 10 * i, static_cast<unsigned>(i));
    CHECK(wrong == 0);
}

TEST_CASE("without memory calls go to the library behind, with the arrays as they were", "[process]") {
    const Ended child = in_clean_child([] {
        std::ifstream statm("/proc/self/statm");
        rlim_t pages = 0;
        statm >> pages;
        constexpr rlim_t room = rlim_t{120} << 20;
        const rlimit limit{pages * 4096 + room, RLIM_INFINITY};
        if (setrlimit(RLIMIT_AS, &limit) != 0) std::puts("no limit");
        std::puts(solves(1000, 5) ? "right" : "wrong");
    });
    CHECK(mentions(child.text, "right\n"));
    const std::string log = log_text();
    INFO(log);
    CHECK(lines_with(log, "dgesv_ (1000 x 1000, 2) passed on: failed") == 1);
}

TEST_CASE("arrays at any address with any leading dimension", "[process]") {
    for (const int shift : {0, 1, 3}) {
        for (const int gap : {0, 1, 13}) {
            constexpr int n = 90;
            const int ld = n + gap;
            std::vector<double> memory(static_cast<std::size_t>(ld * n + 8)), x(n + 8, 1.0);
            const Dense<double> a = random_dense<double>(n, n, 6);
            double* const first = memory.data() + shift;
            for (Index j = 0; j < n; ++j) {
                for (Index i = 0; i < n; ++i) first[i + j * ld] = a(i, j) + (i == j ? n : 0);
            }
            std::vector<std::int32_t> p(n);
            CHECK(Double().gesv(n, 1, first, ld, p.data(), x.data() + shift, n) == 0);
            double sum = 0;  // of row 0
            for (Index j = 0; j < n; ++j) {
                sum += (a(0, j) + (j == 0 ? n : 0)) * x[static_cast<std::size_t>(shift + j)];
            }
            CHECK(sum == Approx(1.0));
        }
    }
}

TEST_CASE("arrays in GPU memory are taken and stay there", "[.gpus]") {
    void* const driver = dlopen(FAKE_CUDA_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    REQUIRE(driver != nullptr);
    using SetRange = void (*)(const void*, std::uint64_t, int, bool);
    const auto set_range = reinterpret_cast<SetRange>(dlsym(driver, "fake_cuda_set_range"));
    constexpr int n = 30;
    for (const bool managed : {false, true}) {
        Dense<double> a = random_dense<double>(n, n, 7), x = random_dense<double>(n, 2, 8);
        for (Index i = 0; i < n; ++i) a(i, i) += n;
        const Dense<double> matrix = a, b = x;
        std::vector<std::int32_t> p(n);
        set_range(a.values.data(), a.values.size() * sizeof(double), 1, managed);
        CHECK(Double().gesv(n, 2, a.values.data(), n, p.data(), x.values.data(), n) == 0);
        CHECK(solve_ratio(matrix, x, b) < 30);
        Dense<double> spd = matrix;
        for (Index j = 0; j < n; ++j) {
            for (Index i = 0; i < j; ++i) spd(i, j) = spd(j, i);
        }
        const Dense<double> before = spd;
        set_range(spd.values.data(), spd.values.size() * sizeof(double), 0, managed);
        CHECK(Double().potrf('U', n, spd.values.data(), n) == 0);
        CHECK(Double().potri('U', n, spd.values.data(), n) == 0);
        Dense<double> identity(n, n), inverse = spd;
        for (Index j = 0; j < n; ++j) {
            for (Index i = 0; i < n; ++i) {
                identity(i, j) = i == j;
                if (i > j) inverse(i, j) = spd(j, i);
            }
        }
        CHECK(solve_ratio(before, inverse, identity) < 30);
        std::vector<double> tau(n), work(64 * n);
        Dense<double> q = matrix;
        set_range(q.values.data(), q.values.size() * sizeof(double), 1, managed);
        CHECK(Double().geqrf(n, n, q.values.data(), n, tau.data(), work.data(), 64 * n) == 0);
        CHECK(Double().orgqr(n, n, n, q.values.data(), n, tau.data(), work.data(), 64 * n) == 0);
        double length = 0;
        for (Index i = 0; i < n; ++i) length += q(i, n - 1) * q(i, n - 1);
        CHECK(length == Approx(1.0));
    }
    const std::string log = log_text();
    INFO(log);
    CHECK(lines_with(log, "taken: in GPU memory") == 10);
    CHECK(lines_with(log, "passed on") == 0);
}
