#pragma once

#include <cstdint>

#include "basalt/array.hpp"

namespace basalt::detail {

constexpr Index ceil_div(Index a, Index b) { return (a + b - 1) / b; }

inline constexpr Index line = 64;  ///< elements: at least a cache line

/// A number of elements, rounded up to whole lines.
constexpr Index aligned(Index elements) { return ceil_div(elements, line) * line; }

/// rows x cols elements, row-major and dense, that tasks access as one datum. A task that writes some of the rows
/// declares that the others have no contents any more. Does not own the memory.
template <class T>
class ScratchMatrix {
  public:
    ScratchMatrix(Runtime& runtime, T* memory, Index rows, Index cols, const char* name)
        : data_(memory),
          rows_(rows),
          cols_(cols),
          datum_(create_datum(runtime, memory, sizeof(T), rows, static_cast<std::int32_t>(cols), Storage::scratch,
                              name)) {}

    T* data() const { return data_; }
    Index ld() const { return cols_; }
    /// Rows [begin, end); a kernel sees their first `width` columns.
    Region<T> rows(Index begin, Index end, Index width) const {
        const auto cols = static_cast<std::int32_t>(cols_);
        return {datum_.get(), datum_.generation(), begin, end, 0, cols, begin * cols_, end - begin, width, cols_, 1};
    }
    Region<T> region() const { return rows(0, rows_, cols_); }
    /// Waits for the tasks that use the matrix, until its contents are in the host's memory.
    void wait() const { wait_datum(datum_); }

  private:
    T* data_;
    Index rows_;
    Index cols_;
    DatumHandle datum_;
};

}  // namespace basalt::detail
