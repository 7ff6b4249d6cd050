#pragma once

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <stdexcept>
#include <string>

namespace basalt_tests {

struct Ended {
    std::string text;    ///< what it printed
    std::string ending;  ///< "exit 0", "signal 6"
};

inline Ended ended(pid_t child, int output) {
    Ended result;
    std::array<char, 512> buffer{};
    for (ssize_t got = 0; (got = ::read(output, buffer.data(), buffer.size())) > 0;) {
        result.text.append(buffer.data(), static_cast<std::size_t>(got));
    }
    close(output);
    int status = 0;
    waitpid(child, &status, 0);
    result.ending = WIFEXITED(status) ? "exit " + std::to_string(WEXITSTATUS(status))
                                      : "signal " + std::to_string(WTERMSIG(status));
    return result;
}

/// Runs the program in a child process, which prints to a pipe. It ends by signal 14 where it hangs.
template <class Program>
Ended in_child(const Program& program) {
    std::array<int, 2> ends{};
    if (pipe2(ends.data(), O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
    std::fflush(nullptr);  // or the child would write what this process has buffered
    const pid_t child = fork();
    if (child == 0) {
        alarm(20);
        dup2(ends[1], STDOUT_FILENO);
        dup2(ends[1], STDERR_FILENO);
        for (const int signal : {SIGABRT, SIGSEGV, SIGTERM}) std::signal(signal, SIG_DFL);  // not the tests' handlers
        program();
        std::fflush(nullptr);
        _exit(0);
    }
    close(ends[1]);
    return ended(child, ends[0]);
}

}  // namespace basalt_tests
