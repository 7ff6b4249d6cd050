// Ours, through the public API as a user calls it; kernels take views of the data that they access.
#include <cstddef>
#include <type_traits>
#include <utility>
#include <vector>

#include <basalt/array.hpp>
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

class BasaltSystem final : public TaskSystem {
  public:
    explicit BasaltSystem(int workers) : runtime_({.workers = workers}) {}

    Times run(const Stream& stream) override {
        if (stream.kind == Stream::Kind::wavefront) return run_wavefront(stream);
        for (std::size_t i = 0; i < stream.data(); ++i) data_.emplace_back(runtime_, 1);
        const Stopwatch watch;
        if (stream.kind == Stream::Kind::accesses) {
            insert_accesses(stream, std::make_index_sequence<most_accesses>{});
        } else {
            insert(stream, *this);
        }
        runtime_.wait();
        const Times times = watch.elapsed();
        data_.clear();
        return times;
    }

    void task() {
        runtime_.submit({}, [] {});
    }
    void update(std::size_t c) {
        runtime_.submit({}, readwrite(data_[c]), [](InOut) {});
    }
    void update(std::size_t a, std::size_t c) {
        runtime_.submit({}, read(data_[a]), readwrite(data_[c]), [](In, InOut) {});
    }
    void update(std::size_t a, std::size_t b, std::size_t c) {
        runtime_.submit({}, read(data_[a]), read(data_[b]), readwrite(data_[c]), [](In, In, InOut) {});
    }

  private:
    Times run_wavefront(const Stream& stream) {
        Cells cells(runtime_, stream.data());
        const Stopwatch watch;
        insert(stream, cells);
        runtime_.wait();
        return watch.elapsed();
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

}  // namespace

std::unique_ptr<TaskSystem> make_basalt_system(int workers) { return std::make_unique<BasaltSystem>(workers); }

}  // namespace bench
