// The lower bound: one thread finds hazards in a hash table from tile to last writer and readers since, counts them,
// and calls the kernel at once. It keeps no task and runs nothing in parallel.
#include <unordered_map>
#include <vector>

#include "bench/tasks/task_streams.hpp"

namespace bench {

namespace {

inline void use(const double* a, const double* b, double* c) { asm volatile("" : : "r"(a), "r"(b), "r"(c)); }

class BareLoop final : public TaskSystem {
  public:
    Times run(const Stream& stream) override {
        data_.assign(stream.data(), 0.0);
        users_.clear();
        hazards_ = 0;
        next_task_ = 1;
        const Stopwatch watch;
        insert(stream, *this);
        const Times times = watch.elapsed();
        asm volatile("" : : "r"(hazards_));  // the compiler must keep the count
        return times;
    }

    void task() {
        ++next_task_;
        use(nullptr, nullptr, nullptr);
    }
    void update(std::size_t c) {
        write(c);
        ++next_task_;
        use(nullptr, nullptr, &data_[c]);
    }
    void update(std::size_t a, std::size_t c) {
        read(a);
        write(c);
        ++next_task_;
        use(&data_[a], nullptr, &data_[c]);
    }
    void update(std::size_t a, std::size_t b, std::size_t c) {
        read(a);
        read(b);
        write(c);
        ++next_task_;
        use(&data_[a], &data_[b], &data_[c]);
    }

  private:
    struct Users {
        std::int64_t writer = 0;
        std::vector<std::int64_t> readers;
    };

    void read(std::size_t datum) {
        Users& users = users_[&data_[datum]];
        hazards_ += users.writer != 0 ? 1 : 0;
        users.readers.push_back(next_task_);
    }
    void write(std::size_t datum) {
        Users& users = users_[&data_[datum]];
        hazards_ += users.readers.empty() ? (users.writer != 0 ? 1 : 0) : std::ssize(users.readers);
        users.writer = next_task_;
        users.readers.clear();
    }

    std::vector<double> data_;
    std::unordered_map<const double*, Users> users_;
    std::int64_t hazards_ = 0;
    std::int64_t next_task_ = 1;
};

}  // namespace

std::unique_ptr<TaskSystem> make_bare_loop() { return std::make_unique<BareLoop>(); }

}  // namespace bench
