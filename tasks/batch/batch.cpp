// Batches as data, and the checks of their arguments.
#include "basalt/batch.hpp"

#include <string>

#include "basalt/batch_cholesky.hpp"
#include "tasks/batch/operands.hpp"
#include "tasks/choices/require.hpp"

namespace basalt {

template <class T>
Batch<T>::Batch(Runtime& runtime, const BatchView<T>& matrices, const char* name) : view_(matrices) {
    detail::check_batch<const T>("Batch", name != nullptr ? name : "the batch", matrices);
    handle_ = detail::create_datum(runtime, nullptr, 0, matrices.count(), 1, detail::Storage::none,
                                   name != nullptr ? std::string(name) : detail::default_name("batch"));
}

template <class T>
typename Batch<T>::Slice Batch<T>::slice(Index begin, Index end) const {
    detail::require(begin >= 0 && begin <= end && end <= count(),
                    "Batch::slice(" + std::to_string(begin) + ", " + std::to_string(end) +
                        "): allowed is 0 <= begin <= end <= " + std::to_string(count()));
    return {handle_.get(), handle_.generation(), begin, end, view_.part(begin, end)};
}

template <class T>
const BatchView<T>& Batch<T>::host_view() const {
    detail::wait_datum(handle_);
    return view_;
}

template class Batch<float>;
template class Batch<double>;
template class Batch<Index>;

namespace detail {

namespace {

/// require() that makes the message only where it is needed: small batches take less time than texts.
template <class Message>
void require_lazily(bool condition, const Message& message) {
    if (!condition) throw UsageError(message());
}

template <class Who>
void check_batch_matrix(const Who& who, Index rows, Index cols, Index ld) {
    require_lazily(rows >= 0 && cols >= 0, [&] {
        return who() + " has " + std::to_string(rows) + " x " + std::to_string(cols) +
               " elements; allowed are 0 and more rows and columns";
    });
    const Index least = rows > 1 ? rows : 1;
    require_lazily(ld >= least, [&] {
        return who() + " has the leading dimension " + std::to_string(ld) + "; allowed is at least " +
               std::to_string(least);
    });
}

/// Matrices that have addresses of their own.
template <class T, class Who>
void check_each_matrix(const Who& who, const BatchView<T>& batch) {
    for (Index k = 0; k < batch.count(); ++k) {
        const auto text = [&] { return "matrix " + std::to_string(k) + " of " + who(); };
        const View<T> matrix = batch[k];
        require_lazily(matrix.row_stride() == 1, [&] {
            return text() + " is not column-major: its elements are " + std::to_string(matrix.row_stride()) +
                   " apart; allowed is 1";
        });
        check_batch_matrix(text, matrix.rows(), matrix.cols(), matrix.col_stride());
        require_lazily(matrix.empty() || matrix.data() != nullptr, [&] { return text() + " is missing (null)"; });
    }
}

}  // namespace

template <class T>
void check_batch(const char* call, const char* name, const BatchView<T>& batch) {
    const auto who = [&] { return std::string(call) + ": " + name; };
    require_lazily(batch.count() >= 0,
                   [&] { return who() + " has " + std::to_string(batch.count()) + " matrices; allowed is 0 or more"; });
    if (batch.count() == 0) return;
    require_lazily(!batch.missing(), [&] { return who() + " is missing (null)"; });
    if (!batch.is_strided()) return check_each_matrix(who, batch);
    const View<T> first = batch[0];
    check_batch_matrix(who, first.rows(), first.cols(), first.col_stride());
    const Index least = first.empty() ? 0 : first.col_stride() * (first.cols() - 1) + first.rows();
    require_lazily(batch.count() == 1 || batch.stride() >= least, [&] {
        return who() + " has the stride " + std::to_string(batch.stride()) + " between matrices; allowed is at least " +
               std::to_string(least);
    });
}

template <class T>
void check_square(const char* call, const char* name, const BatchView<T>& batch) {
    check_batch(call, name, batch);
    for (Index k = 0; k < (batch.uniform() && batch.count() > 0 ? 1 : batch.count()); ++k) {
        const View<T> matrix = batch[k];
        require_lazily(matrix.rows() == matrix.cols(), [&] {
            return std::string(call) + ": matrix " + std::to_string(k) + " of " + name + " is " +
                   std::to_string(matrix.rows()) + " x " + std::to_string(matrix.cols()) +
                   "; allowed are square matrices";
        });
    }
}

template <class T>
void check_right_sides(const char* call, const BatchView<const T>& a, const BatchView<const T>& b) {
    check_batch(call, "B", b);
    require_lazily(a.count() == b.count(), [&] {
        return std::string(call) + ": B has " + std::to_string(b.count()) +
               " matrices; allowed are as many as A has, " + std::to_string(a.count());
    });
    const bool alike = a.uniform() && b.uniform() && a.count() > 0;
    for (Index k = 0; k < (alike ? 1 : a.count()); ++k) {
        require_lazily(a[k].rows() == b[k].rows(), [&] {
            return std::string(call) + ": matrix " + std::to_string(k) + " of B has " + std::to_string(b[k].rows()) +
                   " rows; allowed are as many as A has, " + std::to_string(a[k].rows());
        });
    }
}

void check_info(const char* call, Index count, Index info) {
    require_lazily(info == count, [&] {
        return std::string(call) + ": info has " + std::to_string(info) +
               " elements; allowed are as many as A has matrices, " + std::to_string(count);
    });
}

template <class T>
void check_device_batch(const char* call, const char* name, const BatchView<T>& batch) {
    const auto who = [&] { return std::string(call) + ": " + name; };
    require_lazily(batch.bounded(), [&] {
        return who() +
               " lists matrices without bounds of their shapes; allowed on GPUs are strided(), pointers() and "
               "matrices() with the most rows and columns";
    });
    require_lazily(batch.shape().col_stride() <= largest_gpu_batch_ld, [&] {
        return who() + " has the leading dimension " + std::to_string(batch.shape().col_stride()) +
               "; allowed on GPUs is at most " + std::to_string(largest_gpu_batch_ld);
    });
    if (batch.is_strided()) return check_batch(call, name, batch);
    require_lazily(batch.count() == 0 || !batch.missing(), [&] { return who() + " is missing (null)"; });
    check_batch_matrix(who, batch.shape().rows(), batch.shape().cols(), batch.shape().col_stride());
}

template <class T>
void check_device_square(const char* call, const char* name, const BatchView<T>& batch) {
    check_device_batch(call, name, batch);
    const Index rows = batch.shape().rows(), cols = batch.shape().cols();
    require_lazily(rows == cols && rows <= largest_gpu_batch_order, [&] {
        return std::string(call) + ": " + shape_text(name, batch) + "; allowed on GPUs are square matrices of order " +
               std::to_string(largest_gpu_batch_order) + " at most";
    });
}

template <class T>
void check_device_right_sides(const char* call, const BatchView<const T>& a, const BatchView<const T>& b) {
    check_device_batch(call, "B", b);
    require_lazily(a.count() == b.count() && (a.count() == 0 || a.shape().rows() == b.shape().rows()), [&] {
        return std::string(call) + ": B has " + std::to_string(b.count()) + " matrices of " +
               std::to_string(b.shape().rows()) + " rows; allowed are as many as A has, " + std::to_string(a.count()) +
               " of " + std::to_string(a.shape().rows());
    });
}

template void check_device_batch<const float>(const char*, const char*, const BatchView<const float>&);
template void check_device_batch<const double>(const char*, const char*, const BatchView<const double>&);
template void check_device_batch<const Index>(const char*, const char*, const BatchView<const Index>&);
template void check_device_square<const float>(const char*, const char*, const BatchView<const float>&);
template void check_device_square<const double>(const char*, const char*, const BatchView<const double>&);
template void check_device_right_sides<float>(const char*, const BatchView<const float>&,
                                              const BatchView<const float>&);
template void check_device_right_sides<double>(const char*, const BatchView<const double>&,
                                               const BatchView<const double>&);
template void check_batch<const float>(const char*, const char*, const BatchView<const float>&);
template void check_batch<const double>(const char*, const char*, const BatchView<const double>&);
template void check_batch<const Index>(const char*, const char*, const BatchView<const Index>&);
template void check_square<const float>(const char*, const char*, const BatchView<const float>&);
template void check_square<const double>(const char*, const char*, const BatchView<const double>&);
template void check_right_sides<float>(const char*, const BatchView<const float>&, const BatchView<const float>&);
template void check_right_sides<double>(const char*, const BatchView<const double>&, const BatchView<const double>&);

}  // namespace detail

}  // namespace basalt
