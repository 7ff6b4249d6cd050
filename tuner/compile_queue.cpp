#include "tuner/compile_queue.hpp"

#include <algorithm>
#include <exception>

namespace basalt::tuner {

CompileQueue::CompileQueue(Compiler& compiler, std::vector<CompileJob> jobs, int threads) : compiler_(compiler) {
    std::map<CompileJob, std::size_t> known;
    for (CompileJob& job : jobs) {
        const auto [place, is_new] = known.try_emplace(job, programs_.size());
        if (is_new) programs_.push_back(std::move(job));
        of_job_.push_back(place->second);
    }
    results_.resize(programs_.size());
    for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { compile_until_done(); });
}

CompileQueue::~CompileQueue() {
    {
        const std::lock_guard lock(mutex_);
        stopped_ = true;
    }
    changed_.notify_all();
    for (std::thread& thread : threads_) thread.join();
}

const Compiled& CompileQueue::result(std::size_t i) {
    const std::size_t program = of_job_[i];
    std::unique_lock lock(mutex_);
    asked_ = std::max(asked_, program);
    changed_.notify_all();
    changed_.wait(lock, [&] { return results_[program].has_value(); });
    return *results_[program];  // written once, and by now
}

void CompileQueue::compile_until_done() {
    std::unique_lock lock(mutex_);
    while (true) {
        changed_.wait(lock, [this] { return stopped_ || next_ >= programs_.size() || next_ <= asked_ + ahead; });
        if (stopped_ || next_ >= programs_.size()) return;
        const std::size_t own = next_++;
        lock.unlock();
        Compiled compiled;
        try {
            compiled = compiler_.compile(programs_[own].source, programs_[own].options);
        } catch (const std::exception& error) {
            compiled = Compiled();
            compiled.error = error.what();
        }
        lock.lock();
        results_[own] = std::move(compiled);
        changed_.notify_all();
    }
}

}  // namespace basalt::tuner
