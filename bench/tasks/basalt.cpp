// Ours, through the public API as a user calls it; kernels take views of the data that they access.
#include <cstddef>
#include <functional>
#include <optional>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <vector>

#include <basalt/array.hpp>
#include <basalt/recording.hpp>
#include <basalt/runtime.hpp>

#include "bench/tasks/task_streams.hpp"

namespace bench {

namespace {

using basalt::read;
using basalt::readwrite;
using In = basalt::View<const double>;
using InOut = basalt::View<double>;

/// A task on each cell of one array.
class Cells {
  public:
    Cells(basalt::Runtime& runtime, std::size_t cells)
        : runtime_(runtime), cells_(runtime, static_cast<basalt::Index>(cells)) {}

    void task() {
        runtime_.submit({}, [] {});
    }
    void update(std::size_t c) {
        runtime_.submit({}, readwrite(cell(c)), [](InOut) {});
    }
    void update(std::size_t a, std::size_t c) {
        runtime_.submit({}, read(cell(a)), readwrite(cell(c)), [](In, InOut) {});
    }
    void update(std::size_t a, std::size_t b, std::size_t c) {
        runtime_.submit({}, read(cell(a)), read(cell(b)), readwrite(cell(c)), [](In, In, InOut) {});
    }

  private:
    basalt::Region<double> cell(std::size_t number) const {
        const auto row = static_cast<basalt::Index>(number);
        return cells_.rows(row, row + 1);
    }

    basalt::Runtime& runtime_;
    basalt::Array<double> cells_;
};

template <std::size_t>
using InOutAt = InOut;

/// A task on each of several arrays.
struct Inserter {
    basalt::Runtime& runtime;
    const std::vector<basalt::Array<double>>& data;

    void task() {
        runtime.submit({}, [] {});
    }
    void update(std::size_t c) {
        runtime.submit({}, readwrite(data[c]), [](InOut) {});
    }
    void update(std::size_t a, std::size_t c) {
        runtime.submit({}, read(data[a]), readwrite(data[c]), [](In, InOut) {});
    }
    void update(std::size_t a, std::size_t b, std::size_t c) {
        runtime.submit({}, read(data[a]), read(data[b]), readwrite(data[c]), [](In, In, InOut) {});
    }
};

class BasaltSystem final : public TaskSystem {
  public:
    explicit BasaltSystem(int workers) : runtime_({.workers = workers}) {}

    Times run(const Stream& stream) override {
        if (stream.kind == Stream::Kind::wavefront) return run_wavefront(stream);
        for (std::size_t i = 0; i < stream.data(); ++i) data_.emplace_back(runtime_, 1);
        const Stopwatch watch;
        if (stream.kind == Stream::Kind::accesses) {
            insert_accesses(stream, std::make_index_sequence<most_accesses>{});
        } else if (stream.kind == Stream::Kind::sharing) {
            Inserter tasks{runtime_, data_};
            insert_updates(stream, tasks);
        } else {
            Inserter tasks{runtime_, data_};
            insert(stream, tasks);
        }
        runtime_.wait();
        const Times times = watch.elapsed();
        data_.clear();
        return times;
    }

  private:
    Times run_wavefront(const Stream& stream) {
        Cells cells(runtime_, stream.data());
        const Stopwatch watch;
        insert(stream, cells);
        runtime_.wait();
        return watch.elapsed();
    }

    void insert_updates(const Stream& stream, Inserter& tasks) {
        for (std::int64_t i = 0; i < stream.tasks; ++i) {
            switch (stream.update) {
                case Stream::Update::readwrite: tasks.update(0); break;
                case Stream::Update::commute: runtime_.submit({}, commute(data_[0]), [](InOut) {}); break;
                case Stream::Update::reduce:
                    runtime_.submit({}, reduce(data_[0], 0.0, std::plus<>()), [](InOut) {});
                    break;
            }
        }
    }

    template <std::size_t... I>
    void insert_accesses(const Stream& stream, std::index_sequence<I...>) {
        const auto insert_one = [&]<std::size_t accesses>(std::integral_constant<std::size_t, accesses>) {
            if (stream.accesses != accesses) return;
            for (std::int64_t i = 0; i < stream.tasks; ++i) {
                const auto chain = static_cast<std::size_t>(i % Stream::chains);
                update_all(chain * accesses, std::make_index_sequence<accesses>{});
            }
        };
        (insert_one(std::integral_constant<std::size_t, I + 1>{}), ...);
    }
    template <std::size_t... I>
    void update_all(std::size_t first, std::index_sequence<I...>) {
        runtime_.submit({}, readwrite(data_[first + I])..., [](InOutAt<I>...) {});
    }

    basalt::Runtime runtime_;
    std::vector<basalt::Array<double>> data_;
};

/// A stream that is recorded at its first run. What is timed is binding the data and running the recording.
class ReplaySystem final : public TaskSystem {
  public:
    ReplaySystem(int workers, ReplayData data) : runtime_({.workers = workers}), data_(data) {}

    Times run(const Stream& stream) override {
        if (stream.kind != Stream::Kind::independent && stream.kind != Stream::Kind::chain &&
            stream.kind != Stream::Kind::cholesky) {
            throw std::logic_error("this stream is not recorded");
        }
        if (!recorded_ || stream.kind != recorded_->stream.kind || stream.tasks != recorded_->stream.tasks) {
            recorded_.emplace(runtime_, stream);
            // what is timed is a recording that has run: each set's memory was touched
            for (std::size_t i = 0; i < recorded_->sets.size(); ++i) run_once();
        }
        return run_once();
    }

  private:
    Times run_once() {
        std::vector<Arrays>& sets = recorded_->sets;
        const Arrays& next = sets[data_ == ReplayData::other ? ++turn_ % sets.size() : 0];
        const Stopwatch watch;
        if (data_ == ReplayData::other) recorded_->recording.bind(sets[0], next);
        recorded_->recording.run();
        runtime_.wait();
        return watch.elapsed();
    }

    using Arrays = std::vector<basalt::Array<double>>;
    struct Recorded {
        Recorded(basalt::Runtime& runtime, const Stream& stream)
            : stream(stream), sets(make_sets(runtime, stream.data())), recording(runtime, [&] {
                  Inserter tasks{runtime, sets[0]};
                  insert(stream, tasks);
              }) {}
        static std::vector<Arrays> make_sets(basalt::Runtime& runtime, std::size_t data) {
            std::vector<Arrays> sets(3);
            for (Arrays& arrays : sets) {
                for (std::size_t i = 0; i < data; ++i) arrays.emplace_back(runtime, 1);
            }
            return sets;
        }
        Stream stream;
        std::vector<Arrays> sets;
        basalt::Recording recording;
    };

    basalt::Runtime runtime_;
    const ReplayData data_;
    std::optional<Recorded> recorded_;
    std::size_t turn_ = 0;
};

}  // namespace

std::unique_ptr<TaskSystem> make_replay_system(int workers, ReplayData data) {
    return std::make_unique<ReplaySystem>(workers, data);
}

std::unique_ptr<TaskSystem> make_basalt_system(int workers) { return std::make_unique<BasaltSystem>(workers); }

}  // namespace bench
