#pragma once

#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tuner/compiler.hpp"

namespace basalt::tuner {

struct CompileJob {
    std::string source;
    std::vector<std::string> options;

    friend bool operator<(const CompileJob& a, const CompileJob& b) {
        return std::tie(a.source, a.options) < std::tie(b.source, b.options);
    }
};

/// Compiles programs in several threads, in the order in which they are asked for; equal ones once. The threads stay
/// at most `ahead` programs before the one that is asked for, which bounds the memory for unused ones.
/// An exception of the compiler becomes the error of its program.
class CompileQueue {
  public:
    static constexpr std::size_t ahead = 256;

    /// `compiler` outlives this.
    CompileQueue(Compiler& compiler, std::vector<CompileJob> jobs, int threads);
    /// Waits for the programs that are being compiled, and leaves out the others.
    ~CompileQueue();
    CompileQueue(const CompileQueue&) = delete;
    CompileQueue& operator=(const CompileQueue&) = delete;

    /// What became of job i; waits for it. Called by one thread, with ascending i.
    const Compiled& result(std::size_t i);

  private:
    void compile_until_done();

    Compiler& compiler_;
    std::vector<CompileJob> programs_;  ///< each once
    std::vector<std::size_t> of_job_;   ///< the program of each job
    std::vector<std::optional<Compiled>> results_;
    std::mutex mutex_;  ///< guards what follows, and results_
    std::condition_variable changed_;
    std::size_t next_ = 0, asked_ = 0;
    bool stopped_ = false;
    std::vector<std::thread> threads_;
};

}  // namespace basalt::tuner
