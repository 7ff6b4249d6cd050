#include "runtime/device/emulated_stream.hpp"

#include <utility>

#include "base/start_thread.hpp"

namespace basalt::detail {

void Timeline::advance(Ticket ticket) {
    {
        const std::lock_guard lock(mutex_);
        reached_.store(ticket, std::memory_order_release);
    }
    advanced_.notify_all();
}

void Timeline::await(Ticket ticket) {
    std::unique_lock lock(mutex_);
    advanced_.wait(lock, [&] { return reached() >= ticket; });
}

EmulatedStream::EmulatedStream(const std::string& name, std::chrono::nanoseconds longest_delay, std::uint64_t seed,
                               const std::atomic<bool>& lost)
    : longest_delay_(longest_delay),
      lost_(lost),
      random_(seed),
      thread_(start_thread("the thread of " + name, [this] { serve(); })) {}

EmulatedStream::~EmulatedStream() {
    {
        const std::lock_guard lock(mutex_);
        closing_ = true;
    }
    enqueued_.notify_one();
    thread_.join();
}

void EmulatedStream::enqueue(std::function<void()> work) {
    std::unique_lock lock(mutex_);
    push(lock, {Kind::work, std::move(work)});
}

void EmulatedStream::enqueue_always(std::function<void()> operation) {
    std::unique_lock lock(mutex_);
    push(lock, {Kind::always, std::move(operation)});
}

void EmulatedStream::enqueue_wait(std::shared_ptr<Timeline> other, Ticket ticket) {
    enqueue_always([other = std::move(other), ticket] { other->await(ticket); });
}

Ticket EmulatedStream::record(Timing timing) {
    std::unique_lock lock(mutex_);
    const Ticket ticket = ++recorded_;
    push(lock, {Kind::always, [this, ticket, timing] {
                    const auto now = std::chrono::steady_clock::now().time_since_epoch();
                    times_[ticket % times_.size()] =
                        timing == Timing::timed ? std::chrono::duration_cast<std::chrono::nanoseconds>(now).count() : 0;
                    timeline_->advance(ticket);
                }});
    return ticket;
}

void EmulatedStream::push(std::unique_lock<std::mutex>& lock, Operation operation) {
    queue_.push_back(std::move(operation));
    lock.unlock();
    enqueued_.notify_one();
}

Ticket EmulatedStream::recorded() const {
    const std::lock_guard lock(mutex_);
    return recorded_;
}

std::exception_ptr EmulatedStream::take_failure(Ticket ticket) {
    const std::lock_guard lock(mutex_);
    if (failures_.empty() || failures_.front().seen_by > ticket) return nullptr;
    std::exception_ptr error = std::move(failures_.front().error);
    failures_.pop_front();
    return error;
}

std::optional<std::int64_t> EmulatedStream::time_of(Ticket ticket) const {
    if (ticket == 0 || ticket > timeline_->reached()) return std::nullopt;
    if (ticket + times_.size() <= recorded()) return std::nullopt;
    const std::int64_t time = times_[ticket % times_.size()];
    return time == 0 ? std::nullopt : std::optional(time);
}

void EmulatedStream::drain() {
    std::unique_lock lock(mutex_);
    drained_.wait(lock, [&] { return queue_.empty() && !busy_; });
}

void EmulatedStream::serve() {
    std::unique_lock lock(mutex_);
    while (true) {
        enqueued_.wait(lock, [&] { return !queue_.empty() || closing_; });
        if (queue_.empty()) return;
        {
            const Operation operation = std::move(queue_.front());
            queue_.pop_front();
            busy_ = true;
            lock.unlock();
            run(operation);
        }  // what the operation holds is gone before a later ticket is reached
        lock.lock();
        busy_ = false;
        if (queue_.empty()) drained_.notify_all();
    }
}

void EmulatedStream::run(const Operation& operation) {
    if (operation.kind != Kind::work) return operation.run();
    hold_up();
    if (lost_.load(std::memory_order_acquire)) return;
    try {
        operation.run();
    } catch (...) {
        {
            const std::lock_guard lock(mutex_);
            failures_.push_back({timeline_->reached() + 1, std::current_exception()});
        }
        if (failure_noticed_) failure_noticed_(operation.in_hand);
    }
}

void EmulatedStream::hold_up() {
    if (longest_delay_.count() <= 0) return;
    std::uniform_int_distribution<std::int64_t> delay(0, longest_delay_.count());
    std::this_thread::sleep_for(std::chrono::nanoseconds(delay(random_)));
}

}  // namespace basalt::detail
