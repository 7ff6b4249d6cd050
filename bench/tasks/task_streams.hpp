#pragma once

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

/// A stream of tasks as one thread inserts it; the kernels do nothing.
///
/// independent: `tasks` tasks without data. chain: `tasks` tasks that all read and write one datum.
/// cholesky: tile Cholesky of tiles x tiles tiles, one datum a tile: tiles (tiles + 1) (tiles + 2) / 6 tasks.
struct Stream {
    enum class Kind { independent, chain, cholesky };

    Kind kind = Kind::independent;
    std::int64_t tasks = 0;
    std::int64_t tiles = 0;

    static std::int64_t cholesky_tasks(std::int64_t tiles) { return tiles * (tiles + 1) * (tiles + 2) / 6; }

    static Stream cholesky(std::int64_t tiles) { return {Kind::cholesky, cholesky_tasks(tiles), tiles}; }

    /// The stream of this name with about `tasks` tasks. Throws std::invalid_argument.
    static Stream of_size(std::string_view name, std::int64_t tasks) {
        if (name == "independent") return {Kind::independent, tasks, 0};
        if (name == "chain") return {Kind::chain, tasks, 0};
        if (name == "cholesky") {
            const auto tiles = static_cast<std::int64_t>(std::llround(std::cbrt(6.0 * static_cast<double>(tasks)))) - 1;
            return cholesky(tiles < 1 ? 1 : tiles);
        }
        throw std::invalid_argument("no stream of tasks is called '" + std::string(name) + "'");
    }

    /// Number of data that the tasks access: 0, 1, or the tiles of the lower triangle.
    std::size_t data() const {
        if (kind == Kind::independent) return 0;
        return kind == Kind::chain ? 1 : static_cast<std::size_t>(tiles * (tiles + 1) / 2);
    }
};

/// Inserts the stream's tasks in program order through `system`, whose members are
///   task(): no data; update(c): c read and written; update(a, c): a read too; update(a, b, c): a and b read.
/// Data are numbered from 0.
template <class System>
void insert(const Stream& stream, System& system) {
    if (stream.kind == Stream::Kind::independent) {
        for (std::int64_t i = 0; i < stream.tasks; ++i) system.task();
        return;
    }
    if (stream.kind == Stream::Kind::chain) {
        for (std::int64_t i = 0; i < stream.tasks; ++i) system.update(0);
        return;
    }
    const auto tile = [](std::int64_t i, std::int64_t j) { return static_cast<std::size_t>(i * (i + 1) / 2 + j); };
    for (std::int64_t k = 0; k < stream.tiles; ++k) {
        system.update(tile(k, k));                                                                  // potrf
        for (std::int64_t i = k + 1; i < stream.tiles; ++i) system.update(tile(k, k), tile(i, k));  // trsm
        for (std::int64_t i = k + 1; i < stream.tiles; ++i) {
            for (std::int64_t j = k + 1; j < i; ++j) system.update(tile(i, k), tile(j, k), tile(i, j));  // gemm
            system.update(tile(i, k), tile(i, i));                                                       // syrk
        }
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
std::unique_ptr<TaskSystem> make_openmp_system(int workers);
std::unique_ptr<TaskSystem> make_onetbb_system(int workers);
std::unique_ptr<TaskSystem> make_bare_loop();

}  // namespace bench
