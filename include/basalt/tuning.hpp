#pragma once

#include <cstddef>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "basalt/panel_design.hpp"
#include "basalt/tile_shape.hpp"
#include "basalt/view.hpp"

namespace basalt {

/// In a list by size: its entry is for all that the ones before it are not.
inline constexpr Index any_size = std::numeric_limits<Index>::max();

/// Threads of a panel's gang: one for so many rows of the panel, 1 at least.
struct PanelTeam {
    Index rows_a_thread = 1;
    int most = 1;
};

/// Widths on cores by the smaller dimension.
struct CoreSizes {
    Index up_to = any_size;
    TileShape tile;
    Index panel = 1;
};

/// Widths of tile QR on cores by the smaller dimension.
struct TileQrSizes {
    Index up_to = any_size;
    TileShape tile;
    Index inner = 1;  ///< columns with a triangle T of their own
};

/// Widths on GPUs by the smaller dimension.
struct GpuSizes {
    Index up_to = any_size;
    Index hybrid_panel = 1;
    Index gpu_panel = 1;
    Index tile = 1;
};

/// What was measured on CPU cores with one instruction set. Lists by size ascend.
struct CpuTuning {
    std::string architecture;  ///< instruction set of the kernels: "avx512", "avx2" or "generic"

    /// Threads that together copy a matrix between two places of the host's memory.
    int copying_threads = 1;

    Index product_rows = 1;  ///< of a task that multiplies a tile column with a vector

    struct Lu {
        std::vector<CoreSizes> sizes;
        PanelTeam team;              ///< of a panel in mode cpu
        PanelTeam team_beside_gpus;  ///< in mode hybrid
        /// Mode hybrid: a column of a panel of r rows and nb columns, with its way to the GPUs and back, takes
        /// panel_column_seconds + r nb panel_element_seconds.
        double panel_column_seconds = 0;
        double panel_element_seconds = 0;
        Index update_rows = 1;  ///< of a task that updates a lookahead column in mode hybrid
        Index solve_rows = 1;   ///< of a task that updates right-hand sides, which mostly moves the factors' memory
        /// Of a task that moves rows left of the panels: enough of a row to be moved at the memory's speed, and so few
        /// that all cores have a part of a wide panel. Who comes for the first tile columns, whose tasks go first, need
        /// not wait for the others.
        Index interchanged_columns = 1;
    } lu;

    struct Cholesky {
        std::vector<CoreSizes> sizes;
        /// Mode hybrid: a diagonal block of order nb takes diagonal_seconds, with its ways from the GPU and back, and
        /// its nb^3 / 3 operations at diagonal_rate a second.
        double diagonal_seconds = 0;
        double diagonal_rate = 1;
        Index solve_rows = 1;  ///< of a panel that a task solves for, or more where cores are fewer (rows_on_cores)
    } cholesky;

    struct Qr {
        std::vector<CoreSizes> sizes;
        PanelTeam team;
        /// Half of the cores update meanwhile where the matrix has more columns than so many panels.
        Index shared_panels = 1;
        /// Mode hybrid: a column of a panel of r rows, with T and its way to the GPUs and back, takes
        /// panel_column_seconds + r panel_row_seconds, whatever the panel's width.
        double panel_column_seconds = 0;
        double panel_row_seconds = 0;
        std::vector<TileQrSizes> tile_sizes;
        /// The tile form is faster, where the factors may have it, from so many rows for each column on.
        double tile_aspect = 0;
        /// Tile QR: from so many rows for each column on, so many tile rows are reduced by themselves, and their
        /// triangles by a binary tree.
        double domain_aspect = 0;
        Index domain_tiles = 1;
        /// Tall panels in LAPACK's form are reduced by a tree where each of their threads has so many bytes of them.
        double tree_bytes = 0;
        Index apply_rows = 1;  ///< of C that a task multiplies by Q from the right
        Index solve_rows = 1;  ///< as Lu's
    } qr;
};

/// How many GPUs share out tiles: these are halved until they are no wider than the widest, and then, down to the
/// smallest, until each GPU has so many tile columns. So all have work until the end, and none has many panels in a row
/// to factor while the others wait for it.
struct GpuDeal {
    Index tile_columns_a_gpu = 1;
    Index smallest_tile = 1;
    Index widest_tile = Index{1} << 20;
    /// Not of tiles: with fewer than so many columns times the number of GPUs left, the one of several GPUs that
    /// factors a panel updates nothing meanwhile. The panel is done sooner than beside an update, and the others wait
    /// for it less.
    Index panels_alone_below = 0;
};

/// Panels that GPUs factor beside updates get narrower, down to the narrowest, where fewer columns are left for each of
/// a panel's: the update then lasts no longer than the panel.
struct GpuNarrowing {
    Index left_a_panel_column = 1;
    Index narrowest_panel = 1;
};

/// Products in single precision are made by pieces (split_products of the options) from so many columns of the left
/// operand and so many multiplications on: below, getting the pieces takes longer than they save.
struct GpuSplitting {
    Index least_depth = 1;
    double least_multiplications = 0;
};

/// Default tiles of a column-major array in a GPU's memory that is factored there: halved from the usual ones, down to
/// the narrowest, until there are so many tile columns. One more than these is what it takes beside the array.
struct GpuInPlace {
    Index tile_columns = 1;
    Index narrowest_tile = 1;
};

/// Default tiles where a GPU's memory is short: halved, down to the narrowest, until the memory holds the GPU's share
/// of tile columns, or `enough` of them if it has more, so that some come and go beside those that are factored;
/// `fewest` at least.
struct GpuFitting {
    Index fewest = 1;
    Index enough = 1;
    Index narrowest_tile = 1;
};

/// Leaves of the recursion of a Cholesky panel, which one block of threads factors (Abdelfattah et al., section 6.3).
/// The kernels there are have 64 or 128 columns (rnb) and tiles of 16 or 32 (ib), whose inverses the rows below are
/// multiplied by; eliminated are 8 columns at once (kb), as tensor cores take them.
struct GpuCholeskyLeaf {
    int columns = 128;
    int tile = 32;

    friend bool operator==(const GpuCholeskyLeaf&, const GpuCholeskyLeaf&) = default;
};

/// What was measured on GPUs of one compute capability, with the links they usually have. Lists by size ascend.
struct GpuTuning {
    std::string architecture;  ///< "sm_90" for compute capability 9.0

    std::size_t blas_workspace_bytes = 0;  ///< of each cuBLAS handle
    double launch_seconds = 0;             ///< of a kernel

    /// Panels of LU factored beside updates. Tried in order: the first entry that reaches up to the panel's rows and
    /// that the GPU can run; kernels for each step where there is none.
    struct Panel {
        Index up_to = any_size;
        GpuPanelDesign design = GpuPanelDesign::steps;
        /// Thread blocks, one to a multiprocessor; of a cluster the next of 4, 8, 16. 0: as many as are good for the
        /// height.
        int blocks = 0;
        int leaf_width = 0;  ///< columns factored on chip; 0: as many as fit
        /// Design fused: taller leaves are factored by steps; 0: those that registers do not hold.
        Index tallest_leaf = 0;
        /// Where blocks are as many as are good: about so many rows to each, since fewer are not worth another one's
        /// company.
        Index rows_a_block = 128;
    };
    std::vector<Panel> panels;

    GpuFitting fitting;

    struct Links {
        /// What a chunk of a broadcast costs beside its bytes, in bytes that the link moves meanwhile: between two
        /// GPUs, and from the host.
        double peer_chunk_bytes = 0;
        double host_chunk_bytes = 0;
        double host_bytes_a_second = 1;     ///< between pinned memory of the host and one GPU
        std::size_t least_ring_bytes = 0;   ///< smaller buffers go from the source to each GPU
        std::size_t least_share_bytes = 0;  ///< smaller shares of a buffer on the host do not go round a ring of GPUs
        std::size_t stripe_bytes = 1;       ///< at most, of a matrix on its way between host and GPU
        std::size_t stripes_of_memory = 4;  ///< at least, that a GPU's memory has room for; four are there at once

        /// Kernels that pass on what goes round a ring of GPUs with nothing to compute; others get copies in chunks.
        struct Relay {
            int blocks = 0;                ///< of the kernel of each GPU; 0: always copies
            int warps = 1;                 ///< of a block
            std::size_t piece_bytes = 16;  ///< what a warp passes on at once, rounded up to 16

            friend bool operator==(const Relay&, const Relay&) = default;
        } relay;
    } links;

    struct Lu {
        std::vector<GpuSizes> sizes;  ///< tiles are squares
        GpuDeal deal;
        GpuInPlace in_place;
        GpuNarrowing narrowing;  ///< mode gpu
        GpuSplitting splitting;  ///< of updates
        /// Interchanges, solve and product for the next panel's columns are one kernel where at most so many rows are
        /// below the panel, if the GPU has it and it takes their shape; not with inverses, in TF32 or by pieces.
        /// 0: never.
        Index leading_rows = 0;
        /// One GPU, mode gpu, double precision: from this smaller dimension on panels make up blocks of so many
        /// columns, where LuOptions::coarse_width, which says what else it takes, is left to the library.
        struct Blocks {
            Index least_order = any_size;
            Index width = 1;
        } blocks;
        Index smallest_order = 0;  ///< below this smaller dimension the cores alone are faster
        double update_rate = 1;    ///< of the trailing update, operations a second
        /// Mode hybrid: panels are half as wide where fewer columns are left.
        Index narrow_hybrid_below = 0;
        Index narrowest_hybrid_panel = 1;  ///< then: those that would be narrower stay as they are
        /// Mode hybrid: with more columns for each GPU, panels are so wide.
        Index wide_hybrid_above = any_size;
        Index wide_hybrid_panel = 1;
    } lu;

    struct Cholesky {
        std::vector<GpuSizes> sizes;  ///< tiles' widths
        GpuDeal deal;
        GpuNarrowing narrowing;
        Index smallest_order = 0;  ///< below, the cores alone are faster
        /// Mode hybrid, operations a second: of the trailing update, and of the solution below a diagonal block of the
        /// cores'.
        double update_rate = 1;
        double solve_rate = 1;
        Index tile_height = 1;
        /// Products are made by pieces (CholeskyOptions::split_products) from this order of the matrix, this depth, and
        /// this smaller side of the result on: below, getting the pieces takes longer than they save.
        Index least_split_order = 0;
        Index least_split_depth = 1;
        Index least_split_side = 1;
        /// Products of fewer elements than a square of this order are made together where they are alike.
        Index batched_below = 1;
        GpuCholeskyLeaf leaf;
        /// Mode gpu: one kernel factors a matrix of at most this order, if its columns are in one tile column, as a
        /// panel, and on one GPU as many columns at the end of the last tile column of a larger one.
        Index fused_order = 0;
        /// From this order on, that kernel has operands in shared memory by 64 columns instead of 32: its products are
        /// faster, the chain of pivots slower.
        Index fused_wide_from = 0;
    } cholesky;

    struct Qr {
        std::vector<GpuSizes> sizes;  ///< tiles are squares, but no wider than the matrix
        GpuDeal deal;
        GpuNarrowing narrowing;  ///< mode gpu
        GpuSplitting splitting;  ///< of updates
        double least_work = 0;   ///< operations, below which the cores alone are faster
        double update_rate = 1;  ///< of the trailing update, operations a second
        /// Panels of so many rows have leaves of 128 columns instead of 64: passes over the rows between two halves
        /// cost more than what the wider leaf takes besides.
        Index wide_leaves_from = Index{1} << 40;
    } qr;
};

/// The entries that a Runtime works by. With GPUs of several kinds an algorithm goes by those of the first; kernels go
/// by those of their own GPU.
struct Tuning {
    CpuTuning cpu;
    GpuTuning gpu;
};

/// Entries for all architectures that there are measurements or estimates of.
struct TuningTables {
    std::vector<CpuTuning> cpus;
    std::vector<GpuTuning> gpus;

    /// What comes with the library.
    static const TuningTables& built_in();

    /// The entry of that name, or the nearest: of GPUs the highest capability below it, else the lowest there is; of
    /// CPUs the widest instruction set that is not wider. Throws UsageError where the table is empty.
    const CpuTuning& for_cpu(std::string_view architecture) const;
    const GpuTuning& for_gpu(std::string_view architecture) const;

    /// Throws UsageError for numbers out of range and for empty lists, naming entry, key, value and what is allowed;
    /// `origin` comes first in the message, e.g. "Config::tuning" or a file's name.
    void check(std::string_view origin) const;
};

/// The built-in tables with what a tuning file says in their place: JSON, {"cpu": {"avx512": {...}}, "gpu": {"sm_90":
/// {...}}} with the members of CpuTuning and GpuTuning by name. What an entry does not name stays; a list replaces the
/// whole list; an architecture without an entry gets one, made of the nearest. Throws UsageError for a file that cannot
/// be read and for names and values that are not allowed, naming file, key and what is.
TuningTables read_tuning_file(const std::string& path);

/// Writes the entries of `tables`, so that read_tuning_file() reads them. Throws std::runtime_error where the file
/// cannot be written.
void write_tuning_file(const std::string& path, const TuningTables& tables);

/// What the CPU kernels of this machine use, as CpuTuning::architecture names it.
const char* cpu_architecture();

}  // namespace basalt
