#pragma once

#include <vector>

#include "basalt/mixed.hpp"
#include "kernels/on_stream/mixed.hpp"
#include "tasks/mixed/columns_at.hpp"
#include "tasks/mixed/double_columns.hpp"
#include "tasks/mixed/vectors.hpp"

namespace basalt::detail {

/// What measuring A found.
struct Magnitudes {
    std::vector<double> row_sums;    ///< of A as it is
    std::vector<double> row_scaled;  ///< of A scaled by the factors: the largest, or their sums
    std::vector<double> col_max;
};

/// Powers of two by which rows and columns are multiplied.
struct ScalingFactors {
    std::vector<double> rows;
    std::vector<double> cols;
    std::vector<double> inverse_cols;  ///< where anything is scaled
};

/// A of at least one row, scaled and rounded to single precision: the matrix that is factored. Behind its columns it
/// may have those of B.
class LoweredMatrix {
  public:
    /// Submits and awaits everything. Unless `mode` is cpu, GPUs round the tile columns that are dealt to them.
    /// `augmented`: right-hand sides that become further columns, or nullptr.
    LoweredMatrix(Runtime& runtime, const DoubleColumns& a, const MixedOptions& options, ProductPrecision products,
                  FactorMode mode, const Vectors* augmented);

    /// Whether all elements of A and the norm of A are finite. Otherwise the matrix is not made.
    bool is_finite() const { return finite_; }
    /// ||A||_oo
    double norm() const { return norm_; }
    /// Whether rows or columns were multiplied, and then the norm of the scaled matrix.
    bool is_scaled() const { return !factors_.inverse_cols.empty(); }
    double scaled_norm() const { return scaled_norm_; }
    const ScalingFactors& factors() const { return factors_; }
    Matrix<float>& matrix() { return low_; }
    bool is_augmented() const { return low_.cols() > low_.rows(); }
    bool on_gpus() const { return on_gpus_; }
    ColumnsAt where() const { return on_gpus_ ? ColumnsAt::gpus : ColumnsAt::cores; }
    /// Each right-hand side is scaled by a power of two, after the rows' factors, so that its largest element is
    /// near 1.
    const std::vector<double>& augmented_scales() const { return augmented_scales_; }

  private:
    /// What a pass over A does.
    struct Pass {
        bool rounds = true;
        on_stream::ScaledRows of_rows = on_stream::ScaledRows::largest;
    };

    /// Reads A once.
    Magnitudes measure(Pass pass);
    /// Rows of a tile column.
    struct Window {
        Index begin, end;
        bool first;  ///< no other tile column of its place has been measured in these rows
    };
    void submit_window(Pass pass, Index j, const Window& rows);
    Magnitudes collect(on_stream::ScaledRows of_rows) const;
    void equilibrate(const Magnitudes& found);
    void set_scaled_norm(const Magnitudes& found);
    void scale_by_diagonal();
    /// Element i is a_ii.
    std::vector<double> diagonal() const;
    void add_right_hand_sides(const Vectors& b);
    Index window_rows() const;
    Index windows() const;
    /// Where a tile column is read: the number of the GPU, or 0 for cores.
    std::size_t place_of(Index j) const;
    Place place_for(Index j) const { return on_gpus_ ? low_.dealt_to(j) : Place::cpu(); }
    bool lacks_scaling(const std::vector<double>& magnitudes) const;

    Runtime& rt_;
    const DoubleColumns& a_;
    const MixedMethod method_;
    const bool on_gpus_;
    const double largest_;  ///< magnitude that needs no scaling
    Matrix<float> low_;
    ScalingFactors factors_;
    Array<double> device_factors_;  ///< those of rows, then those of columns
    /// By place: the rows' sums, their scaled magnitudes, and for each window of rows the maxima of all columns.
    std::vector<Array<double>> measured_;
    std::vector<double> augmented_scales_;
    bool finite_ = true;
    double norm_ = 0;
    double scaled_norm_ = 0;
};

}  // namespace basalt::detail
