#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <limits>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

#include "tests/common/fiber.hpp"

namespace basalt_tests {

/// A block of a GPU's threads, one after the other on this one: each runs until it waits for its warp or for its block.
/// Within that, warps come in order or against it, so that what a missing barrier lets slip has two outcomes. Throws
/// std::logic_error where threads of a warp, or warps, do not come to the same call, or where one waits for another
/// block.
class EmulatedBlock {
  public:
    EmulatedBlock(int warps, bool backwards) : warps_(warps), backwards_(backwards) {}

    /// What solve_strip(), solve_in_shared(), update_leading() and factor_leaf() call a thread.
    class Thread {
      public:
        int number, warp, warps, lane;

        void sync() const { block_->wait(*this, {Call::sync}); }
        void meet() const { sync(); }
        void sync_warp() const { block_->wait(*this, {Call::sync_warp}); }

        /// Two elements, not before the block waits for copies.
        template <class T>
        void copy(T* to, const T* from) const {
            block_->copies_.push_back([=] { std::copy_n(from, 2, to); });
        }
        void wait_for_copies() const {
            if (warp == 0 && lane == 0) block_->copies_awaited_ = true;
            sync();
        }

        /// In groups: at once where warps come backwards, when they are waited for otherwise.
        template <int count, class T>
        void copy(T* to, const T* from) const {
            if (block_->backwards_) {
                std::copy_n(from, count, to);
            } else {
                copies_.back().push_back([=] { std::copy_n(from, count, to); });
            }
        }
        void commit_copies() const { copies_.emplace_back(); }
        template <int pending>
        void wait_for_own_copies() const {
            for (; copies_.size() > pending + 1; copies_.pop_front()) {
                for (const auto& copy : copies_.front()) copy();
            }
        }

        // the block is alone, so that what is not there when it is looked for never will be
        int load_acquire(const int* counter) const { return *counter; }
        void store_release(int* counter, int value) const { *counter = value; }
        std::uint64_t load_relaxed(const std::uint64_t* word) const { return *word; }
        void store_relaxed(std::uint64_t* word, std::uint64_t value) const { *word = value; }
        void add_release(int* counter, int value) const { *counter += value; }
        template <class Number>
        Number fetch_add(Number* counter, Number value) const {
            return std::exchange(*counter, *counter + value);
        }
        bool compare_exchange(int* counter, int& expected, int value) const {
            if (*counter != expected) return expected = *counter, false;
            *counter = value;
            return true;
        }
        void pause() const { throw std::logic_error("a block waits for what comes after it"); }

        /// As the GPU's instructions: of doubles, denormal numbers count as zero, and the lower half of the result is.
        /// Of floats, some bits are wrong.
        double reciprocal_root_estimate(double x) const {
            const double y = 1 / std::sqrt(x < std::numeric_limits<double>::min() && x > 0 ? 0 : x);
            return std::bit_cast<double>(std::bit_cast<std::uint64_t>(y) & 0xffffffff00000000U);
        }
        float reciprocal_root_estimate(float x) const { return 1 / std::sqrt(x) * (1 + 0x1p-20F); }

        double reciprocal_estimate(double x) const {
            return std::bit_cast<double>(std::bit_cast<std::uint64_t>(1 / x) & 0xffffffff00000000U);
        }
        float reciprocal_estimate(float x) const { return 1 / x; }
        void prefetch(const void* /*global*/) const {}

        template <class T>
        T from_lane(T value, int source) const {
            double exchanged = static_cast<double>(value);
            block_->wait(*this, {Call::from_lane, &exchanged, source});
            return static_cast<T>(exchanged);
        }

        unsigned ballot(bool own) const {
            double bit = own ? static_cast<double>(1U << lane) : 0;
            block_->wait(*this, {Call::ballot, &bit});
            return static_cast<unsigned>(bit);
        }
        unsigned largest_of_lanes(unsigned value) const {
            double largest = value;
            block_->wait(*this, {Call::largest, &largest});
            return static_cast<unsigned>(largest);
        }

        /// Fragments as the PTX ISA has them for mma.m16n8k8 with .f64.
        void mma_16x8x8(double& c0, double& c1, double& c2, double& c3, double a0, double a1, double a2, double a3,
                        double b0, double b1) const {
            double all[] = {c0, c1, c2, c3, a0, a1, a2, a3, b0, b1};
            block_->wait(*this, {Call::mma, all});
            c0 = all[0], c1 = all[1], c2 = all[2], c3 = all[3];
        }

      private:
        friend class EmulatedBlock;
        Thread(EmulatedBlock& block, int w, int l)
            : number(w * lanes + l), warp(w), warps(block.warps_), lane(l), block_(&block) {}
        EmulatedBlock* block_;
        mutable std::deque<std::vector<std::function<void()>>> copies_{1};  ///< own ones on their way, in groups
    };

    void run(const std::function<void(const Thread&)>& body) {
        body_ = &body;
        fibers_.clear();
        for (int i = 0; i < warps_ * lanes; ++i) fibers_.push_back(std::make_unique<ThreadFiber>(*this, i));
        while (fibers_.front()->call.kind != Call::done) {
            for (int i = 0; i < warps_; ++i) run_warp(backwards_ ? warps_ - 1 - i : i);
            for (int w = 1; w < warps_; ++w) agree(fiber(0, 0), fiber(w, 0));
            if (copies_awaited_) arrive_copies();
        }
    }

  private:
    static constexpr int lanes = 32;

    struct Call {
        enum Kind { start, sync, sync_warp, from_lane, ballot, largest, mma, done } kind = start;
        double* values = nullptr;
        int source = 0;
    };

    struct ThreadFiber {
        ThreadFiber(EmulatedBlock& block, int index)
            : owner(block), thread(block, index / lanes, index % lanes), fiber(kept_fiber(index)) {
            fiber.prepare(&EmulatedBlock::enter);
        }
        EmulatedBlock& owner;
        Thread thread;
        Fiber& fiber;
        Call call;
    };

    /// The next block takes the stacks of this one: Meson's tests run with MALLOC_PERTURB_, which fills new memory.
    static Fiber& kept_fiber(int index) {
        static std::deque<Fiber> kept;
        while (kept.size() <= static_cast<std::size_t>(index)) kept.emplace_back();
        return kept[static_cast<std::size_t>(index)];
    }

    static inline ThreadFiber* current_ = nullptr;

    static void enter() {
        ThreadFiber& self = *current_;
        try {
            (*self.owner.body_)(self.thread);
        } catch (...) {
            self.owner.failure_ = std::current_exception();
        }
        self.call = {Call::done};
        self.owner.scheduler_.resume_from(self.fiber);
    }

    ThreadFiber& fiber(int warp, int lane) { return *fibers_[static_cast<std::size_t>(warp * lanes + lane)]; }

    void wait(const Thread& thread, Call call) {
        ThreadFiber& self = fiber(thread.warp, thread.lane);
        self.call = call;
        scheduler_.resume_from(self.fiber);
    }

    static void agree(const ThreadFiber& a, const ThreadFiber& b) {
        if (a.call.kind != b.call.kind) throw std::logic_error("threads of a block wait for different things");
    }

    /// Until it comes to a barrier of the block, or its end.
    void run_warp(int warp) {
        if (fiber(warp, 0).call.kind == Call::done) return;
        while (true) {
            for (int lane = 0; lane < lanes; ++lane) {
                current_ = &fiber(warp, lane);
                current_->fiber.resume_from(scheduler_);
                if (failure_) std::rethrow_exception(failure_);
            }
            for (int lane = 1; lane < lanes; ++lane) agree(fiber(warp, 0), fiber(warp, lane));
            const Call::Kind kind = fiber(warp, 0).call.kind;
            if (kind == Call::mma) {
                multiply(warp);
            } else if (kind == Call::from_lane) {
                exchange(warp);
            } else if (kind == Call::ballot || kind == Call::largest) {
                reduce(warp, kind);
            } else if (kind != Call::sync_warp) {
                return;
            }
        }
    }

    void arrive_copies() {
        for (const auto& copy : copies_) copy();
        copies_.clear();
        copies_awaited_ = false;
    }

    void exchange(int warp) {
        double given[lanes];
        for (int lane = 0; lane < lanes; ++lane) given[lane] = *fiber(warp, lane).call.values;
        for (int lane = 0; lane < lanes; ++lane) *fiber(warp, lane).call.values = given[fiber(warp, lane).call.source];
    }

    void reduce(int warp, Call::Kind kind) {
        double result = 0;
        for (int lane = 0; lane < lanes; ++lane) {
            const double given = *fiber(warp, lane).call.values;
            result = kind == Call::ballot ? result + given : std::max(result, given);
        }
        for (int lane = 0; lane < lanes; ++lane) *fiber(warp, lane).call.values = result;
    }

    void multiply(int warp) {
        double a[16][8], b[8][8];
        for (int lane = 0; lane < lanes; ++lane) {
            const double* const v = fiber(warp, lane).call.values;
            const int group = lane >> 2, in_group = lane % 4;
            for (int i = 0; i < 4; ++i) a[i % 2 == 0 ? group : group + 8][i < 2 ? in_group : in_group + 4] = v[4 + i];
            for (int i = 0; i < 2; ++i) b[in_group + 4 * i][group] = v[8 + i];
        }
        for (int lane = 0; lane < lanes; ++lane) {
            double* const v = fiber(warp, lane).call.values;
            const int group = lane >> 2, in_group = lane % 4;
            for (int i = 0; i < 4; ++i) {
                const int row = i < 2 ? group : group + 8, col = in_group * 2 + (i & 1);
                for (int k = 0; k < 8; ++k) v[i] += a[row][k] * b[k][col];
            }
        }
    }

    int warps_;
    bool backwards_;
    const std::function<void(const Thread&)>* body_ = nullptr;
    std::vector<std::unique_ptr<ThreadFiber>> fibers_;
    std::vector<std::function<void()>> copies_;  ///< on their way
    bool copies_awaited_ = false;
    std::exception_ptr failure_;
    Fiber scheduler_;
};

}  // namespace basalt_tests
