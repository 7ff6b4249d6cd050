// The GPU that candidates run on, through CUDA's driver.
#include "tuner/gpu.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <memory>
#include <vector>

#include <basalt/error.hpp>

#include "tuner/check.hpp"
#include "tuner/cuda/driver.hpp"

namespace basalt::tuner {

namespace {

/// A call of the driver failed in a way that leaves the GPU usable.
class CallFailed : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

void require(const CudaDriver& driver, int status, const char* call) {
    if (status == 0) return;
    const std::string what = std::string(call) + ": " + driver.name_of_error(status);
    const bool sticky = status >= cuda_number::first_sticky_error && status <= cuda_number::last_sticky_error &&
                        status != cuda_number::out_of_resources;
    if (sticky) throw GpuLost(what);
    throw CallFailed(what);
}

class GpuMemory {
  public:
    GpuMemory(const CudaDriver& driver, std::size_t bytes) : driver_(driver), bytes_(bytes) {
        if (bytes > 0) require(driver, driver.allocate(&pointer_, bytes), "cuMemAlloc");
    }
    ~GpuMemory() {
        if (pointer_ != 0) driver_.free(pointer_);
    }
    GpuMemory(const GpuMemory&) = delete;
    GpuMemory& operator=(const GpuMemory&) = delete;

    unsigned long long at() const { return pointer_; }
    std::size_t bytes() const { return bytes_; }

    template <class Element>
    void write(const std::vector<Element>& values) {
        if (values.empty()) return;
        require(driver_, driver_.copy_to_gpu(pointer_, values.data(), values.size() * sizeof(Element)), "cuMemcpyHtoD");
    }
    template <class Element>
    void read(std::vector<Element>& values) const {
        if (values.empty()) return;
        require(driver_, driver_.copy_to_host(values.data(), pointer_, values.size() * sizeof(Element)),
                "cuMemcpyDtoH");
    }

  private:
    const CudaDriver& driver_;
    const std::size_t bytes_;
    unsigned long long pointer_ = 0;
};

class LoadedKernel {
  public:
    LoadedKernel(const CudaDriver& driver, const Compiled& compiled, std::size_t shared) : driver_(driver) {
        require(driver, driver.module_load(&module_, compiled.image.data()), "cuModuleLoadData");
        try {
            require(driver, driver.module_function(&function_, module_, "candidate"), "cuModuleGetFunction");
            require(driver,
                    driver.function_set(function_, cuda_number::largest_dynamic_shared, static_cast<int>(shared)),
                    "cuFuncSetAttribute");
        } catch (...) {
            driver.module_unload(module_);
            throw;
        }
    }
    ~LoadedKernel() { driver_.module_unload(module_); }
    LoadedKernel(const LoadedKernel&) = delete;
    LoadedKernel& operator=(const LoadedKernel&) = delete;

    void* function() const { return function_; }

  private:
    const CudaDriver& driver_;
    void* module_ = nullptr;
    void* function_ = nullptr;
};

/// Batches of a problem: one with the matrices of the check, and a larger one that is timed: it does not fit into the
/// second cache, and is launched at once, so that the launch does not count.
class GpuBatches {
  public:
    /// `matrices`: that the times are for.
    GpuBatches(const CudaDriver& driver, const Problem& problem, Index matrices)
        : driver_(driver), problem_(problem), matrices_(matrices), check_(BatchCheck::make(problem)) {
        const BatchData& input = check_->input();
        const auto count = static_cast<std::size_t>(check_->count()), n = static_cast<std::size_t>(problem.n);
        const std::size_t a = input.a.size() / count, b = input.b.size() / count;
        timed_ = static_cast<Index>(std::min(
            std::max({static_cast<std::size_t>(matrices), more_than_cache / (a + b), count}), most_bytes / (a + b)));
        plain_a_ = filled(input.a, a), plain_b_ = filled(input.b, b);
        a_ = memory(plain_a_->bytes()), b_ = memory(plain_b_->bytes());
        check_a_ = memory(input.a.size()), check_b_ = memory(input.b.size());
        const std::size_t most = std::max(static_cast<std::size_t>(timed_), count);
        tau_ = memory(most * n * sizeof(double));
        pivots_ = memory(most * n * sizeof(Index));
        info_ = memory(most * sizeof(Index));
        write_timed_pivots();
    }

    const Problem& problem() const { return problem_; }

    double worst_ratio(const Candidate& candidate, const LoadedKernel& kernel) {
        BatchData data = check_->input();
        check_a_->write(data.a), check_b_->write(data.b), info_->write(data.info), pivots_->write(data.pivots);
        launch(candidate, kernel, check_->count(), *check_a_, *check_b_);
        require(driver_, driver_.synchronize(), "cuCtxSynchronize");
        check_a_->read(data.a), check_b_->read(data.b), info_->read(data.info);
        pivots_->read(data.pivots), tau_->read(data.tau);
        write_timed_pivots();
        return check_->worst_ratio(data);
    }

    /// For as many matrices as the constructor was told; the median of several rounds.
    double seconds(const Candidate& candidate, const LoadedKernel& kernel, void* start, void* end) {
        std::array<float, rounds> milliseconds{};
        for (float& time : milliseconds) {
            restore(*a_, *plain_a_), restore(*b_, *plain_b_);
            require(driver_, driver_.event_record(start, nullptr), "cuEventRecord");
            launch(candidate, kernel, timed_, *a_, *b_);
            require(driver_, driver_.event_record(end, nullptr), "cuEventRecord");
            require(driver_, driver_.event_synchronize(end), "cuEventSynchronize");
            require(driver_, driver_.event_elapsed(&time, start, end), "cuEventElapsedTime");
        }
        std::sort(milliseconds.begin(), milliseconds.end());
        return static_cast<double>(milliseconds[rounds / 2]) * 1e-3 * static_cast<double>(matrices_) /
               static_cast<double>(timed_);
    }

  private:
    static constexpr std::size_t more_than_cache = std::size_t{200} << 20, most_bytes = std::size_t{2} << 30;
    static constexpr std::size_t rounds = 5;

    std::unique_ptr<GpuMemory> memory(std::size_t bytes) const { return std::make_unique<GpuMemory>(driver_, bytes); }

    /// The matrix of the check that matrix k of the timed batch is a copy of: not the one that fails.
    std::size_t source_of(Index k) const {
        const Index own = k % check_->count();
        return static_cast<std::size_t>(own == BatchCheck::failing ? 0 : own);
    }
    template <class Element>
    std::vector<Element> repeated(const std::vector<Element>& values, std::size_t of_matrix) const {
        std::vector<Element> all(of_matrix * static_cast<std::size_t>(timed_));
        for (Index k = 0; k < timed_ && of_matrix > 0; ++k) {
            std::copy_n(&values[source_of(k) * of_matrix], of_matrix, &all[static_cast<std::size_t>(k) * of_matrix]);
        }
        return all;
    }
    std::unique_ptr<GpuMemory> filled(const std::vector<unsigned char>& values, std::size_t of_matrix) const {
        auto made = memory(of_matrix * static_cast<std::size_t>(timed_));
        made->write(repeated(values, of_matrix));
        return made;
    }
    /// Solves read pivots; the check leaves its own where they lie.
    void write_timed_pivots() {
        const std::vector<Index>& pivots = check_->input().pivots;
        if (problem_.job == BatchJob::solve && !pivots.empty()) {
            pivots_->write(repeated(pivots, static_cast<std::size_t>(problem_.n)));
        }
    }
    void restore(const GpuMemory& to, const GpuMemory& from) {
        if (from.bytes() == 0) return;
        require(driver_, driver_.copy_within(to.at(), from.at(), from.bytes(), nullptr), "cuMemcpyDtoDAsync");
    }
    void launch(const Candidate& candidate, const LoadedKernel& kernel, Index number, const GpuMemory& a,
                const GpuMemory& b) {
        const auto pointer = [](const GpuMemory& memory) { return std::bit_cast<void*>(memory.at()); };
        cuda_detail::batch::CandidateArguments arguments{pointer(a),
                                                         pointer(b),
                                                         pointer(*tau_),
                                                         static_cast<Index*>(pointer(*pivots_)),
                                                         static_cast<Index*>(pointer(*info_)),
                                                         number,
                                                         problem_.n,
                                                         problem_.n};
        std::array<void*, 1> parameters{&arguments};
        const Index group = matrices_a_block(problem_, candidate);
        require(driver_,
                driver_.launch(kernel.function(), static_cast<unsigned>((number + group - 1) / group), 1, 1,
                               static_cast<unsigned>(candidate.threads), 1, 1,
                               static_cast<unsigned>(launched_shared_bytes(problem_, candidate)), nullptr,
                               parameters.data(), nullptr),
                "cuLaunchKernel");
    }

    const CudaDriver& driver_;
    const Problem problem_;
    const Index matrices_;
    const std::unique_ptr<BatchCheck> check_;
    Index timed_ = 0;
    std::unique_ptr<GpuMemory> plain_a_, plain_b_, a_, b_, tau_, pivots_, info_, check_a_, check_b_;
};

class CudaGpu final : public TunedGpu {
  public:
    explicit CudaGpu(Index matrices) : driver_(CudaDriver::loaded()), matrices_(matrices) {
        int count = 0;
        if (const int status = driver_.init(0); status != 0)
            throw GpuMissing("cuInit: " + driver_.name_of_error(status));
        if (driver_.device_count(&count) != 0 || count == 0) throw GpuMissing("CUDA's driver finds no GPU");
        std::array<char, 256> name{};
        require(driver_, driver_.device_get(&device_, 0), "cuDeviceGet");
        require(driver_, driver_.device_name(name.data(), static_cast<int>(name.size()) - 1, device_),
                "cuDeviceGetName");
        name_ = name.data();
        void* context = nullptr;  // for the rest of the process
        require(driver_, driver_.context_retain(&context, device_), "cuDevicePrimaryCtxRetain");
        require(driver_, driver_.context_set(context), "cuCtxSetCurrent");
        require(driver_, driver_.event_create(&start_, 0), "cuEventCreate");
        require(driver_, driver_.event_create(&end_, 0), "cuEventCreate");
        limits_.architecture = "sm_" + std::to_string(attribute(cuda_number::capability_major)) +
                               std::to_string(attribute(cuda_number::capability_minor));
        limits_.threads_a_block = attribute(cuda_number::threads_a_block);
        limits_.threads_a_multiprocessor = attribute(cuda_number::threads_a_multiprocessor);
        limits_.blocks_a_multiprocessor = attribute(cuda_number::blocks_a_multiprocessor);
        limits_.registers = attribute(cuda_number::registers_a_multiprocessor);
        limits_.shared_a_block = static_cast<std::size_t>(attribute(cuda_number::shared_a_block));
        limits_.shared_a_multiprocessor = static_cast<std::size_t>(attribute(cuda_number::shared_a_multiprocessor));
        limits_.shared_reserved = static_cast<std::size_t>(attribute(cuda_number::shared_reserved));
    }

    std::string name() const override { return name_; }
    const GpuLimits& limits() const override { return limits_; }
    void prepare(const Problem& problem) override {
        batches_.reset();  // its memory first
        batches_ = std::make_unique<GpuBatches>(driver_, problem, matrices_);
    }
    Trial run(const Candidate& candidate, const Compiled& compiled) override {
        Trial trial;
        try {
            const LoadedKernel kernel(driver_, compiled, launched_shared_bytes(batches_->problem(), candidate));
            trial.ratio = batches_->worst_ratio(candidate, kernel);
            if (trial.ratio <= passing_batch_ratio) trial.seconds = batches_->seconds(candidate, kernel, start_, end_);
        } catch (const CallFailed& failed) {
            trial.error = failed.what();
        }
        return trial;
    }

  private:
    int attribute(int number) const {
        int value = 0;
        require(driver_, driver_.device_attribute(&value, number, device_), "cuDeviceGetAttribute");
        return value;
    }

    const CudaDriver& driver_;
    const Index matrices_;
    int device_ = 0;
    std::string name_;
    GpuLimits limits_;
    void* start_ = nullptr;
    void* end_ = nullptr;
    std::unique_ptr<GpuBatches> batches_;
};

}  // namespace

std::unique_ptr<TunedGpu> open_cuda_gpu(Index matrices) {
    try {
        return std::make_unique<CudaGpu>(matrices);
    } catch (const CallFailed& failed) {
        throw GpuMissing(failed.what());
    } catch (const GpuLost& lost) {
        throw GpuMissing(lost.what());
    }
}

}  // namespace basalt::tuner
