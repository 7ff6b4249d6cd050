// Between a triangle of an array on the host and tile columns, converted by GPUs.
#include "tasks/on_gpus/host_triangle.hpp"

#include <algorithm>
#include <mutex>

#include "kernels/on_stream/triangle.hpp"
#include "runtime/engine/gpu_data.hpp"
#include "tasks/on_gpus/stripe_copies.hpp"
#include "tiles/copy_triangle.hpp"

namespace basalt::detail {

namespace {

/// Columns or, of an array whose rows are contiguous, rows that travel together: `lines` of them. A stripe of lines has
/// a square on the diagonal, whose triangle cores copy, since the other one belongs to somebody else, and a rectangle.
template <class T>
class HostTriangle {
  public:
    HostTriangle(MatrixStorage& storage, Triangle triangle, const View<const T>& array)
        : storage_(storage),
          copies_(storage),
          grid_(copies_.grid()),
          triangle_(triangle),
          by_columns_(array.row_stride() == 1),
          through_host_(!is_pinned_array(storage, array)),
          lines_(lines_of_a_stripe()) {
        copies_.begin(lines_ * longest_line(), through_host_ ? StripePath::through_host : StripePath::on_gpus);
        squares_lock_ = storage.squares().begin(lines_ * lines_, StripePath::through_host);
    }

    void load(View<const T> source) {
        storage_.make_room_on_gpus(grid_.tile_cols());
        for (Index j = 0; j < grid_.tile_cols(); ++j) copies_.claim(j);
        for_each_part([&](const TilePart& part) { load(part, source); });
    }

    void store(View<T> target, OtherSide other) const {
        for_each_part([&](const TilePart& part) { store(part, target, other); });
    }

  private:
    /// Elements of the longest line within a tile column.
    Index longest_line() const { return by_columns_ ? grid_.rows() : std::min(grid_.shape().width, grid_.cols()); }
    Index lines_of_a_stripe() const {
        constexpr Index most = 512;  // of a square, which takes longer than its share of the rectangles
        const Index widest = std::min({most, grid_.shape().width, grid_.cols()});
        return std::clamp<Index>(copies_.stripe_elements() / longest_line(), 1, widest);
    }

    bool on_diagonal(const TilePart& part) const { return part.row == first_col(part) && part.rows == part.cols; }
    Index first_col(const TilePart& part) const { return grid_.first_col(part.tile_column) + part.col; }

    /// visit(part) for parts that cover the triangle: squares on the diagonal and rectangles, in the order in which a
    /// factorization needs them and makes them final.
    template <class F>
    void for_each_part(const F& visit) const {
        for (Index j = 0; j < grid_.tile_cols(); ++j) {
            const Index first = grid_.first_col(j), width = grid_.tile_width(j);
            for (Index line = 0; line < width; line += lines_) {
                const Index count = std::min(lines_, width - line), row = first + line, end = row + count;
                visit(TilePart{j, row, count, line, count});
                if (by_columns_ && triangle_ == Triangle::lower)
                    visit(TilePart{j, end, grid_.rows() - end, line, count});
                if (by_columns_ && triangle_ == Triangle::upper) visit(TilePart{j, 0, row, line, count});
                if (!by_columns_ && triangle_ == Triangle::lower) visit(TilePart{j, row, count, 0, line});
                if (!by_columns_ && triangle_ == Triangle::upper) {
                    visit(TilePart{j, row, count, line + count, width - line - count});
                }
            }
            if (by_columns_) continue;
            // whole rows of the tile column below or above its square on the diagonal
            const bool lower = triangle_ == Triangle::lower;
            const Index begin = lower ? first + width : 0, stop = lower ? grid_.rows() : first;
            for (Index row = begin; row < stop; row += lines_) {
                visit(TilePart{j, row, std::min(lines_, stop - row), 0, width});
            }
        }
    }

    /// The part of the array, or its transpose: with unit row stride.
    template <class Element>
    View<Element> window(View<Element> array, const TilePart& part) const {
        const View<Element> rows = array.block(part.row, first_col(part), part.rows, part.cols);
        return by_columns_ ? rows : transposed(rows);
    }
    /// The triangle of window(), for a square on the diagonal.
    Triangle triangle_of_window() const { return by_columns_ ? triangle_ : transposed(triangle_); }
    Region<T> stripe_for(const TilePart& part) const {
        if (on_diagonal(part)) {
            return storage_.squares().template next<T>(copies_.gpu_of(part.tile_column), part.rows, part.cols);
        }
        return by_columns_ ? copies_.stripe_for(part, part.rows, part.cols)
                           : copies_.stripe_for(part, part.cols, part.rows);
    }
    Region<T> tiles_of(const TilePart& part) const {
        return storage_.template region<T>(part.tile_column, part.row, part.row + part.rows, part.col,
                                           part.col + part.cols);
    }
    /// Of copy_triangle(): which elements of the part are copied.
    Index offset(const TilePart& part) const {
        if (on_diagonal(part)) return 0;
        const Index everything = part.rows + part.cols;
        return triangle_ == Triangle::lower ? -everything : everything;
    }

    void load(const TilePart& part, View<const T> source) const {
        if (part.rows == 0 || part.cols == 0) return;
        const Region<T> stripe = stripe_for(part);
        const View<const T> from = window(source, part);
        if (on_diagonal(part)) {
            copies_.runtime().submit(
                copies_.on_core("copy in", part), write(stripe),
                [from, triangle = triangle_of_window()](View<T> to) { copy_square_triangle<T>(triangle, from, to); });
        } else {
            copies_.copy_in(part, from, stripe, through_host_);
        }
        copies_.runtime().submit(
            copies_.on_gpu("pack", part), read(stripe), write(tiles_of(part)),
            on_any_device<KernelStreams::any>([triangle = triangle_, offset = offset(part), by_columns = by_columns_](
                                                  Stream stream, View<const T> lines, View<T> a) {
                on_stream::copy_triangle<T>(stream, triangle, offset, by_columns ? lines : transposed(lines), a);
            }));
        copies_.done(stripe);
    }

    /// Zeros on the other side are written with the square, in its columns: their elements may have come from this
    /// array.
    void store(const TilePart& part, View<T> target, OtherSide other) const {
        if (part.rows == 0 || part.cols == 0) return;
        const Region<T> stripe = stripe_for(part);
        copies_.runtime().submit(
            copies_.on_gpu("unpack", part), read(tiles_of(part)), write(stripe),
            on_any_device<KernelStreams::any>([triangle = triangle_, offset = offset(part), by_columns = by_columns_](
                                                  Stream stream, View<const T> a, View<T> lines) {
                on_stream::copy_triangle<T>(stream, triangle, offset, a, by_columns ? lines : transposed(lines));
            }));
        const View<T> to = window(target, part);
        if (on_diagonal(part)) {
            const View<T> columns = target.block(0, first_col(part), target.rows(), part.cols);
            copies_.runtime().submit(copies_.on_core("copy out", part), read(stripe),
                                     [to, columns, other, triangle = triangle_, in_window = triangle_of_window(),
                                      diagonal = part.row](View<const T> from) {
                                         copy_square_triangle<T>(in_window, from, to);
                                         if (other == OtherSide::zeros) zero_other_side<T>(triangle, diagonal, columns);
                                     });
        } else {
            copies_.copy_out(part, stripe, to, through_host_);
        }
        copies_.done(stripe);
    }

    MatrixStorage& storage_;
    StripeCopies<T> copies_;
    const TileGrid grid_;
    const Triangle triangle_;
    const bool by_columns_;
    const bool through_host_;
    const Index lines_;
    std::unique_lock<std::mutex> squares_lock_;
};

}  // namespace

template <class T>
bool gpus_can_convert_triangle(MatrixStorage& storage, View<const T> array) {
    const bool lines_apart = std::max(array.row_stride(), array.col_stride()) >= array.rows();
    return gpu_data(storage.runtime()).gpus_to_deal_to() > 0 && lines_apart && !array.empty() &&
           StripeCopies<T>(storage).fits();
}

bool is_at_home(const MatrixStorage& storage) {
    for (Index j = 0; j < storage.grid().tile_cols(); ++j) {
        if (gpu_data(storage.runtime()).at_home(*storage.datum(j))) return true;
    }
    return false;
}

template <class T>
void load_triangle_by_gpus(MatrixStorage& storage, Triangle triangle, View<const T> source) {
    HostTriangle<T>(storage, triangle, source).load(source);
}

template <class T>
void store_triangle_by_gpus(MatrixStorage& storage, Triangle triangle, View<T> target, OtherSide other) {
    HostTriangle<T>(storage, triangle, target).store(target, other);
}

template bool gpus_can_convert_triangle(MatrixStorage&, View<const float>);
template bool gpus_can_convert_triangle(MatrixStorage&, View<const double>);
template void load_triangle_by_gpus(MatrixStorage&, Triangle, View<const float>);
template void load_triangle_by_gpus(MatrixStorage&, Triangle, View<const double>);
template void store_triangle_by_gpus(MatrixStorage&, Triangle, View<float>, OtherSide);
template void store_triangle_by_gpus(MatrixStorage&, Triangle, View<double>, OtherSide);

}  // namespace basalt::detail
