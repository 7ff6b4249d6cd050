// Ours, through the public API as a user calls it; kernels take views of the data that they access.
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

class BasaltSystem final : public TaskSystem {
  public:
    explicit BasaltSystem(int workers) : runtime_({.workers = workers}) {}

    Times run(const Stream& stream) override {
        for (std::size_t i = 0; i < stream.data(); ++i) data_.emplace_back(runtime_, 1);
        const Stopwatch watch;
        insert(stream, *this);
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
    basalt::Runtime runtime_;
    std::vector<basalt::Array<double>> data_;
};

}  // namespace

std::unique_ptr<TaskSystem> make_basalt_system(int workers) { return std::make_unique<BasaltSystem>(workers); }

}  // namespace bench
