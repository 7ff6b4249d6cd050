#include "bench/broadcast_trials.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <stdexcept>
#include <tuple>
#include <utility>

#include <cuda.h>
#include <cuda_runtime_api.h>
#include <dlfcn.h>

#include "bench/broadcast_relay.hpp"
#include "bench/clock.hpp"
#include "runtime/device/broadcast_route.hpp"

namespace bench {

namespace {

constexpr double patience = 5;  // seconds
constexpr std::size_t most_words = 4096;

void check(cudaError_t status, const char* call) {
    if (status != cudaSuccess) throw std::runtime_error(std::string(call) + ": " + cudaGetErrorName(status));
}

/// Writes and waits of streams for words in GPU memory: the driver has them, the runtime library has not.
class StreamWords {
  public:
    StreamWords() {
        void* driver = dlopen("libcuda.so.1", RTLD_LAZY);
        if (driver == nullptr) throw std::runtime_error("flags: no libcuda.so.1");
        write_ = reinterpret_cast<Call*>(dlsym(driver, "cuStreamWriteValue32_v2"));
        wait_ = reinterpret_cast<Call*>(dlsym(driver, "cuStreamWaitValue32_v2"));
        if (write_ == nullptr || wait_ == nullptr) throw std::runtime_error("flags: the driver has no stream words");
    }
    void write(cudaStream_t stream, std::uint32_t* word, std::uint32_t value) const {
        call(write_, stream, word, value, CU_STREAM_WRITE_VALUE_DEFAULT);
    }
    void wait(cudaStream_t stream, std::uint32_t* word, std::uint32_t value) const {
        call(wait_, stream, word, value, CU_STREAM_WAIT_VALUE_GEQ);
    }

  private:
    using Call = CUresult(CUstream, CUdeviceptr, cuuint32_t, unsigned int);
    static void call(Call* function, cudaStream_t stream, std::uint32_t* word, std::uint32_t value, unsigned int how) {
        const CUresult status = function(stream, reinterpret_cast<CUdeviceptr>(word), value, how);
        if (status != CUDA_SUCCESS) throw std::runtime_error("flags: CUresult " + std::to_string(status));
    }
    Call* write_;
    Call* wait_;
};

/// Copies of a slice from one place to another, in chunks, each behind the one of the parent that brings it.
struct Edge {
    int from;
    int to;
    std::size_t begin;
    std::size_t end;
    int parent = -1;
    int depth = 0;
};

class Route {
  public:
    std::vector<Edge> edges;

    int add(int from, int to, std::size_t begin, std::size_t end, int parent) {
        const int depth = parent < 0 ? 0 : edges[static_cast<std::size_t>(parent)].depth + 1;
        edges.push_back({from, to, begin, end, parent, depth});
        return static_cast<int>(edges.size()) - 1;
    }
    /// From place 0 through all targets, upwards or downwards.
    void add_ring(int targets, bool downwards, std::size_t begin, std::size_t end) {
        int before = 0;
        int parent = -1;
        for (int i = 1; i <= targets; ++i) {
            const int next = downwards ? targets + 1 - i : i;
            parent = add(before, next, begin, end, parent);
            before = next;
        }
    }
    bool has_children(std::size_t edge) const {
        return std::any_of(edges.begin(), edges.end(),
                           [&](const Edge& other) { return other.parent == static_cast<int>(edge); });
    }
};

std::size_t part(std::size_t bytes, int i, int parts) {
    constexpr std::size_t unit = 4096;
    return i == parts ? bytes : bytes / static_cast<std::size_t>(parts) / unit * unit * static_cast<std::size_t>(i);
}

Route route_of(const BroadcastTrial& trial) {
    Route route;
    if (trial.method == "rings") {
        route.add_ring(trial.targets, false, 0, part(trial.bytes, 1, 2));
        route.add_ring(trial.targets, true, part(trial.bytes, 1, 2), trial.bytes);
    } else if (trial.method == "scatter") {
        for (int first = 1; first <= trial.targets; ++first) {
            const std::size_t begin = part(trial.bytes, first - 1, trial.targets);
            const std::size_t end = part(trial.bytes, first, trial.targets);
            const int parent = route.add(0, first, begin, end, -1);
            for (int i = 1; i < trial.targets; ++i) {
                route.add(first, (first - 1 + i) % trial.targets + 1, begin, end, parent);
            }
        }
    } else {
        route.add_ring(trial.targets, false, 0, trial.bytes);
    }
    return route;
}

/// Streams and events of places, made when first used: those of edge i are the i-th ones of the place that copies.
/// Place i is on GPU i, going round where there are fewer.
class Resources {
  public:
    explicit Resources(int gpus) : gpus_(gpus) {}
    ~Resources() {
        for (const auto& [key, stream] : streams_) cudaStreamDestroy(stream);
        for (const auto& [key, event] : events_) cudaEventDestroy(event);
        for (const auto& [place, words] : words_) cudaFree(words);
    }
    Resources(const Resources&) = delete;
    Resources& operator=(const Resources&) = delete;

    void make_current(int place) const { check(cudaSetDevice(place % gpus_), "cudaSetDevice"); }

    cudaStream_t stream(int place, std::size_t edge) {
        cudaStream_t& found = streams_[{place, edge}];
        if (found != nullptr) return found;
        int least = 0;
        int highest = 0;
        make_current(place);
        check(cudaDeviceGetStreamPriorityRange(&least, &highest), "cudaDeviceGetStreamPriorityRange");
        check(cudaStreamCreateWithPriority(&found, cudaStreamNonBlocking, highest), "cudaStreamCreateWithPriority");
        return found;
    }
    cudaEvent_t event(int place, std::size_t edge, std::size_t chunk) {
        cudaEvent_t& found = events_[{place, edge, chunk}];
        if (found != nullptr) return found;
        make_current(place);
        check(cudaEventCreateWithFlags(&found, cudaEventDisableTiming), "cudaEventCreateWithFlags");
        return found;
    }
    /// Words in a place's memory, zero at first.
    std::uint32_t* words(int place) {
        std::uint32_t*& found = words_[place];
        if (found != nullptr) return found;
        make_current(place);
        check(cudaMalloc(reinterpret_cast<void**>(&found), most_words * sizeof(std::uint32_t)), "cudaMalloc");
        check(cudaMemset(found, 0, most_words * sizeof(std::uint32_t)), "cudaMemset");
        check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
        return found;
    }

  private:
    int gpus_;
    std::map<std::pair<int, std::size_t>, cudaStream_t> streams_;
    std::map<std::tuple<int, std::size_t, std::size_t>, cudaEvent_t> events_;
    std::map<int, std::uint32_t*> words_;
};

void await(cudaStream_t stream, const std::string& method) {
    const double begin = now();
    cudaError_t status = cudaErrorNotReady;
    while (status == cudaErrorNotReady) {
        if (now() - begin > patience) throw TrialHangs{method};
        status = cudaStreamQuery(stream);
    }
    check(status, "cudaStreamQuery");
}

/// Copies enqueued as one, in any order among themselves.
class Batch {
  public:
    void add(void* to, const void* from, std::size_t bytes) {
        if (bytes == 0) return;
        to_.push_back(to);
        from_.push_back(from);
        bytes_.push_back(bytes);
    }
    void enqueue(cudaStream_t stream) {
        if (to_.empty()) return;
        cudaMemcpyAttributes attributes{};
        attributes.srcAccessOrder = cudaMemcpySrcAccessOrderStream;
        std::size_t first = 0;
        check(cudaMemcpyBatchAsync(to_.data(), from_.data(), bytes_.data(), to_.size(), &attributes, &first, 1, stream),
              "cudaMemcpyBatchAsync");
        to_.clear();
        from_.clear();
        bytes_.clear();
    }

  private:
    std::vector<void*> to_;
    std::vector<const void*> from_;
    std::vector<std::size_t> bytes_;
};

class Trials final : public BroadcastTrials {
  public:
    explicit Trials(int gpus) : resources_(gpus) {}

    double run(const BroadcastTrial& trial, const std::vector<void*>& buffers) override {
        if (trial.method == "batches") return run_batches(trial, buffers);
        BroadcastTrial copies = trial;
        copies.bytes -= trial.relayed;
        const Route route = copies.bytes > 0 ? route_of(copies) : Route();
        const std::size_t chunk = copies.bytes > 0 ? chunk_of(copies, route) : 0;
        prepare(copies, route, chunk);
        const Stopwatch watch;
        check(cudaEventRecord(resources_.event(0, start_edge, 0), resources_.stream(0, 0)), "cudaEventRecord");
        if (trial.relayed > 0) enqueue_kernels(trial, buffers);
        enqueue(copies, route, chunk, buffers);
        const double seconds = watch.elapsed().wall;
        for_each_stream(copies, route, [&](const Edge&, cudaStream_t stream) { await(stream, trial.method); });
        for (int hop = 0; hop < relays(trial); ++hop) {
            await(resources_.stream(runner(trial, hop), relay_edge), trial.method);
        }
        return seconds;
    }

  private:
    static std::byte* at(void* buffer, std::size_t offset) { return static_cast<std::byte*>(buffer) + offset; }
    static int relays(const BroadcastTrial& trial) { return trial.relayed > 0 ? trial.targets : 0; }
    /// The place whose GPU runs the kernel of a hop.
    static int runner(const BroadcastTrial& trial, int hop) { return trial.method == "relay-pull" ? hop + 1 : hop; }

    static std::size_t chunk_of(const BroadcastTrial& trial, const Route& route) {
        if (trial.chunk != 0) return trial.chunk;
        const Edge& last = route.edges.back();
        const auto& links = basalt::TuningTables::built_in().for_gpu("sm_90").links;
        const auto hops = static_cast<std::size_t>(last.depth) + 1;
        return basalt::detail::broadcast_chunk(links, last.end - last.begin, hops, false);
    }

    /// The place whose GPU copies a chunk.
    static int copier(const BroadcastTrial& trial, const Edge& edge, std::size_t chunk) {
        const bool pulls = trial.method == "pull" || (trial.method == "both" && chunk % 2 == 1);
        return pulls ? edge.to : edge.from;
    }
    template <class F>
    void for_each_stream(const BroadcastTrial& trial, const Route& route, const F& visit) {
        for (std::size_t e = 0; e < route.edges.size(); ++e) {
            const Edge& edge = route.edges[e];
            visit(edge, resources_.stream(copier(trial, edge, 0), e));
            if (copier(trial, edge, 1) != copier(trial, edge, 0))
                visit(edge, resources_.stream(copier(trial, edge, 1), e));
        }
    }
    static std::size_t chunks(const Edge& edge, std::size_t chunk) {
        return (edge.end - edge.begin + chunk - 1) / chunk;
    }

    /// What is made when first used is made before the clock runs.
    void prepare(const BroadcastTrial& trial, const Route& route, std::size_t chunk) {
        if (trial.method == "flags" && stream_words_ == nullptr) stream_words_ = std::make_unique<StreamWords>();
        resources_.event(0, start_edge, 0);
        resources_.stream(0, 0);
        for_each_stream(trial, route, [](const Edge&, cudaStream_t) {});
        for (std::size_t e = 0; e < route.edges.size(); ++e) {
            if (trial.method == "flags") word_of(route, e);
            for (std::size_t c = 0; c < chunks(route.edges[e], chunk); ++c) {
                resources_.event(copier(trial, route.edges[e], c), e, c);
            }
        }
        for (int hop = 0; hop < relays(trial); ++hop) {
            resources_.stream(runner(trial, hop), relay_edge);
            resources_.words(runner(trial, hop) + 1);
        }
    }

    /// In the order of the runtime's own: step by step, deep edges first.
    void enqueue(const BroadcastTrial& trial, const Route& route, std::size_t chunk,
                 const std::vector<void*>& buffers) {
        std::size_t steps = 0;
        int deepest = 0;
        for (const Edge& edge : route.edges) {
            steps = std::max(steps, static_cast<std::size_t>(edge.depth) + chunks(edge, chunk));
            deepest = std::max(deepest, edge.depth);
        }
        for_each_stream(trial, route, [&](const Edge& edge, cudaStream_t stream) {
            if (edge.parent < 0) await_start(stream);
        });
        for (std::size_t step = 0; step < steps; ++step) {
            for (int depth = deepest; depth >= 0; --depth) {
                for (std::size_t e = 0; e < route.edges.size(); ++e) {
                    const Edge& edge = route.edges[e];
                    const auto before = static_cast<std::size_t>(edge.depth);
                    if (edge.depth != depth || step < before || step - before >= chunks(edge, chunk)) continue;
                    enqueue_chunk(trial, route, e, step - before, chunk, buffers);
                }
            }
        }
        base_ += static_cast<std::uint32_t>(steps);
    }

    /// Everything waits for a point of GPU 0's first stream, as it would for what fills the buffer.
    void await_start(cudaStream_t stream) {
        check(cudaStreamWaitEvent(stream, resources_.event(0, start_edge, 0), 0), "cudaStreamWaitEvent");
    }

    void enqueue_chunk(const BroadcastTrial& trial, const Route& route, std::size_t number, std::size_t chunk,
                       std::size_t chunk_bytes, const std::vector<void*>& buffers) {
        const Edge& edge = route.edges[number];
        const bool flags = trial.method == "flags";
        const int place = copier(trial, edge, chunk);
        cudaStream_t stream = resources_.stream(place, number);
        if (edge.parent >= 0) {
            const auto parent = static_cast<std::size_t>(edge.parent);
            if (flags) {
                stream_words_->wait(stream, word_of(route, parent), base_ + static_cast<std::uint32_t>(chunk) + 1);
            } else {
                cudaEvent_t arrived = resources_.event(copier(trial, route.edges[parent], chunk), parent, chunk);
                check(cudaStreamWaitEvent(stream, arrived, 0), "cudaStreamWaitEvent");
            }
        }
        const std::size_t begin = edge.begin + chunk * chunk_bytes;
        check(cudaMemcpyAsync(at(buffers[static_cast<std::size_t>(edge.to)], begin),
                              at(buffers[static_cast<std::size_t>(edge.from)], begin),
                              std::min(chunk_bytes, edge.end - begin), cudaMemcpyDefault, stream),
              "cudaMemcpyAsync");
        if (!route.has_children(number)) return;
        if (flags) {
            stream_words_->write(stream, word_of(route, number), base_ + static_cast<std::uint32_t>(chunk) + 1);
        } else {
            check(cudaEventRecord(resources_.event(place, number, chunk), stream), "cudaEventRecord");
        }
    }

    /// Shares in rounds: a round gives each target a part of its own, which it passes on to all others. What a GPU sends
    /// in a round is one batch of copies.
    double run_batches(const BroadcastTrial& trial, const std::vector<void*>& buffers) {
        const std::vector<std::size_t> ends = rounds(trial);
        resources_.event(0, start_edge, 0);
        for (std::size_t round = 0; round < ends.size(); ++round) resources_.event(0, 0, round);
        for (int place = 0; place <= trial.targets; ++place) resources_.stream(place, 0);
        const Stopwatch watch;
        std::size_t begin = 0;
        for (std::size_t round = 0; round < ends.size(); ++round) {
            const std::size_t bytes = ends[round] - begin;
            const auto copy = [&](int from, int to, int share) {
                const std::size_t first = begin + part(bytes, share - 1, trial.targets);
                batch_.add(at(buffers[static_cast<std::size_t>(to)], first),
                           at(buffers[static_cast<std::size_t>(from)], first),
                           begin + part(bytes, share, trial.targets) - first);
            };
            cudaEvent_t sent = resources_.event(0, 0, round);
            for (int i = 1; i <= trial.targets; ++i) copy(0, i, i);
            batch_.enqueue(resources_.stream(0, 0));
            check(cudaEventRecord(sent, resources_.stream(0, 0)), "cudaEventRecord");
            for (int i = 1; i <= trial.targets && trial.targets > 1; ++i) {
                check(cudaStreamWaitEvent(resources_.stream(i, 0), sent, 0), "cudaStreamWaitEvent");
                for (int k = 1; k < trial.targets; ++k) copy(i, (i - 1 + k) % trial.targets + 1, i);
                batch_.enqueue(resources_.stream(i, 0));
            }
            begin = ends[round];
        }
        const double seconds = watch.elapsed().wall;
        for (int place = 0; place <= trial.targets; ++place) await(resources_.stream(place, 0), trial.method);
        return seconds;
    }

    /// Where rounds end: short ones first, so that targets begin early, and last, as they pass on those of all.
    static std::vector<std::size_t> rounds(const BroadcastTrial& trial) {
        const std::size_t most = trial.chunk == 0 ? std::size_t{24} << 20 : trial.chunk;
        std::vector<std::size_t> first;
        std::vector<std::size_t> last;
        std::size_t rest = trial.bytes;
        for (const std::size_t length : {most / 4, most / 2}) {
            if (rest < 4 * length) break;
            first.push_back(length);
            last.insert(last.begin(), length);
            rest -= 2 * length;
        }
        const std::size_t middle = (rest + most - 1) / most;
        std::vector<std::size_t> ends;
        std::size_t end = 0;
        for (const std::size_t length : first) ends.push_back(end += length);
        for (std::size_t i = 1; i <= middle; ++i)
            ends.push_back(end + part(rest, static_cast<int>(i), static_cast<int>(middle)));
        end += rest;
        for (std::size_t i = last.size(); i > 0; --i) ends.push_back(end += last[last.size() - i]);
        return ends;
    }

    /// Where an edge announces its chunks: in the memory that gets them.
    std::uint32_t* word_of(const Route& route, std::size_t edge) {
        return resources_.words(route.edges[edge].to) + most_words - 1 - edge;
    }

    /// The last part of the buffer.
    void enqueue_kernels(const BroadcastTrial& trial, const std::vector<void*>& buffers) {
        if (trial.relayed % 16 != 0 || trial.bytes % 16 != 0 || trial.piece % 16 != 0)
            throw std::runtime_error("relay: not in pieces of 16 bytes");
        const std::size_t begin = trial.bytes - trial.relayed;
        std::uint32_t most_pieces = 0;
        for (int number = 0; number < trial.targets; ++number) {
            const auto from = static_cast<std::size_t>(number);
            const int place = runner(trial, number);
            const RelayHop hop{at(buffers[from], begin),
                               at(buffers[from + 1], begin),
                               trial.relayed,
                               trial.piece,
                               number == 0 ? nullptr : resources_.words(place),
                               number + 1 == trial.targets ? nullptr : resources_.words(place + 1),
                               kernel_base_};
            cudaStream_t stream = resources_.stream(place, relay_edge);
            resources_.make_current(place);
            await_start(stream);
            check(launch_relay(hop, trial.method == "relay-bulk", trial.blocks, stream), "launch_relay");
            most_pieces = relay_pieces(hop, trial.blocks);
        }
        kernel_base_ += most_pieces;
    }

    static constexpr std::size_t start_edge = 1000, relay_edge = 1001;

    Resources resources_;
    Batch batch_;
    std::unique_ptr<StreamWords> stream_words_;
    std::uint32_t base_ = 0;
    std::uint32_t kernel_base_ = 0;
};

}  // namespace

const std::vector<std::string> trial_methods{"pull", "both", "flags", "rings", "scatter", "batches",
                                             "relay", "relay-bulk", "relay-pull", "mixed"};
const bool has_trials = true;

std::unique_ptr<BroadcastTrials> make_broadcast_trials(int gpus) {
    return std::make_unique<Trials>(gpus);
}

}  // namespace bench
