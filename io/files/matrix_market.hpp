#pragma once

#include <iosfwd>
#include <stdexcept>
#include <string>

#include "basalt/view.hpp"
#include "io/files/text_lines.hpp"

namespace basalt {

class LineNumbers;

/// A file that violates the Matrix Market format, or uses a part of it that Basalt does not support. what() reads
/// "FILE:LINE: FOUND; allowed: ALLOWED".
class MatrixMarketError : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

enum class MatrixMarketFormat { array, coordinate };
enum class MatrixMarketField { real, integer, pattern };
enum class MatrixMarketSymmetry { general, symmetric, skew_symmetric };

/// The contents of the banner and the size line of a Matrix Market file.
struct MatrixMarketHeader {
    MatrixMarketFormat format = MatrixMarketFormat::array;
    MatrixMarketField field = MatrixMarketField::real;
    MatrixMarketSymmetry symmetry = MatrixMarketSymmetry::general;
    Index rows = 0;
    Index cols = 0;
    Index entries = 0;  ///< number of lines with numbers
};

/// Reads one Matrix Market file in two steps, so that the caller knows its size before allocating memory.
///
/// Format: Boisvert, Pozo, Remington, "The Matrix Market Exchange Formats: Initial Design" (NISTIR 5935, 1996).
/// Decision 13 (docs/decisions/0013-matrix-market.md) lists extensions, restrictions and the meaning of duplicate
/// entries.
class MatrixMarketReader {
  public:
    /// Reads up to the size line. `name` is the file's name, for messages; `in` must outlive this. Throws
    /// MatrixMarketError, and std::runtime_error if the stream fails.
    MatrixMarketReader(std::istream& in, std::string name);

    /// rows x cols elements of 8 bytes are fewer than 2^63 bytes.
    const MatrixMarketHeader& header() const { return header_; }

    /// Writes the whole matrix to `a` (rows x cols, any strides), for float and double; numbers are rounded to nearest.
    /// Call it once. Throws as the constructor does, and UsageError for another shape; `a` is unspecified then.
    template <class T>
    void read(View<T> a);

  private:
    bool next_line();
    bool next_data_line();
    void next_entry(Index entry);
    void read_banner();
    void read_size();
    template <class T>
    void read_array(View<T> a);
    template <class T>
    void read_coordinate(View<T> a);
    Index integer(LineNumbers& line, const char* what, Index low, Index high) const;
    template <class T>
    T value(LineNumbers& line) const;
    void require_end(const LineNumbers& line) const;
    [[noreturn]] void refuse(const std::string& found, const std::string& allowed) const;

    TextLines lines_;
    const std::string name_;
    MatrixMarketHeader header_;
};

/// Writes `a` (any strides) as an array file, "real general", with the fewest digits that read back as the same bits.
/// Infinity and NaN, which the format does not have, become "inf" and "nan". For float and double. The caller checks
/// the state of `out`.
template <class T>
void write_matrix_market(std::ostream& out, View<const T> a);

}  // namespace basalt
