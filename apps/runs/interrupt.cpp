#include "apps/runs/interrupt.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <stdexcept>
#include <utility>

#include <poll.h>
#include <unistd.h>

#include "base/start_thread.hpp"

namespace basalt {

namespace {

// A signal handler may use only such variables and async-signal-safe calls: it writes a byte to a pipe, and a thread
// that waits for the byte does the rest.
volatile std::sig_atomic_t signal_that_came = 0;
std::array<int, 2> wake_pipe = {-1, -1};

extern "C" void on_signal(int signal) {
    const int saved = errno;
    signal_that_came = signal;
    [[maybe_unused]] const auto written = ::write(wake_pipe[1], "!", 1);
    errno = saved;
}

/// SA_RESETHAND: the second signal meets the default action, which ends the program.
void install(int signal, void (*handler)(int)) {
    struct sigaction action {};
    action.sa_handler = handler;
    action.sa_flags = SA_RESTART | (handler == SIG_DFL ? 0 : SA_RESETHAND);
    sigemptyset(&action.sa_mask);
    sigaction(signal, &action, nullptr);
}

}  // namespace

Interrupt::Interrupt(std::function<void()> drain) : drain_(std::move(drain)) {
    if (pipe(wake_pipe.data()) != 0) throw std::runtime_error("no pipe for the interrupt handler");
    try {
        watcher_ = start_thread("the thread that waits for Ctrl-C", [this] { watch(); });
    } catch (...) {
        for (const int end : wake_pipe) close(end);
        throw;
    }
    install(SIGINT, on_signal);
    install(SIGTERM, on_signal);
}

Interrupt::~Interrupt() {
    install(SIGINT, SIG_DFL);
    install(SIGTERM, SIG_DFL);
    close(wake_pipe[1]);  // the watcher's read returns 0
    watcher_.join();
    close(wake_pipe[0]);
    wake_pipe = {-1, -1};
}

bool Interrupt::requested() { return signal_that_came != 0; }

ExitStatus Interrupt::status() { return signal_that_came == SIGTERM ? exit_terminated : exit_interrupted; }

void Interrupt::watch() {
    constexpr int for_ever = -1, milliseconds = 20;
    pollfd signal_or_end{wake_pipe[0], POLLIN, 0};
    while (true) {
        const int events = poll(&signal_or_end, 1, requested() ? milliseconds : for_ever);
        if (events < 0 && errno != EINTR) return;
        if (char byte = 0; events > 0 && ::read(wake_pipe[0], &byte, 1) == 0) return;
        if (requested()) drain_();
    }
}

}  // namespace basalt
