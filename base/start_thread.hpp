#pragma once

#include <functional>
#include <string>
#include <thread>

namespace basalt {

/// Starts a thread that runs `body`. Throws Error where the system allows no more threads; what() says which thread
/// it was (`name`, as in "the thread of worker 3") and which limits there are.
std::thread start_thread(const std::string& name, std::function<void()> body);

/// The limits that may keep this process from starting a thread, as text: "RLIMIT_NPROC = 7 processes and threads of
/// this user". Empty: none is known.
std::string thread_limits();

}  // namespace basalt
