#include "apps/runs/progress.hpp"

#include <algorithm>
#include <cstdio>

#include <sys/ioctl.h>
#include <unistd.h>

#include <fmt/format.h>

#include "base/start_thread.hpp"
#include "io/files/progress_line.hpp"

namespace basalt {

namespace {

constexpr auto patience = std::chrono::seconds(2);
constexpr auto interval = std::chrono::milliseconds(250);

double seconds_since(Progress::Clock::time_point start) {
    return std::chrono::duration<double>(Progress::Clock::now() - start).count();
}

/// The line goes to standard error. 80 for a terminal that does not tell its width.
int terminal_columns() {
    winsize size{};
    return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

}  // namespace

bool Progress::wanted() { return isatty(STDOUT_FILENO) == 1 && isatty(STDERR_FILENO) == 1; }

Progress::Progress(double total_flops, double rate) : total_flops_(total_flops), rate_(rate) {
    if (wanted()) drawer_ = start_thread("the thread that shows progress", [this] { draw_until_stopped(); });
}

Progress::~Progress() {
    {
        const std::lock_guard lock(mutex_);
        stopped_ = true;
    }
    stop_signal_.notify_all();
    if (drawer_.joinable()) drawer_.join();
    erase();
}

void Progress::begin_run(double flops) {
    const std::lock_guard lock(mutex_);
    running_ = true;
    run_flops_ = flops;
    run_start_ = Clock::now();
}

void Progress::end_run() {
    const std::lock_guard lock(mutex_);
    running_ = false;
    const double seconds = seconds_since(run_start_);
    if (seconds > 0 && run_flops_ > 0) rate_ = run_flops_ / seconds;
    done_flops_ += run_flops_;
    erase();  // the run's own line comes next
}

void Progress::draw_until_stopped() {
    std::unique_lock lock(mutex_);
    while (!stop_signal_.wait_for(lock, interval, [this] { return stopped_; })) {
        if (!running_ || seconds_since(start_) < std::chrono::duration<double>(patience).count()) continue;
        std::fputs(("\r\033[K" + line()).c_str(), stderr);
        std::fflush(stderr);
        drawn_ = true;
    }
}

std::string Progress::line() const {
    const int columns = terminal_columns() - 1;  // a full line makes some terminals begin the next one
    if (rate_ <= 0 || total_flops_ <= 0) {
        return fmt::format("{:.0f} s", seconds_since(start_)).substr(0, static_cast<std::size_t>(std::max(columns, 0)));
    }
    // A run that takes longer than expected stands just short of its end.
    const double of_run = std::min(rate_ * seconds_since(run_start_), 0.99 * run_flops_);
    return progress_line({done_flops_ + of_run, total_flops_, rate_}, columns);
}

void Progress::erase() {
    if (!drawn_) return;
    std::fputs("\r\033[K", stderr);
    std::fflush(stderr);
    drawn_ = false;
}

}  // namespace basalt
