#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

#include "bench/common/clock.hpp"

namespace bench {

/// Of the stream `accesses`.
inline constexpr std::size_t most_accesses = 16;

/// A stream of tasks as one thread inserts it; the kernels do nothing.
///
/// independent: `tasks` tasks without data. chain: `tasks` tasks that all read and write one datum.
/// cholesky: tile Cholesky of tiles x tiles tiles, one datum a tile: tiles (tiles + 1) (tiles + 2) / 6 tasks.
/// wavefront: tiles x tiles cells, a task each, which waits for the cells above and to the left. Where a system knows
/// regions of data, each cell is an element of one large datum.
/// accesses: `chains` chains in turn, whose tasks read and write `accesses` data each.
/// sharing: as chain, with each of the accesses by which tasks may update one datum.
struct Stream {
    enum class Kind { independent, chain, cholesky, wavefront, accesses, sharing };
    enum class Update { readwrite, commute, reduce };
    static constexpr std::int64_t chains = 64;

    Kind kind = Kind::independent;
    std::int64_t tasks = 0;
    std::int64_t tiles = 0;
    std::size_t accesses = 0;
    Update update = Update::readwrite;

    static std::int64_t cholesky_tasks(std::int64_t tiles) { return tiles * (tiles + 1) * (tiles + 2) / 6; }

    static Stream cholesky(std::int64_t tiles) { return {Kind::cholesky, cholesky_tasks(tiles), tiles, 0}; }
    static Stream with_accesses(std::size_t accesses, std::int64_t tasks) {
        return {Kind::accesses, tasks, 0, accesses};
    }
    static Stream sharing(Update update, std::int64_t tasks) { return {Kind::sharing, tasks, 0, 0, update}; }

    /// The stream of this name with about `tasks` tasks. Throws std::invalid_argument.
    static Stream of_size(std::string_view name, std::int64_t tasks) {
        if (name == "independent") return {Kind::independent, tasks, 0, 0};
        if (name == "chain") return {Kind::chain, tasks, 0, 0};
        if (name == "wavefront") {
            const auto side = std::max<std::int64_t>(1, std::llround(std::sqrt(static_cast<double>(tasks))));
            return {Kind::wavefront, side * side, side, 0};
        }
        if (name == "cholesky") {
            const auto tiles = static_cast<std::int64_t>(std::llround(std::cbrt(6.0 * static_cast<double>(tasks)))) - 1;
            return cholesky(tiles < 1 ? 1 : tiles);
        }
        throw std::invalid_argument("no stream of tasks is called '" + std::string(name) + "'");
    }

    /// Number of data that the tasks access.
    std::size_t data() const {
        switch (kind) {
            case Kind::independent: return 0;
            case Kind::chain:
            case Kind::sharing: return 1;
            case Kind::cholesky: return static_cast<std::size_t>(tiles * (tiles + 1) / 2);
            case Kind::wavefront: return static_cast<std::size_t>(tiles * tiles);
            case Kind::accesses: return static_cast<std::size_t>(chains) * accesses;
        }
        return 0;
    }
};

template <class System>
void insert_cholesky(std::int64_t tiles, System& system) {
    const auto tile = [](std::int64_t i, std::int64_t j) { return static_cast<std::size_t>(i * (i + 1) / 2 + j); };
    for (std::int64_t k = 0; k < tiles; ++k) {
        system.update(tile(k, k));                                                           // potrf
        for (std::int64_t i = k + 1; i < tiles; ++i) system.update(tile(k, k), tile(i, k));  // trsm
        for (std::int64_t i = k + 1; i < tiles; ++i) {
            for (std::int64_t j = k + 1; j < i; ++j) system.update(tile(i, k), tile(j, k), tile(i, j));  // gemm
            system.update(tile(i, k), tile(i, i));                                                       // syrk
        }
    }
}

template <class System>
void insert_wavefront(std::int64_t side, System& system) {
    const auto cell = [side](std::int64_t i, std::int64_t j) { return static_cast<std::size_t>(i * side + j); };
    system.update(cell(0, 0));
    for (std::int64_t j = 1; j < side; ++j) system.update(cell(0, j - 1), cell(0, j));
    for (std::int64_t i = 1; i < side; ++i) {
        system.update(cell(i - 1, 0), cell(i, 0));
        for (std::int64_t j = 1; j < side; ++j) system.update(cell(i - 1, j), cell(i, j - 1), cell(i, j));
    }
}

/// Inserts the stream's tasks in program order through `system`, whose members are
///   task(): no data; update(c): c read and written; update(a, c): a read too; update(a, b, c): a and b read.
/// Data are numbered from 0. Not for the streams `accesses` and `sharing`.
template <class System>
void insert(const Stream& stream, System& system) {
    switch (stream.kind) {
        case Stream::Kind::independent:
            for (std::int64_t i = 0; i < stream.tasks; ++i) system.task();
            return;
        case Stream::Kind::chain:
            for (std::int64_t i = 0; i < stream.tasks; ++i) system.update(0);
            return;
        case Stream::Kind::cholesky: return insert_cholesky(stream.tiles, system);
        case Stream::Kind::wavefront: return insert_wavefront(stream.tiles, system);
        case Stream::Kind::accesses:
        case Stream::Kind::sharing: throw std::logic_error("only our system has this stream");
    }
}

/// A task system. One object runs many streams and keeps its threads between them.
class TaskSystem {
  public:
    virtual ~TaskSystem() = default;
    /// Inserts the stream's tasks from the calling thread, runs them, waits, and returns the time. Allocating the data
    /// is not timed; all that the system builds from tasks and data is.
    virtual Times run(const Stream& stream) = 0;
};

/// `workers` counts all threads that insert or run tasks, the calling one included.
std::unique_ptr<TaskSystem> make_basalt_system(int workers);
/// Ours with a graph that is recorded once; a run on the data that it was recorded with, or on others in turn, is
/// timed.
enum class ReplayData { same, other };
std::unique_ptr<TaskSystem> make_replay_system(int workers, ReplayData data);
std::unique_ptr<TaskSystem> make_openmp_system(int workers);
std::unique_ptr<TaskSystem> make_onetbb_system(int workers);
std::unique_ptr<TaskSystem> make_bare_loop();

}  // namespace bench
