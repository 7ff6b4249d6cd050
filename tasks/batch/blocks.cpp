// Batches that GPUs and cores work on at the same time: a task for each slice.
#include "basalt/batch_blocks.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "basalt/batch_cholesky.hpp"
#include "basalt/batch_lu.hpp"
#include "basalt/batch_qr.hpp"
#include "kernels/cpu/batch/cholesky.hpp"
#include "kernels/cpu/batch/lu.hpp"
#include "kernels/cpu/batch/qr.hpp"
#include "tasks/batch/checks.hpp"
#include "tasks/batch/work.hpp"
#include "tasks/choices/require.hpp"

namespace basalt {

template <class T>
BatchBlocks<T>::BatchBlocks(Runtime& runtime, const BatchView<T>& matrices, Index slices, const char* name)
    : view_(matrices) {
    const std::string who = name != nullptr ? name : "the batch";
    detail::check_batch<const T>("BatchBlocks", who.c_str(), matrices);
    const View<T>& shape = matrices.shape();
    const Index count = matrices.count();
    detail::require(matrices.is_strided() && (count == 0 || !shape.empty()),
                    "BatchBlocks: " + who +
                        " has no elements or lists its matrices; allowed are strided() and at "
                        "least one element a matrix");
    detail::require(slices >= 1 && slices <= std::max<Index>(1, count),
                    "BatchBlocks: slices = " + std::to_string(slices) +
                        "; allowed is 1 <= slices <= " + std::to_string(std::max<Index>(1, count)));
    if (count == 0) return;
    begins_ = detail::equal_cuts("BatchBlocks", "slices", slices, count);
    const Index last = shape.col_stride() * (shape.cols() - 1) + shape.rows();
    elements_ = Array<T>::wrap(runtime, shape.data(), (count - 1) * matrices.stride() + last, name);
    std::vector<Index> cuts;
    for (Index s = 1; s < slices; ++s) cuts.push_back(begin(s) * matrices.stride());
    blocks_ = elements_.split_at(std::move(cuts));
}

template <class T>
const BatchView<T>& BatchBlocks<T>::host_view() const {
    if (slices() > 0) elements_.host_view();
    return view_;
}

template <class T>
const BatchView<T>& BatchBlocks<T>::host_overwrite() const {
    if (slices() > 0) elements_.host_overwrite();
    return view_;
}

template class BatchBlocks<float>;
template class BatchBlocks<double>;
template class BatchBlocks<Index>;

namespace {

// The operands of a call: how tasks access slice s, and what its kernel makes of the elements that it gets.

template <class T>
struct Reads {
    const BatchBlocks<T>& batch;
    auto access(Index s) const { return read(batch.block(s)); }
    auto shape(Index s) const { return batch.shape(s); }
};

template <class T>
struct Updates {
    const BatchBlocks<T>& batch;
    auto access(Index s) const { return readwrite(batch.block(s)); }
    auto shape(Index s) const { return batch.shape(s); }
};

/// Of one column each. What lies between the columns, if anything, keeps its values.
template <class T>
struct Writes {
    const BatchBlocks<T>& batch;
    auto access(Index s) const {
        const bool gaps = batch.count() > 1 && batch.view().stride() != batch.view().shape().rows();
        return gaps ? readwrite(batch.block(s)) : write(batch.block(s));
    }
    auto shape(Index s) const { return batch.shape(s); }
};

/// INFO, cut as the batch is.
class Infos {
  public:
    template <class T>
    Infos(const Array<Index>& info, const BatchBlocks<T>& batch) : blocks_(cut(info, batch)) {}
    auto access(Index s) const { return write(blocks_[s]); }
    struct Address {
        Index* at(Index* elements) const { return elements; }
    };
    Address shape(Index) const { return {}; }

  private:
    template <class T>
    static Partition<Index> cut(const Array<Index>& info, const BatchBlocks<T>& batch) {
        if (batch.slices() == 0) return {};
        std::vector<Index> cuts;
        for (Index s = 1; s < batch.slices(); ++s) cuts.push_back(batch.begin(s));
        return info.split_at(std::move(cuts));
    }

    Partition<Index> blocks_;
};

enum class Places : std::uint8_t { cores, any };

/// What the tasks of a call are called, and how much there is to do for a matrix: policies learn times by both.
struct Work {
    const char* routine;
    Index a_matrix;
};

/// A task for each slice. The kernels get its part of each operand, that of GPUs the stream before them.
template <class T, class OnCores, class OnGpu, class... Operands>
void submit_blocks(Runtime& runtime, const Work& work, const BatchBlocks<T>& batch, Places places,
                   const OnCores& on_cores, const OnGpu& on_gpu, const Operands&... operands) {
    const TaskName name =
        TaskName::intern(std::string(std::is_same_v<T, float> ? "batch s" : "batch d") + work.routine);
    const Place place = places == Places::any ? Place::any() : Place::cpu();
    for (Index s = 0; s < batch.slices(); ++s) {
        const auto size = static_cast<std::uint64_t>((batch.begin(s + 1) - batch.begin(s)) * work.a_matrix);
        const std::tuple shapes(operands.shape(s)...);
        runtime.submit(
            {.name = name, .tile = {static_cast<int>(s)}, .place = place, .size = size}, operands.access(s)...,
            [on_cores, shapes](const auto&... elements) {
                std::apply([&](const auto&... shape) { on_cores(shape.at(elements.data())...); }, shapes);
            },
            detail::on_any_device<detail::KernelStreams::any>([on_gpu, shapes](Stream stream, const auto&... elements) {
                std::apply([&](const auto&... shape) { on_gpu(stream, shape.at(elements.data())...); }, shapes);
            }));
    }
}

template <class T>
Index cholesky_work(const BatchBlocks<T>& a, Index columns) {
    return detail::cholesky_work(a.view().shape().rows(), columns);
}
template <class T>
Index lu_work(const BatchBlocks<T>& a, Index columns) {
    return detail::lu_work(a.view().shape().rows(), columns);
}
template <class T>
Index qr_work(const BatchBlocks<T>& a, Index columns) {
    return detail::qr_work(a.view().shape().rows(), a.view().shape().cols(), columns);
}

/// Where the batch's elements begin and end in the host's memory.
template <class T>
std::pair<std::uintptr_t, std::uintptr_t> extent_of(const BatchBlocks<T>& batch) {
    if (batch.slices() == 0) return {0, 0};
    const View<T> last = batch.view()[batch.count() - 1];
    return {reinterpret_cast<std::uintptr_t>(batch.view().shape().data()),
            reinterpret_cast<std::uintptr_t>(&last(last.rows() - 1, last.cols() - 1) + 1)};
}

/// Another operand is cut as A is and does not overlap it.
template <class T, class U>
void check_operand(const char* call, const char* name, const BatchBlocks<T>& a, const BatchBlocks<U>& other) {
    bool alike = a.slices() == other.slices();
    for (Index s = 0; alike && s < a.slices(); ++s) alike = a.begin(s + 1) == other.begin(s + 1);
    detail::require(alike, std::string(call) + ": " + name + " has " + std::to_string(other.slices()) +
                               " slices; allowed are those of A, " + std::to_string(a.slices()));
    const auto [begin, end] = extent_of(a);
    const auto [other_begin, other_end] = extent_of(other);
    detail::require(end <= other_begin || other_end <= begin,
                    std::string(call) + ": between the first and the last element of A there are elements of " + name +
                        "; allowed are batches that do not overlap");
}

template <class T>
Places places_of_cholesky(const BatchBlocks<T>& a) {
    return a.view().shape().rows() <= largest_gpu_batch_order ? Places::any : Places::cores;
}
template <class T>
Places places_of_lu(const BatchBlocks<T>& a) {
    const View<T>& shape = a.view().shape();
    return std::max(shape.rows(), shape.cols()) <= largest_gpu_lu_order ? Places::any : Places::cores;
}

}  // namespace

template <class T>
void batch_cholesky_factor(Runtime& runtime, Triangle triangle, const BatchBlocks<T>& a, const Array<Index>& info) {
    detail::check_square<const T>("batch_cholesky_factor", "A", a.view());
    detail::check_info("batch_cholesky_factor", a.count(), info.size());
    submit_blocks(
        runtime, {"potrf", cholesky_work(a, 0)}, a, places_of_cholesky(a),
        [triangle](BatchView<T> a, Index* info) { cpu_kernels::batch_factor<T>(triangle, a, info); },
        [triangle](Stream stream, BatchView<T> a, Index* info) { batch_cholesky_factor<T>(stream, triangle, a, info); },
        Updates<T>{a}, Infos(info, a));
}

template <class T>
void batch_cholesky_solve(Runtime& runtime, Triangle triangle, const BatchBlocks<T>& factors, const BatchBlocks<T>& b) {
    detail::check_square<const T>("batch_cholesky_solve", "A", factors.view());
    detail::check_right_sides<T>("batch_cholesky_solve", factors.view(), b.view());
    check_operand("batch_cholesky_solve", "B", factors, b);
    submit_blocks(
        runtime, {"potrs", cholesky_work(factors, b.view().shape().cols())}, factors, places_of_cholesky(factors),
        [triangle](BatchView<const T> a, BatchView<T> b) { cpu_kernels::batch_solve<T>(triangle, a, b); },
        [triangle](Stream stream, BatchView<const T> a, BatchView<T> b) {
            batch_cholesky_solve<T>(stream, triangle, a, b);
        },
        Reads<T>{factors}, Updates<T>{b});
}

template <class T>
void batch_cholesky_factor_solve(Runtime& runtime, Triangle triangle, const BatchBlocks<T>& a, const BatchBlocks<T>& b,
                                 const Array<Index>& info) {
    detail::check_square<const T>("batch_cholesky_factor_solve", "A", a.view());
    detail::check_right_sides<T>("batch_cholesky_factor_solve", a.view(), b.view());
    detail::check_info("batch_cholesky_factor_solve", a.count(), info.size());
    check_operand("batch_cholesky_factor_solve", "B", a, b);
    submit_blocks(
        runtime, {"posv", cholesky_work(a, b.view().shape().cols())}, a, places_of_cholesky(a),
        [triangle](BatchView<T> a, BatchView<T> b, Index* info) {
            cpu_kernels::batch_factor_solve<T>(triangle, a, b, info);
        },
        [triangle](Stream stream, BatchView<T> a, BatchView<T> b, Index* info) {
            batch_cholesky_factor_solve<T>(stream, triangle, a, b, info);
        },
        Updates<T>{a}, Updates<T>{b}, Infos(info, a));
}

template <class T>
void batch_lu_factor(Runtime& runtime, const BatchBlocks<T>& a, const BatchBlocks<Index>& pivots,
                     const Array<Index>& info) {
    const BatchView<const Index> order(pivots.view());
    detail::check_lu<T>("batch_lu_factor", a.view(), nullptr, &order);
    detail::check_info("batch_lu_factor", a.count(), info.size());
    check_operand("batch_lu_factor", "pivots", a, pivots);
    submit_blocks(
        runtime, {"getrf", lu_work(a, 0)}, a, places_of_lu(a),
        [](BatchView<T> a, BatchView<Index> pivots, Index* info) { cpu_kernels::batch_lu_factor<T>(a, pivots, info); },
        [](Stream stream, BatchView<T> a, BatchView<Index> pivots, Index* info) {
            batch_lu_factor<T>(stream, a, pivots, info);
        },
        Updates<T>{a}, Writes<Index>{pivots}, Infos(info, a));
}

template <class T>
void batch_lu_solve(Runtime& runtime, const BatchBlocks<T>& factors, const BatchBlocks<Index>& pivots,
                    const BatchBlocks<T>& b) {
    const BatchView<const T> sides(b.view());
    const BatchView<const Index> order(pivots.view());
    detail::check_lu<T>("batch_lu_solve", factors.view(), &sides, &order);
    check_operand("batch_lu_solve", "pivots", factors, pivots);
    check_operand("batch_lu_solve", "B", factors, b);
    submit_blocks(
        runtime, {"getrs", lu_work(factors, b.view().shape().cols())}, factors, places_of_lu(factors),
        [](BatchView<const T> a, BatchView<const Index> pivots, BatchView<T> b) {
            cpu_kernels::batch_lu_solve<T>(a, &pivots, b);
        },
        [](Stream stream, BatchView<const T> a, BatchView<const Index> pivots, BatchView<T> b) {
            batch_lu_solve<T>(stream, a, pivots, b);
        },
        Reads<T>{factors}, Reads<Index>{pivots}, Updates<T>{b});
}

template <class T>
void batch_lu_factor_solve(Runtime& runtime, const BatchBlocks<T>& a, const BatchBlocks<Index>& pivots,
                           const BatchBlocks<T>& b, const Array<Index>& info) {
    const BatchView<const T> sides(b.view());
    const BatchView<const Index> order(pivots.view());
    detail::check_lu<T>("batch_lu_factor_solve", a.view(), &sides, &order);
    detail::check_info("batch_lu_factor_solve", a.count(), info.size());
    check_operand("batch_lu_factor_solve", "pivots", a, pivots);
    check_operand("batch_lu_factor_solve", "B", a, b);
    submit_blocks(
        runtime, {"gesv", lu_work(a, b.view().shape().cols())}, a, places_of_lu(a),
        [](BatchView<T> a, BatchView<Index> pivots, BatchView<T> b, Index* info) {
            cpu_kernels::batch_lu_factor_solve<T>(a, pivots, b, info);
        },
        [](Stream stream, BatchView<T> a, BatchView<Index> pivots, BatchView<T> b, Index* info) {
            batch_lu_factor_solve<T>(stream, a, pivots, b, info);
        },
        Updates<T>{a}, Writes<Index>{pivots}, Updates<T>{b}, Infos(info, a));
}

template <class T>
void batch_qr_factor(Runtime& runtime, const BatchBlocks<T>& a, const BatchBlocks<T>& tau) {
    detail::check_qr<T>("batch_qr_factor", a.view(), tau.view());
    check_operand("batch_qr_factor", "tau", a, tau);
    submit_blocks(
        runtime, {"geqrf", qr_work(a, 0)}, a, places_of_lu(a),
        [](BatchView<T> a, BatchView<T> tau) { cpu_kernels::batch_qr_factor<T>(a, tau); },
        [](Stream stream, BatchView<T> a, BatchView<T> tau) { batch_qr_factor<T>(stream, a, tau); }, Updates<T>{a},
        Writes<T>{tau});
}

template <class T>
void batch_qr_form(Runtime& runtime, const BatchBlocks<T>& a, const BatchBlocks<T>& tau) {
    detail::check_form<T>(a.view(), tau.view());
    check_operand("batch_qr_form", "tau", a, tau);
    submit_blocks(
        runtime, {"orgqr", qr_work(a, 0)}, a, places_of_lu(a),
        [](BatchView<T> a, BatchView<const T> tau) { cpu_kernels::batch_qr_form<T>(a, tau); },
        [](Stream stream, BatchView<T> a, BatchView<const T> tau) { batch_qr_form<T>(stream, a, tau); }, Updates<T>{a},
        Reads<T>{tau});
}

template <class T>
void batch_least_squares(Runtime& runtime, const BatchBlocks<T>& a, const BatchBlocks<T>& b, const Array<Index>& info) {
    detail::check_least_squares<T>(a.view(), b.view(), info.size());
    check_operand("batch_least_squares", "B", a, b);
    const bool tall = a.view().shape().rows() >= a.view().shape().cols();
    submit_blocks(
        runtime, {"gels", qr_work(a, b.view().shape().cols())}, a, tall ? places_of_lu(a) : Places::cores,
        [](BatchView<T> a, BatchView<T> b, Index* info) { cpu_kernels::batch_least_squares<T>(a, b, info); },
        [](Stream stream, BatchView<T> a, BatchView<T> b, Index* info) { batch_least_squares<T>(stream, a, b, info); },
        Updates<T>{a}, Updates<T>{b}, Infos(info, a));
}

template void batch_cholesky_factor<float>(Runtime&, Triangle, const BatchBlocks<float>&, const Array<Index>&);
template void batch_cholesky_solve<float>(Runtime&, Triangle, const BatchBlocks<float>&, const BatchBlocks<float>&);
template void batch_cholesky_factor_solve<float>(Runtime&, Triangle, const BatchBlocks<float>&,
                                                 const BatchBlocks<float>&, const Array<Index>&);
template void batch_lu_factor<float>(Runtime&, const BatchBlocks<float>&, const BatchBlocks<Index>&,
                                     const Array<Index>&);
template void batch_lu_solve<float>(Runtime&, const BatchBlocks<float>&, const BatchBlocks<Index>&,
                                    const BatchBlocks<float>&);
template void batch_lu_factor_solve<float>(Runtime&, const BatchBlocks<float>&, const BatchBlocks<Index>&,
                                           const BatchBlocks<float>&, const Array<Index>&);
template void batch_qr_factor<float>(Runtime&, const BatchBlocks<float>&, const BatchBlocks<float>&);
template void batch_qr_form<float>(Runtime&, const BatchBlocks<float>&, const BatchBlocks<float>&);
template void batch_least_squares<float>(Runtime&, const BatchBlocks<float>&, const BatchBlocks<float>&,
                                         const Array<Index>&);
template void batch_cholesky_factor<double>(Runtime&, Triangle, const BatchBlocks<double>&, const Array<Index>&);
template void batch_cholesky_solve<double>(Runtime&, Triangle, const BatchBlocks<double>&, const BatchBlocks<double>&);
template void batch_cholesky_factor_solve<double>(Runtime&, Triangle, const BatchBlocks<double>&,
                                                  const BatchBlocks<double>&, const Array<Index>&);
template void batch_lu_factor<double>(Runtime&, const BatchBlocks<double>&, const BatchBlocks<Index>&,
                                      const Array<Index>&);
template void batch_lu_solve<double>(Runtime&, const BatchBlocks<double>&, const BatchBlocks<Index>&,
                                     const BatchBlocks<double>&);
template void batch_lu_factor_solve<double>(Runtime&, const BatchBlocks<double>&, const BatchBlocks<Index>&,
                                            const BatchBlocks<double>&, const Array<Index>&);
template void batch_qr_factor<double>(Runtime&, const BatchBlocks<double>&, const BatchBlocks<double>&);
template void batch_qr_form<double>(Runtime&, const BatchBlocks<double>&, const BatchBlocks<double>&);
template void batch_least_squares<double>(Runtime&, const BatchBlocks<double>&, const BatchBlocks<double>&,
                                          const Array<Index>&);

}  // namespace basalt
