#pragma once

// Random programs on blocks of arrays: tasks on cores and GPUs use arrays as a whole and in several
// partitions, in any order, and each result is compared with a serial run.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <vector>

#include "basalt/array2d.hpp"
#include "basalt/runtime.hpp"
#include "tests/devices/parts_kernel.hpp"
#include "tests/runtime/random_graph/random.hpp"

namespace basalt_tests {

/// Rows and columns of an array.
struct Window {
    basalt::Index row, col, rows, cols;
};

/// A wrapped two-dimensional array, what it contains after a serial run, and its partitions.
class PartedArray {
  public:
    using Word = std::uint32_t;
    using Index = basalt::Index;

    PartedArray(basalt::Runtime& runtime, Random& random, bool wrapped)
        : rows_(random.between<Index>(1, 12)),
          cols_(random.between<Index>(1, 12)),
          ld_(rows_ + (wrapped ? random.between<Index>(0, 3) : 0)),
          memory_(static_cast<std::size_t>(ld_ * cols_), between_columns),
          serial_(static_cast<std::size_t>(rows_ * cols_), 0),
          array_(wrapped ? basalt::wrap2d(runtime, memory_.data(), rows_, cols_, ld_)
                         : basalt::Array2D<Word>(runtime, rows_, cols_)),
          wrapped_(wrapped) {
        if (!wrapped) return;
        for (Index j = 0; j < cols_; ++j) {
            for (Index i = 0; i < rows_; ++i) memory_[static_cast<std::size_t>(i + j * ld_)] = 0;
        }
    }

    Word& serial(Index i, Index j) { return serial_[static_cast<std::size_t>(i + j * rows_)]; }
    const basalt::Array2D<Word>& array() const { return array_; }

    void split(Random& random) {
        if (partitions_.size() == 4) {
            partitions_.erase(partitions_.begin() + static_cast<std::ptrdiff_t>(random.next() % 4));
        } else if (random.one_in(2)) {
            partitions_.push_back(array_.split(random.between<Index>(1, rows_), random.between<Index>(1, cols_)));
        } else {
            partitions_.push_back(array_.split_at(cuts(random, rows_), cuts(random, cols_)));
        }
    }

    struct Part {
        basalt::Region<Word> region;
        Window window;
    };
    /// Up to `most` parts of the array that do not overlap, all through the array or all through one partition.
    std::vector<Part> parts(Random& random, std::size_t most) {
        std::vector<Part> found;
        if (partitions_.empty() || random.one_in(6)) {
            const Window w = random.one_in(2) ? Window{0, 0, rows_, cols_} : window(random, rows_, cols_);
            found.push_back({array_.part(w.row, w.col, w.rows, w.cols), w});
            return found;
        }
        const basalt::Partition<Word>& partition = random.pick(partitions_);
        const auto count = static_cast<std::size_t>(partition.size());
        std::size_t k = random.next() % count;
        for (std::size_t n = std::min(most, count); n > 0; --n, k = (k + 1) % count) {
            const auto& block = partition[static_cast<Index>(k)];
            const Window w = random.one_in(4) ? window(random, block.rows(), block.cols())
                                              : Window{0, 0, block.rows(), block.cols()};
            found.push_back(
                {block.part(w.row, w.col, w.rows, w.cols), {block.row() + w.row, block.col() + w.col, w.rows, w.cols}});
        }
        return found;
    }

    /// What is wrong with the array, or with a block of it: empty if nothing is. Where data may be lost, an error
    /// instead of the contents is right, and the host writes them.
    std::string check(Random& random, bool may_be_lost) {
        if (partitions_.empty() || random.one_in(3)) return check(array_, {0, 0, rows_, cols_}, may_be_lost);
        const basalt::Partition<Word>& partition = random.pick(partitions_);
        const auto& block = partition[static_cast<Index>(random.next() % static_cast<std::uint64_t>(partition.size()))];
        return check(block, {block.row(), block.col(), block.rows(), block.cols()}, may_be_lost);
    }
    std::string check_all(bool may_be_lost) { return check(array_, {0, 0, rows_, cols_}, may_be_lost); }
    /// Whether the user's memory is right, after a wait() without errors.
    std::string check_memory() {
        if (!wrapped_) return {};
        for (Index j = 0; j < cols_; ++j) {
            for (Index i = 0; i < ld_; ++i) {
                const Word expected = i < rows_ ? serial(i, j) : between_columns;
                if (memory_[static_cast<std::size_t>(i + j * ld_)] != expected) return "the user's memory is wrong";
            }
        }
        return {};
    }

  private:
    static constexpr Word between_columns = 0xbada55;

    static std::vector<Index> cuts(Random& random, Index size) {
        std::vector<Index> found;
        for (Index cut = 1; cut < size; ++cut) {
            if (random.one_in(4)) found.push_back(cut);
        }
        return found;
    }
    static Window window(Random& random, Index rows, Index cols) {
        const Index row = random.between<Index>(0, rows - 1), col = random.between<Index>(0, cols - 1);
        return {row, col, random.between<Index>(1, rows - row), random.between<Index>(1, cols - col)};
    }

    template <class Data>
    std::string check(const Data& data, const Window& w, bool may_be_lost) {
        try {
            const basalt::View<Word> view = data.host_view();
            for (Index j = 0; j < w.cols; ++j) {
                for (Index i = 0; i < w.rows; ++i) {
                    if (view(i, j) == serial(w.row + i, w.col + j)) continue;
                    return "element (" + std::to_string(w.row + i) + ", " + std::to_string(w.col + j) + ") is wrong";
                }
            }
        } catch (const basalt::Error& error) {
            if (!may_be_lost) return error.what();
            const basalt::View<Word> view = data.host_overwrite();
            for (Index j = 0; j < w.cols; ++j) {
                for (Index i = 0; i < w.rows; ++i) view(i, j) = serial(w.row + i, w.col + j);
            }
        }
        return {};
    }

    Index rows_, cols_, ld_;
    std::vector<Word> memory_;
    std::vector<Word> serial_;
    basalt::Array2D<Word> array_;
    bool wrapped_;
    std::vector<basalt::Partition<Word>> partitions_;
};

/// One random program.
class PartsProgram {
  public:
    struct Options {
        bool failures = false;  ///< some of its tasks throw, or the devices fail
        /// A task's kernel on real GPUs; nullptr where there are none.
        void (*on_gpus)(basalt::Stream, const PartsWork&) = nullptr;
    };
    PartsProgram(basalt::Runtime& runtime, std::uint64_t seed, const Options& options)
        : runtime_(runtime), random_(seed), failures_(options.failures), on_gpus_(options.on_gpus) {
        for (int i = random_.between(1, 3); i > 0; --i) arrays_.emplace_back(runtime, random_, random_.one_in(2));
    }

    /// What went wrong; empty if nothing did.
    std::string run(int steps) {
        for (int step = 0; step < steps; ++step) {
            const std::string complaint = take_step();
            if (!complaint.empty()) return "step " + std::to_string(step) + ": " + complaint;
        }
        if (const std::string complaint = wait(); !complaint.empty()) return complaint;
        for (PartedArray& array : arrays_) {
            if (const std::string complaint = array.check_all(failures_); !complaint.empty()) return complaint;
        }
        return {};
    }

  private:
    using Word = PartedArray::Word;
    using Index = basalt::Index;

    PartedArray& any_array() { return arrays_[random_.next() % arrays_.size()]; }

    basalt::Place any_place() {
        const int choice = random_.between(-2, runtime_.gpus() - 1);
        return choice == -2 ? basalt::Place::cpu() : choice == -1 ? basalt::Place::any() : basalt::Place::gpu(choice);
    }

    std::string take_step() {
        const int dice = random_.between(0, 99);
        if (dice < 10) any_array().split(random_);
        if (dice >= 10 && dice < 14) return any_array().check(random_, failures_);
        if (dice == 14) return wait();
        if (dice >= 15 && dice < 20) move();
        if (dice >= 20) submit();
        return complaint_;
    }

    std::string wait() {
        try {
            runtime_.wait();
        } catch (const basalt::Error& error) {
            if (!failures_) return error.what();
            lost_ = true;
        }
        for (PartedArray& array : arrays_) {
            if (lost_) break;
            if (const std::string complaint = array.check_memory(); !complaint.empty()) return complaint;
        }
        return {};
    }

    void move() {
        const auto part = any_array().parts(random_, 1).front();
        const basalt::Place place = any_place();
        try {
            if (place.is_any()) {
                runtime_.broadcast(part.region);
            } else {
                runtime_.prefetch(part.region, place);
            }
        } catch (const basalt::DeviceError& error) {
            note(error);
        }
    }

    /// Too much for a GPU's memory is refused, and all is as before.
    void note(const basalt::DeviceError& error) {
        if (error.fault() == basalt::DeviceFault::out_of_memory) return;
        lost_ = true;
        if (!failures_) complaint_ = error.what();
    }

    /// A task reads some parts, overwrites some and changes others; each belongs to one array or its partition.
    void submit() {
        std::vector<basalt::Region<Word>> reads, writes, changes;
        std::vector<std::pair<PartedArray*, Window>> read_windows, written, changed;
        for (PartedArray& array : arrays_) {
            if (random_.one_in(3)) continue;
            for (const PartedArray::Part& part : array.parts(random_, 3)) {
                const int use = random_.between(0, 2);
                (use == 0 ? reads : use == 1 ? writes : changes).push_back(part.region);
                (use == 0 ? read_windows : use == 1 ? written : changed).emplace_back(&array, part.window);
            }
        }
        const Word salt = static_cast<Word>(random_.next());
        const bool throws = failures_ && random_.one_in(40);
        const auto kernel = [salt, throws](basalt::Views<const Word> reads, basalt::Views<Word> writes,
                                           basalt::Views<Word> changes) {
            if (throws) throw std::runtime_error("the task fails");
            Word sum = salt;
            for (const auto& view : reads) fold(view, sum);
            for (const auto& view : changes) change(view, sum);
            for (const auto& view : writes) overwrite(view, sum);
        };
        try {
            runtime_.submit(
                {.name = "parts", .place = any_place()}, read(reads), write(writes), readwrite(changes), kernel,
                basalt::cuda([salt, on_gpus = on_gpus_](basalt::Stream stream, basalt::Views<const Word> reads,
                                                        basalt::Views<Word> writes, basalt::Views<Word> changes) {
                    on_gpus(stream, gathered(salt, reads, writes, changes));
                }));
        } catch (const basalt::DeviceError& error) {
            note(error);
            return;
        }
        Word sum = salt;
        for (const auto& [array, w] : read_windows) fold(SerialView{*array, w}, sum);
        for (const auto& [array, w] : changed) change(SerialView{*array, w}, sum);
        for (const auto& [array, w] : written) overwrite(SerialView{*array, w}, sum);
    }

    static PartsWork gathered(Word salt, const basalt::Views<const Word>& reads, const basalt::Views<Word>& writes,
                              const basalt::Views<Word>& changes) {
        PartsWork work;
        work.salt = salt;
        PartsWork::Elements* next = work.views;
        const auto add = [&](const auto& views) {
            for (const auto& v : views) {
                *next++ = {const_cast<Word*>(v.data()), v.rows(), v.cols(), v.row_stride(), v.col_stride()};
            }
            return static_cast<int>(views.size());
        };
        work.reads = add(reads);
        work.changes = add(changes);
        work.writes = add(writes);
        return work;
    }

    struct SerialView {
        PartedArray& array;
        Window window;
        Index rows() const { return window.rows; }
        Index cols() const { return window.cols; }
        Word& operator()(Index i, Index j) const { return array.serial(window.row + i, window.col + j); }
    };

    template <class V, class F>
    static void for_each(const V& view, const F& visit) {
        for (Index j = 0; j < view.cols(); ++j) {
            for (Index i = 0; i < view.rows(); ++i) visit(view(i, j));
        }
    }
    template <class V>
    static void fold(const V& view, Word& sum) {
        for_each(view, [&](Word x) { sum = 31 * sum + x; });
    }
    template <class V>
    static void change(const V& view, Word& sum) {
        for_each(view, [&](Word& x) { sum = x = 17 * x + sum; });
    }
    template <class V>
    static void overwrite(const V& view, Word& sum) {
        for_each(view, [&](Word& x) { x = sum = 5 * sum + 1; });
    }

    basalt::Runtime& runtime_;
    Random random_;
    const bool failures_;
    void (*const on_gpus_)(basalt::Stream, const PartsWork&);
    bool lost_ = false;  ///< something failed, so that data may have no contents
    std::string complaint_;
    std::vector<PartedArray> arrays_;
};

}  // namespace basalt_tests
