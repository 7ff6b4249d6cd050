#pragma once

#include <vector>

#include <basalt/team.hpp>
#include <basalt/view.hpp>

/// QR of a panel by a gang. All functions are called by every member of the team with the same arguments; for float and
/// double.
namespace basalt {

/// What the members share: sums of products, and values for all. Reusable for any panel that fits, one at a time.
template <class T>
class QrPanelWorkspace {
  public:
    /// For panels of at most `cols` columns, gangs of at most `members`.
    QrPanelWorkspace(int members, Index cols);

    bool fits(int members, Index cols) const { return members <= members_ && cols <= cols_; }

    /// A member's own products, cols x cols, column-major.
    T* products(int rank) { return products_.data() + static_cast<std::size_t>(rank) * matrix_; }
    /// Its sums over a column, in alternation between `parity` 0 and 1.
    T* sums(int rank, int parity) {
        return sums_.data() + (2 * static_cast<std::size_t>(rank) + static_cast<std::size_t>(parity)) * line_;
    }
    /// The diagonal's row, in alternation.
    T* row(int parity) { return rows_.data() + static_cast<std::size_t>(parity) * line_; }
    /// The sum of all members' products, and what becomes of it; cols x cols, column-major.
    T* total() { return total_.data(); }
    T* factor() { return factor_.data(); }

  private:
    int members_;
    Index cols_;
    std::size_t matrix_;
    std::size_t line_;  ///< cols rounded up to whole cache lines
    std::vector<T> products_, sums_, rows_, total_, factor_;
};

/// Rows [begin, end) of an m x k panel that belong to a member. The first k are all the first one's.
struct QrPanelRows {
    QrPanelRows(const Team& team, Index m, Index k);
    Index begin;
    Index end;
};

/// A = (I - V T V^T) (R, 0)^T, LAPACK's geqrf and larft.
///
/// `v` is m x k with m >= k, column-major (unit row stride): A on entry, on return V, with zeros above a diagonal of
/// ones. `r` and `t` (k x k, any strides) become upper triangular, zeros below; tau is T's diagonal. A column that is
/// zero below its diagonal gets tau = 0. Members touch their own rows of v only. Columns of any scale are safe; a NaN
/// or infinity spreads to the right of its column, in LAPACK's way. The same input and number of members give the same
/// bits; on return all results are visible to every member. Throws std::invalid_argument (on every member) where
/// workspace or shape does not fit.
///
/// Recursion over columns: Elmroth, Gustavson, "Applying recursion to serial and parallel QR factorization" (IBM J.
/// Res. Dev. 44, 2000). Rows are fixed to members, and a column costs one meeting: each sums its part of v^T A for all
/// columns of a leaf at once.
template <class T>
void qr_panel_factor(const Team& team, View<T> v, View<T> r, View<T> t, QrPanelWorkspace<T>& shared);

/// Each member copies its rows: v = a, before.
template <class T>
void qr_panel_load(const Team& team, View<const T> a, View<T> v);
/// a = V below the diagonal and R above, LAPACK's form; after.
template <class T>
void qr_panel_store(const Team& team, View<const T> v, View<const T> r, View<T> a);
/// a = V with its zeros and ones.
template <class T>
void qr_panel_store_explicit(const Team& team, View<const T> v, View<T> a);

}  // namespace basalt
