// OpenMP: tasks with depend clauses, inserted by one thread of a team of `workers`.
#include <vector>

#include <omp.h>

#include "bench/tasks/task_streams.hpp"

namespace bench {

namespace {

/// An empty kernel that the compiler must not remove.
inline void use(const double* a, const double* b, double* c) { asm volatile("" : : "r"(a), "r"(b), "r"(c)); }

class OpenMpSystem final : public TaskSystem {
  public:
    explicit OpenMpSystem(int workers) : workers_(workers) {}

    Times run(const Stream& stream) override {
        data_.assign(stream.data(), 0.0);
        Times times{};
#pragma omp parallel num_threads(workers_)
#pragma omp single
        {
            const Stopwatch watch;
            insert(stream, *this);
#pragma omp taskwait
            times = watch.elapsed();
        }
        return times;
    }

    void task() {
#pragma omp task
        use(nullptr, nullptr, nullptr);
    }
    void update(std::size_t c) {
        double* out = &data_[c];
#pragma omp task depend(inout : *out) firstprivate(out)
        use(nullptr, nullptr, out);
    }
    void update(std::size_t a, std::size_t c) {
        const double* in = &data_[a];
        double* out = &data_[c];
#pragma omp task depend(in : *in) depend(inout : *out) firstprivate(in, out)
        use(in, nullptr, out);
    }
    void update(std::size_t a, std::size_t b, std::size_t c) {
        const double* left = &data_[a];
        const double* right = &data_[b];
        double* out = &data_[c];
#pragma omp task depend(in : *left, *right) depend(inout : *out) firstprivate(left, right, out)
        use(left, right, out);
    }

  private:
    int workers_;
    std::vector<double> data_;
};

}  // namespace

std::unique_ptr<TaskSystem> make_openmp_system(int workers) { return std::make_unique<OpenMpSystem>(workers); }

}  // namespace bench
