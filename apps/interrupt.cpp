#include "apps/interrupt.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <stdexcept>
#include <utility>

#include <unistd.h>

namespace basalt {

namespace {

// A handler may only touch such as these: it writes a byte, and a thread that waits for it does the rest.
volatile std::sig_atomic_t signal_came = 0;
std::array<int, 2> wake_pipe = {-1, -1};

extern "C" void on_signal(int) {
    const int saved = errno;
    signal_came = 1;
    [[maybe_unused]] const auto written = write(wake_pipe[1], "!", 1);
    errno = saved;
}

/// SA_RESETHAND: the second signal finds the default action, which ends the program.
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
    watcher_ = std::thread([this] { watch(); });
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

bool Interrupt::requested() { return signal_came != 0; }

void Interrupt::watch() {
    for (char byte = 0;;) {
        const auto got = read(wake_pipe[0], &byte, 1);
        if (got == 1) drain_();
        if (got == 0 || (got < 0 && errno != EINTR)) return;
    }
}

}  // namespace basalt
