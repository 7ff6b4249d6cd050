#include "bench/tasks/peak_memory.hpp"

#include <cstdlib>
#include <fstream>

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

namespace bench {

double status_bytes(const std::string& key) {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);) {
        if (line.rfind(key + ":", 0) == 0) return std::strtod(line.c_str() + key.size() + 1, nullptr) * 1024;
    }
    return 0;
}

namespace {

std::string read_all(int descriptor) {
    std::string text;
    char buffer[256];
    for (ssize_t count = 0; (count = read(descriptor, buffer, sizeof(buffer))) > 0;) {
        text.append(buffer, static_cast<std::size_t>(count));
    }
    return text;
}

/// Starts this program with its standard output going into `output`; its process id, if that succeeds.
std::optional<pid_t> spawn_self(const std::vector<std::string>& arguments, int output) {
    std::vector<char*> argv{const_cast<char*>("bench")};
    for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
    argv.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
    pid_t child = 0;
    const bool started = posix_spawn(&child, "/proc/self/exe", &actions, nullptr, argv.data(), environ) == 0;
    posix_spawn_file_actions_destroy(&actions);
    return started ? std::optional(child) : std::nullopt;
}

}  // namespace

std::optional<double> number_from_self(const std::vector<std::string>& arguments) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return std::nullopt;
    const std::optional<pid_t> child = spawn_self(arguments, ends[1]);
    close(ends[1]);
    const std::string text = read_all(ends[0]);
    close(ends[0]);
    int status = 0;
    if (!child || waitpid(*child, &status, 0) != *child || status != 0) return std::nullopt;
    return std::strtod(text.c_str(), nullptr);
}

}  // namespace bench
