#pragma once

#include <iosfwd>
#include <stdexcept>
#include <string>
#include <vector>

#include "basalt/view.hpp"

namespace basalt {

/// A malformed HPL.dat. what() reads "FILE:LINE: FOUND; allowed: ALLOWED".
class HplDatError : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

/// Limits on the contents of an HPL.dat: those of HPL 2.3, and some of our own.
struct HplLimits {
    static constexpr int values = 20;                  ///< values in one list (HPL_MAX_PARAM)
    static constexpr int line_length = 252;            ///< characters in a line: HPL reads a longer one as two
    static constexpr Index integer = 2147483647;       ///< HPL's int
    static constexpr Index problem_size = 2147483646;  ///< [A b] has N + 1 columns, which HPL counts in an int
    static constexpr double threshold = 1e6;           ///< ours: with a larger one every result would pass
    static constexpr Index cases = 999999;             ///< ours: the summary has six columns for the count
};

/// Values are HPL.dat's own numbers, here and below.
enum class HplOrder { row_major = 0, column_major = 1 };
enum class HplFactor { left = 0, crout = 1, right = 2 };
enum class HplBroadcast { ring = 0, ring_modified, two_ring, two_ring_modified, long_, long_modified };
enum class HplSwap { binary_exchange = 0, spread_roll = 1, mix = 2 };

/// A grid of p x q processes.
struct HplGrid {
    Index p = 1;
    Index q = 1;
};

/// The contents of an HPL.dat, line by line. Every list has 1 to HplLimits::values entries.
struct HplInput {
    std::string output_file;         ///< used when device is neither 6 nor 7
    int device = 6;                  ///< 6: stdout, 7: stderr, anything else (and the word "file"): output_file
    std::vector<Index> sizes;        ///< N, order of the matrix
    std::vector<Index> block_sizes;  ///< NB
    HplOrder order = HplOrder::row_major;
    std::vector<HplGrid> grids;
    /// Largest scaled residual that passes, exclusive. Zero or less: HPL does not check the result at all.
    double threshold = 16.0;
    std::vector<HplFactor> panel_factors;      ///< PFACTs
    std::vector<Index> stop_sizes;             ///< NBMINs
    std::vector<Index> divisions;              ///< NDIVs
    std::vector<HplFactor> recursive_factors;  ///< RFACTs
    std::vector<HplBroadcast> broadcasts;
    std::vector<Index> depths;
    HplSwap swap = HplSwap::mix;
    Index swap_threshold = 64;  ///< columns
    bool l1_transposed = true;
    bool u_transposed = true;
    bool equilibrate = true;
    Index alignment = 8;  ///< doubles
};

/// Reads HPL 2.3's input: 31 lines, each with its values first and a comment after them. Ignores further lines.
///
/// `name` is the file's name, for messages. Throws HplDatError at the first deviation from HPL 2.3's documentation. A
/// value out of range is an error, too, where HPL would use a default instead. Accepts CRLF line ends. Reads a bounded
/// number of bytes, however large the file is.
HplInput read_hpl_dat(std::istream& in, const std::string& name);

/// One test: one value of every list.
struct HplCase {
    HplGrid grid;
    Index n = 0;
    Index nb = 1;
    HplOrder order = HplOrder::row_major;
    Index depth = 0;
    HplBroadcast broadcast = HplBroadcast::ring;
    HplFactor recursive_factor = HplFactor::left;
    HplFactor panel_factor = HplFactor::left;
    Index stop_size = 1;
    Index divisions = 2;
};

/// The number of tests of `input`: the product of the lengths of its lists.
Index hpl_case_count(const HplInput& input);

/// Test number `k` (0 <= k < hpl_case_count) in the order in which HPL runs them: grids are the outermost
/// loop, then N, NB, DEPTH, BCAST, RFACT, PFACT, NBMIN, and NDIV innermost.
HplCase hpl_case(const HplInput& input, Index k);

}  // namespace basalt
