#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "tests/runtime/random_graph/program.hpp"
#include "tests/runtime/random_graph/random.hpp"

namespace basalt_tests {

/// The devices that a program is for.
struct Devices {
    int gpus = 0;
    std::size_t memory = 0;  ///< of each: no task on a device needs more
};

/// Makes the random program of a seed.
class Generator {
  public:
    explicit Generator(std::uint64_t seed, Devices devices = {}) : devices_(devices), random_(seed) {}

    Program program() {
        if (random_.one_in(8)) program_.threads = random_.between(2, 3);
        if (random_.one_in(4)) program_.graphs = random_.between(2, 3);
        program_.waits_in_threads = random_.one_in(2);
        choose_data();
        const int outcome = random_.between(0, 14);
        const int tasks = random_.one_in(10) ? random_.between(40, 120) : random_.between(1, 25);
        for (int i = 0; i < tasks; ++i) {
            thread_ = random_.between(0, program_.threads - 1);
            program_.thread_of.push_back(thread_);
            program_.tasks.push_back(task(nullptr, 0));
            program_.tasks.back().graph = random_.between(0, program_.graphs - 1);
            program_.errands.push_back(errands(outcome == 0));
        }
        if (outcome == 1) throw_somewhere();
        if (outcome == 2) cancel_somewhere();
        program_.all_tasks = next_id_;
        return std::move(program_);
    }

  private:
    static constexpr int deepest = 3;

    const DatumSpec& spec_of(int datum) const { return program_.data[static_cast<std::size_t>(datum)]; }
    bool has_shared_datum() const { return program_.threads > 1; }
    int shared_datum() const { return static_cast<int>(program_.data.size()) - 1; }

    void choose_data() {
        const bool on_devices = devices_.gpus > 0;
        const int own = random_.between(1, on_devices ? 6 : 3) * program_.threads;
        for (int i = 0; i < own; ++i) {
            const auto kind = static_cast<DatumKind>(random_.between(0, on_devices ? 5 : 3));
            const bool array = kind == DatumKind::owned || kind == DatumKind::wrapped;
            const basalt::Index longest = array ? 24 : 8;
            // of several sizes, so that device memory is cut up
            const basalt::Index factor = on_devices && random_.one_in(2) ? 8 : 1;
            program_.data.push_back({kind, random_.between<basalt::Index>(1, factor * longest),
                                     array ? 1 : random_.between<std::int32_t>(1, 6)});
        }
        if (has_shared_datum()) program_.data.push_back({DatumKind::wrapped, 12, 1});
        for (const DatumSpec& datum : program_.data) scratch_rows_.emplace_back(0, datum.rows);
    }

    /// What the program does behind the task that was made last.
    std::vector<Errand> errands(bool succeeds) {
        std::vector<Errand> errands;
        if (random_.one_in(20)) errands.push_back({Errand::look, own_datum()});
        if (devices_.gpus == 0) return errands;
        if (random_.one_in(8)) errands.push_back({Errand::prefetch, own_datum(), any_place()});
        if (random_.one_in(12)) errands.push_back({Errand::broadcast, own_datum()});
        if (random_.one_in(5)) add_fetch(errands);
        if (random_.one_in(10)) errands.push_back({Errand::leave, own_datum(), any_gpu()});
        if (random_.one_in(15)) {
            errands.push_back({Errand::renew, own_datum()});
            const auto datum = static_cast<std::size_t>(errands.back().datum);
            scratch_rows_[datum] = {0, program_.data[datum].rows};
        }
        if (succeeds && program_.threads == 1 && random_.one_in(20)) errands.push_back({Errand::wait});
        return errands;
    }

    /// The cores or a device.
    basalt::Place any_place() {
        const int number = random_.between(-1, devices_.gpus - 1);
        return number < 0 ? basalt::Place::cpu() : basalt::Place::gpu(number);
    }
    basalt::Place any_gpu() { return basalt::Place::gpu(random_.between(0, devices_.gpus - 1)); }

    /// Between two data, where the ones that were picked allow it.
    void add_fetch(std::vector<Errand>& errands) {
        const int from = own_datum(), to = own_datum();
        const DatumSpec& target = spec_of(to);
        if (from == to || device_bytes(target) > devices_.memory) return;
        AccessSpec source = access_to(from, basalt::AccessMode::read);
        const basalt::Index rows = std::min(source.row_end - source.row_begin, target.rows);
        const std::int32_t cols = std::min(source.col_end - source.col_begin, target.cols);
        // rows of scratch data get contents as a whole
        if (rows == 0 || cols == 0 || (target.kind == DatumKind::scratch && cols < target.cols)) return;
        const basalt::Index row = random_.between<basalt::Index>(0, target.rows - rows);
        const std::int32_t col = random_.between<std::int32_t>(0, target.cols - cols);
        source.row_end = source.row_begin + rows;
        source.col_end = source.col_begin + cols;
        if (target.kind == DatumKind::scratch) scratch_rows_[static_cast<std::size_t>(to)] = {row, row + rows};
        errands.push_back(
            {Errand::fetch, to, any_gpu(), source, {to, row, row + rows, col, col + cols, basalt::AccessMode::write}});
    }

    /// A datum of the submitting thread's own.
    int own_datum() {
        const int own = (static_cast<int>(program_.data.size()) - (has_shared_datum() ? 1 : 0)) / program_.threads;
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
        return random_.pick(std::array{read, read, read, write, readwrite, readwrite, commute, reduce, reduce});
    }

    AccessSpec access_to(int datum, basalt::AccessMode mode) {
        const DatumSpec& spec = spec_of(datum);
        if (spec.kind == DatumKind::scratch) return access_to_scratch(datum, mode);
        const auto [row_begin, row_end] = interval<basalt::Index>(0, spec.rows);
        const auto [col_begin, col_end] = interval<std::int32_t>(0, spec.cols);
        return {datum, row_begin, row_end, col_begin, col_end, mode};
    }

    /// Rows that have contents, or rows that get them.
    AccessSpec access_to_scratch(int datum, basalt::AccessMode mode) {
        const DatumSpec& spec = spec_of(datum);
        auto& rows = scratch_rows_[static_cast<std::size_t>(datum)];
        if (mode == basalt::AccessMode::write) {
            const basalt::Index begin = random_.between<basalt::Index>(0, spec.rows - 1);
            rows = {begin, random_.between(begin + 1, spec.rows)};
            return {datum, rows.first, rows.second, 0, spec.cols, mode};
        }
        const auto [row_begin, row_end] = interval(rows.first, rows.second);
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
        if (parent.mode == basalt::AccessMode::commute) access.mode = commuting_mode();
        return access;
    }

    /// Additions, whose order does not matter.
    basalt::AccessMode commuting_mode() {
        return random_.one_in(2) ? basalt::AccessMode::commute : basalt::AccessMode::reduce;
    }

    /// A reduction, or what else the task may do there. `only_adds`: as others do there at the same time.
    void choose_combine(const TaskSpec& task, AccessSpec& access, bool only_adds) {
        if (access.mode != basalt::AccessMode::reduce) return;
        access.combine = random_.pick(std::array{Combine::add, Combine::exclusive_or, Combine::add_in_order});
        if (only_adds && access.combine == Combine::exclusive_or) access.combine = Combine::add;
        if (task.threads.max > 1 && access.combine == Combine::add_in_order) access.combine = Combine::add;
        if (task.as_list || reductions_of(task) == most_reductions) access.mode = basalt::AccessMode::commute;
    }

    /// A task does nothing else to what it reduces into.
    static bool excluded(const TaskSpec& task, const AccessSpec& access) {
        return std::any_of(task.accesses.begin(), task.accesses.end(), [&](const AccessSpec& other) {
            const bool reduces = access.mode == basalt::AccessMode::reduce || other.mode == basalt::AccessMode::reduce;
            return reduces && overlap(access, other);
        });
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
            const auto known = [&](int datum) {
                return std::any_of(task.accesses.begin(), task.accesses.end(),
                                   [&](const AccessSpec& other) { return other.datum == datum; });
            };
            if (parent != nullptr) {
                if (parent->accesses.empty()) return;
                const AccessSpec& held = random_.pick(parent->accesses);
                if (held.mode == basalt::AccessMode::reduce) continue;
                access = access_within(held);
                choose_combine(task, access, held.mode == basalt::AccessMode::commute);
            } else if (has_shared_datum() && random_.one_in(3)) {
                access = access_to(shared_datum(), commuting_mode());
                choose_combine(task, access, true);
            } else {
                const int datum = own_datum();
                // rows that one access of a task gives contents, another one would take
                if (spec_of(datum).kind == DatumKind::scratch && known(datum)) continue;
                access = access_to(datum, any_mode());
                choose_combine(task, access, false);
            }
            if (excluded(task, access)) continue;
            // a datum that is accessed in name only may be gone when its user's children come
            const bool empty = access.row_begin == access.row_end || access.col_begin == access.col_end;
            if (devices_.gpus > 0 && parent != nullptr && empty) continue;
            // a kernel without views cannot know where a renamed datum lies
            if (task.as_list && devices_.gpus == 0 &&
                may_be_renamed(program_.data[static_cast<std::size_t>(access.datum)]))
                continue;
            if (!(distinct && known(access.datum))) task.accesses.push_back(access);
        }
        std::stable_partition(task.accesses.begin(), task.accesses.end(),
                              [](const AccessSpec& a) { return a.mode == basalt::AccessMode::reduce; });
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
        if (devices_.gpus > 0) choose_place(task);
        return task;
    }

    /// Kernels for the cores, for GPUs, or both, and a place that has one. What submits tasks runs on the cores.
    void choose_place(TaskSpec& task) {
        const bool submits = !task.children.empty() || task.local_steps > 0;
        const bool fits = working_set(program_.data, task) <= devices_.memory;
        task.on_gpu = fits && !submits && reductions_of(task) == 0 && !random_.one_in(4);
        if (task.depth > 0 || !task.on_gpu) {
            task.place = random_.one_in(2) ? basalt::Place::cpu() : basalt::Place::any();
            return;
        }
        task.on_cpu = !random_.one_in(4);
        task.place = random_.one_in(3) ? basalt::Place::any() : any_place();
        if (!task.on_cpu && task.place.is_cpu()) task.place = basalt::Place::any();
        if (!task.on_cpu || task.place.is_gpu()) task.threads = {};  // a gang runs on the cores
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
        program_.fails = true;
        const int count = random_.one_in(3) ? random_.between(2, 4) : 1;
        for (int i = 0; i < count; ++i) any_task().throws = true;
    }

    void cancel_somewhere() {
        program_.fails = true;
        if (random_.one_in(2)) {
            program_.cancel_before = random_.between(0, static_cast<int>(program_.tasks.size()) - 1);
        } else {
            any_task().cancels = true;
        }
    }

    const Devices devices_;
    Random random_;
    Program program_;
    std::vector<std::pair<basalt::Index, basalt::Index>> scratch_rows_;  // of each datum: those that have contents
    int next_id_ = 0;
    int thread_ = 0;
};

}  // namespace basalt_tests
