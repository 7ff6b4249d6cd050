// What the program does before the initializers of the libraries that it is linked to.
#include <csignal>

#include <unistd.h>

#include "apps/exit_status.hpp"

// Sanitizers are not there yet at that time.
#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)

namespace basalt {

namespace {

struct sigaction former {};

/// OpenBLAS starts threads when it is loaded. Where the system allows none it says so and raises SIGINT, which would
/// look like Ctrl-C. One that a user sent meanwhile ends the program as ever.
void on_interrupt_while_loading(int, siginfo_t* info, void*) {
    if (info->si_code == SI_TKILL) {  // by raise(), in this process
        static constexpr char message[] = "basalt: OpenBLAS could not start its threads: see its message above\n";
        [[maybe_unused]] const auto written = ::write(STDERR_FILENO, message, sizeof message - 1);
        _exit(exit_machine_failed);
    }
    if (former.sa_handler != SIG_IGN) _exit(exit_interrupted);
}

void watch_initializers(int, char**, char**) {
    struct sigaction action {};
    action.sa_sigaction = on_interrupt_while_loading;
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGINT, &action, &former);
}

// Run before all initializers. The C library's own has not run either: nothing but system calls works.
__attribute__((section(".preinit_array"), used)) void (*const entry)(int, char**, char**) = watch_initializers;

/// The program's own initializers run after those of the libraries.
[[maybe_unused]] const int restored = sigaction(SIGINT, &former, nullptr);

}  // namespace

}  // namespace basalt

#endif
