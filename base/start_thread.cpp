#include "base/start_thread.hpp"

#include <cstdint>
#include <optional>
#include <system_error>
#include <utility>

#include <sys/resource.h>

#include "basalt/error.hpp"
#include "base/cgroup.hpp"

namespace basalt {

namespace {

/// Of a successful getrlimit().
std::optional<std::uint64_t> finite(const rlimit& limit) {
    return limit.rlim_cur == RLIM_INFINITY ? std::nullopt : std::optional<std::uint64_t>(limit.rlim_cur);
}

void append_limit(std::string& text, const char* name, std::optional<std::uint64_t> value, const char* what) {
    if (!value) return;
    if (!text.empty()) text += ", ";
    text += std::string(name) + " = " + std::to_string(*value) + " " + what;
}

}  // namespace

std::string thread_limits() {
    std::string text;
    rlimit processes{RLIM_INFINITY, RLIM_INFINITY}, address_space = processes;
    getrlimit(RLIMIT_NPROC, &processes);  // fails only for a wrong argument
    getrlimit(RLIMIT_AS, &address_space);
    append_limit(text, "RLIMIT_NPROC", finite(processes), "processes and threads of this user");
    append_limit(text, "RLIMIT_AS", finite(address_space), "bytes of address space");
    append_limit(text, "the cgroup's pids.max", read_cgroup_limits().threads, "processes and threads");
    return text;
}

std::thread start_thread(const std::string& name, std::function<void()> body) {
    try {
        return std::thread(std::move(body));
    } catch (const std::system_error& error) {
        const std::string limits = thread_limits();
        throw Error("could not start " + name + ": " + error.code().message() + "; limits: " +
                    (limits.empty() ? "none of this process or its cgroup, so those of the whole system" : limits));
    }
}

}  // namespace basalt
