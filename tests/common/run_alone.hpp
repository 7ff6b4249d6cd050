#pragma once

// A hidden test case of the running program in a process of its own: for what spoils the process, and what must be
// there before it starts.

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>

namespace basalt_tests {

/// A file for what a child process says, gone at the end.
class Log {
  public:
    explicit Log(const char* kind) : name_("/tmp/basalt_test." + std::to_string(getpid()) + "." + kind) {}
    ~Log() { unlink(name_.c_str()); }
    Log(const Log&) = delete;
    Log& operator=(const Log&) = delete;

    void take_over(int stream) const {
        if (dup2(open(name_.c_str(), O_CREAT | O_TRUNC | O_WRONLY, 0600), stream) < 0) _exit(2);
    }
    std::string contents() const {
        std::ifstream file(name_);
        return {std::istreambuf_iterator<char>(file), {}};
    }

  private:
    const std::string name_;
};

/// How the test case ended and what it said.
struct Outcome {
    std::string ending;  ///< "exit status 0", "signal 6 (Aborted)"
    std::string report;  ///< Catch2's, on standard output
    std::string said;    ///< on standard error
    bool succeeded() const { return ending == "exit status 0"; }
};

/// Forks: no other thread of the program may be in the middle of something.
inline Outcome run_alone(const char* test_case, const char* visible_devices = nullptr) {
    const Log report("report");
    const Log said("said");
    const pid_t child = fork();
    if (child == 0) {
        if (visible_devices != nullptr) setenv("CUDA_VISIBLE_DEVICES", visible_devices, 1);
        report.take_over(STDOUT_FILENO);
        said.take_over(STDERR_FILENO);
        execl("/proc/self/exe", "test", test_case, static_cast<char*>(nullptr));
        _exit(3);
    }
    int status = -1;
    std::string ending;
    if (waitpid(child, &status, 0) != child) {
        ending = std::string("waitpid: ") + std::strerror(errno);
    } else if (WIFEXITED(status)) {
        ending = "exit status " + std::to_string(WEXITSTATUS(status));
    } else {
        ending = "signal " + std::to_string(WTERMSIG(status)) + " (" + strsignal(WTERMSIG(status)) + ")";
    }
    return {ending, report.contents(), said.contents()};
}

}  // namespace basalt_tests
