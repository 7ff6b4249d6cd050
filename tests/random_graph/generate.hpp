#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "tests/random_graph/program.hpp"
#include "tests/random_graph/random.hpp"

namespace basalt_tests {

/// Makes the random program of a seed.
class Generator {
  public:
    explicit Generator(std::uint64_t seed) : random_(seed) {}

    Program program() {
        if (random_.one_in(8)) program_.threads = random_.between(2, 3);
        program_.waits_in_threads = random_.one_in(2);
        choose_data();
        const int outcome = program_.threads > 1 ? 0 : random_.between(0, 19);
        const int tasks = random_.one_in(10) ? random_.between(40, 120) : random_.between(1, 25);
        for (int i = 0; i < tasks; ++i) {
            thread_ = random_.between(0, program_.threads - 1);
            program_.thread_of.push_back(thread_);
            program_.tasks.push_back(task(nullptr, 0));
            program_.looks_at.push_back(random_.one_in(20) ? own_datum() : -1);
        }
        if (outcome == 1) throw_somewhere();
        if (outcome == 2) cancel_somewhere();
        program_.all_tasks = next_id_;
        return std::move(program_);
    }

  private:
    static constexpr int deepest = 3;

    bool has_shared_datum() const { return program_.threads > 1; }
    int shared_datum() const { return static_cast<int>(program_.data.size()) - 1; }

    void choose_data() {
        const int own = random_.between(1, 3) * program_.threads;
        for (int i = 0; i < own; ++i) {
            const auto kind = static_cast<DatumKind>(random_.between(0, 3));
            const bool plane = kind == DatumKind::owned_plane || kind == DatumKind::plane;
            program_.data.push_back({kind, random_.between<basalt::Index>(1, plane ? 8 : 24),
                                     plane ? random_.between<std::int32_t>(1, 6) : 1});
        }
        if (has_shared_datum()) program_.data.push_back({DatumKind::wrapped, 12, 1});
    }

    /// A datum of the submitting thread's own.
    int own_datum() {
        const int own =
            (static_cast<int>(program_.data.size()) - (has_shared_datum() ? 1 : 0)) / program_.threads;
        return random_.between(0, own - 1) * program_.threads + thread_;
    }

    template <class T>
    std::pair<T, T> interval(T begin, T end) {
        if (random_.one_in(3)) return {begin, end};
        if (random_.one_in(30)) return {begin, begin};  // empty
        const T a = random_.between(begin, end - 1);
        const T b = random_.between(begin, end - 1);
        return {std::min(a, b), std::max(a, b) + 1};
    }

    basalt::AccessMode any_mode() {
        using enum basalt::AccessMode;
        return random_.pick(std::array{read, read, read, write, readwrite, readwrite, commute});
    }

    AccessSpec access_to(int datum, basalt::AccessMode mode) {
        const DatumSpec& spec = program_.data[static_cast<std::size_t>(datum)];
        const auto [row_begin, row_end] = interval<basalt::Index>(0, spec.rows);
        const auto [col_begin, col_end] = interval<std::int32_t>(0, spec.cols);
        return {datum, row_begin, row_end, col_begin, col_end, mode};
    }

    /// A part of what the parent holds, in a mode whose outcome does not depend on the order of execution.
    AccessSpec access_within(const AccessSpec& parent) {
        AccessSpec access = parent;
        if (parent.row_begin < parent.row_end) {
            std::tie(access.row_begin, access.row_end) = interval(parent.row_begin, parent.row_end);
        }
        if (parent.col_begin < parent.col_end) {
            std::tie(access.col_begin, access.col_end) = interval(parent.col_begin, parent.col_end);
        }
        const bool free_choice =
            parent.mode == basalt::AccessMode::write || parent.mode == basalt::AccessMode::readwrite;
        if (free_choice) access.mode = any_mode();
        return access;
    }

    int access_count() {
        if (random_.one_in(12)) return 0;
        return random_.one_in(8) ? random_.between(4, 8) : random_.between(1, 3);
    }

    void choose_accesses(TaskSpec& task, const TaskSpec* parent, bool distinct) {
        task.as_list = random_.one_in(4);
        const int count = task.as_list && random_.one_in(4) ? random_.between(9, 40) : access_count();
        for (int i = 0; i < count; ++i) {
            AccessSpec access{};
            if (parent != nullptr) {
                if (parent->accesses.empty()) return;
                access = access_within(random_.pick(parent->accesses));
            } else if (has_shared_datum() && random_.one_in(3)) {
                access = access_to(shared_datum(), basalt::AccessMode::commute);
            } else {
                access = access_to(own_datum(), any_mode());
            }
            // a kernel without views cannot know where a renamed datum lies
            if (task.as_list && may_be_renamed(program_.data[static_cast<std::size_t>(access.datum)]))
                continue;
            const bool known =
                std::any_of(task.accesses.begin(), task.accesses.end(),
                            [&](const AccessSpec& other) { return other.datum == access.datum; });
            if (!(distinct && known)) task.accesses.push_back(access);
        }
    }

    TaskSpec task(const TaskSpec* parent, int depth) {
        TaskSpec task;
        task.id = next_id_++;
        task.depth = depth;
        task.priority = random_.one_in(3) ? random_.between(-5, 5) : 0;
        if (random_.one_in(10)) {
            task.threads.min = random_.between(1, 4);
            task.threads.max = task.threads.min + random_.between(0, 3);
        }
        const bool nests = depth < deepest && random_.one_in(8);
        choose_accesses(task, parent, nests);
        if (random_.one_in(30)) task.local_steps = random_.between(1, 10);
        if (nests) {
            const int children = random_.between(1, 6);
            for (int i = 0; i < children; ++i) {
                task.children.push_back(this->task(&task, depth + 1));
                task.waits_after.push_back(random_.one_in(4));
            }
            task.works_again = random_.one_in(3);
            task.catches = random_.one_in(2);
        }
        return task;
    }

    /// Some task, at any depth.
    TaskSpec& any_task() {
        TaskSpec* task = &program_.tasks[random_.next() % program_.tasks.size()];
        while (!task->children.empty() && random_.one_in(2)) {
            task = &task->children[random_.next() % task->children.size()];
        }
        return *task;
    }

    void throw_somewhere() {
        program_.throws = true;
        const int count = random_.one_in(3) ? random_.between(2, 4) : 1;
        for (int i = 0; i < count; ++i) any_task().throws = true;
    }

    void cancel_somewhere() {
        program_.cancels = true;
        if (random_.one_in(2)) {
            program_.cancel_before = random_.between(0, static_cast<int>(program_.tasks.size()) - 1);
        } else {
            any_task().cancels = true;
        }
    }

    Random random_;
    Program program_;
    int next_id_ = 0;
    int thread_ = 0;
};

}  // namespace basalt_tests
