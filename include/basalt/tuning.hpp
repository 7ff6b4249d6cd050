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

/// The size of a default entry in a list by size: used when no earlier entry matches.
inline constexpr Index any_size = std::numeric_limits<Index>::max();

/// Threads of a panel's gang: one for each `rows_a_thread` rows of the panel, at least 1 and at most `most`.
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

/// Two levels of blocking on cores: panels of up to `columns` columns in all update the columns on their right
/// together, where at least `left_a_column` columns are left for each of the panels' columns. A single panel may always
/// do so.
struct CoreDepth {
    Index columns = 1;
    Index left_a_column = 1;
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

/// Measurements on CPU cores with one instruction set. Lists by size ascend.
struct CpuTuning {
    std::string architecture;  ///< instruction set of the kernels: "avx512", "avx2" or "generic"

    /// Threads that together copy a matrix between two places of the host's memory.
    int copying_threads = 1;

    Index product_rows = 1;  ///< rows of a task that multiplies a tile column with a vector

    struct Lu {
        std::vector<CoreSizes> sizes;
        PanelTeam team;              ///< of a panel in mode cpu
        PanelTeam team_beside_gpus;  ///< of a panel in mode hybrid
        /// Mode hybrid: a column of a panel of r rows and nb columns takes panel_column_seconds +
        /// r nb panel_element_seconds. That includes its way to the GPUs and back.
        double panel_column_seconds = 0;
        double panel_element_seconds = 0;
        Index update_rows = 1;  ///< rows of a task that updates a lookahead column in mode hybrid
        /// Rows of a task that updates right-hand sides. Reading the factors takes most of its time.
        Index solve_rows = 1;
        /// Columns of a task that exchanges rows left of the panels: enough to move at the memory's speed, and few
        /// enough that all cores have a part of a wide panel. The tasks of the first tile columns go first, so that
        /// their readers need not wait for the others.
        Index interchanged_columns = 1;
        CoreDepth depth;
    } lu;

    struct Cholesky {
        std::vector<CoreSizes> sizes;
        /// Mode hybrid: a diagonal block of order nb takes diagonal_seconds, its ways from the GPU and back included,
        /// and nb^3 / 3 operations at diagonal_rate a second.
        double diagonal_seconds = 0;
        double diagonal_rate = 1;
        CoreDepth depth;
        /// Rows of a panel that a task solves for; more where there are fewer cores (CholeskyOptions::rows_on_cores).
        Index solve_rows = 1;
    } cholesky;

    struct Qr {
        std::vector<CoreSizes> sizes;
        PanelTeam team;
        /// While a panel is factored, half of the cores update if the matrix has more columns than this many panels.
        Index shared_panels = 1;
        /// Mode hybrid: a column of a panel of r rows takes panel_column_seconds + r panel_row_seconds, whatever the
        /// panel's width. That includes T and its way to the GPUs and back.
        double panel_column_seconds = 0;
        double panel_row_seconds = 0;
        std::vector<TileQrSizes> tile_sizes;
        /// With at least this many rows per column the tile form is faster, if the factors may have it.
        double tile_aspect = 0;
        /// Tile QR: with at least domain_aspect rows a column, each domain_tiles tile rows are reduced by themselves,
        /// and a binary tree reduces their triangles.
        double domain_aspect = 0;
        Index domain_tiles = 1;
        /// A tree reduces tall panels in LAPACK's form if each of their threads has at least this many bytes of them.
        double tree_bytes = 0;
        Index apply_rows = 1;  ///< rows of C that a task multiplies by Q from the right
        Index solve_rows = 1;  ///< as in Lu
    } qr;
};

/// Tiles for several GPUs. They are halved until they are no wider than widest_tile. Then they are halved, down to
/// smallest_tile, until each GPU has tile_columns_a_gpu tile columns. So all GPUs have work until the end, and no GPU
/// factors many panels in a row while the others wait.
struct GpuDeal {
    Index tile_columns_a_gpu = 1;
    Index smallest_tile = 1;
    Index widest_tile = Index{1} << 20;
    /// With fewer columns left than this number times the number of GPUs, a GPU that factors a panel updates nothing
    /// meanwhile. The panel is done sooner, and the others wait for it less.
    Index panels_alone_below = 0;
};

/// Panels that GPUs factor during updates get narrower, down to narrowest_panel, where fewer than left_a_panel_column
/// columns are left for each of a panel's columns: otherwise the panel would take longer than the update.
struct GpuNarrowing {
    Index left_a_panel_column = 1;
    Index narrowest_panel = 1;
};

/// Products in single precision use slices (ProductPrecision) if the left operand has at least least_depth columns and
/// there are at least least_multiplications multiplications. Smaller products save less time than it takes to compute
/// the slices.
struct GpuSplitting {
    Index least_depth = 1;
    double least_multiplications = 0;
};

/// Default tiles of a column-major array in a GPU's memory that is factored there. The usual tiles are halved, down to
/// narrowest_tile, until there are `tile_columns` tile columns. The only memory needed in addition to the array is one
/// more tile column.
struct GpuInPlace {
    Index tile_columns = 1;
    Index narrowest_tile = 1;
};

/// Default tiles where a GPU's memory is short. They are halved, down to narrowest_tile, until the memory holds the
/// GPU's share of tile columns and at least `fewest`. If the share is larger than `enough`, that number suffices: some
/// tile columns come and go while others are factored.
struct GpuFitting {
    Index fewest = 1;
    Index enough = 1;
    Index narrowest_tile = 1;
};

/// Leaves of the recursion of a Cholesky panel, each factored by one thread block (Abdelfattah et al., section 6.3).
/// There are kernels for 64 or 128 columns (rnb) and tiles of order 16 or 32 (ib). The rows below are multiplied by the
/// inverses of these tiles. 8 columns are eliminated at once (kb), as tensor cores take them.
struct GpuCholeskyLeaf {
    int columns = 128;
    int tile = 32;

    friend bool operator==(const GpuCholeskyLeaf&, const GpuCholeskyLeaf&) = default;
};

/// Columns of a panel of a batched factorization, by the matrices' order.
struct GpuBatchWidth {
    Index up_to = any_size;
    int width = 8;
};

/// Panels of batches of matrices of order 33 and more on GPUs (docs/decisions/0036-batch-tuner.md). There are kernels
/// for 8, 16 or 32 columns; for QR for 4, 8 or 16, above 128 rows not for 4, and above 256 rows for one width only. LU
/// of orders above 96, in double precision above 48, has one width. Cholesky has panels above order 96, in double
/// precision 64, and from 33 on where it factors and solves for several right-hand sides and discards the factor. Where
/// a list is empty: 8.
struct GpuBatchWidths {
    std::vector<GpuBatchWidth> cholesky_factor;
    std::vector<GpuBatchWidth> cholesky_both;  ///< factor and solve in one kernel
    std::vector<GpuBatchWidth> lu_factor;
    std::vector<GpuBatchWidth> qr_factor;
};

/// Measurements on GPUs of one compute capability, with their usual links. Lists by size ascend.
struct GpuTuning {
    std::string architecture;  ///< "sm_90" for compute capability 9.0

    std::size_t blas_workspace_bytes = 0;  ///< for each cuBLAS handle
    double launch_seconds = 0;             ///< of a kernel

    /// Panels of LU that are factored during updates: the first entry applies whose up_to is at least the panel's
    /// number of rows and whose design the GPU can run. Without such an entry: design steps.
    struct Panel {
        Index up_to = any_size;
        GpuPanelDesign design = GpuPanelDesign::steps;
        /// Thread blocks, one on a multiprocessor; for a cluster the next of 4, 8, 16. 0: by the panel's height.
        int blocks = 0;
        /// Columns factored on chip; 0: as many as fit, but at least 16 where `blocks` is not 0.
        int leaf_width = 0;
        /// Design fused: taller leaves are factored by steps; 0: leaves that do not fit into registers.
        Index tallest_leaf = 0;
        /// Where `blocks` is 0: about this many rows for a block. With fewer rows one block more gains nothing.
        Index rows_a_block = 128;
    };
    std::vector<Panel> panels;

    GpuFitting fitting;

    struct Links {
        /// The fixed cost of a chunk of a broadcast, in bytes that the link moves meanwhile: between two GPUs, and from
        /// the host.
        double peer_chunk_bytes = 0;
        double host_chunk_bytes = 0;
        double host_bytes_a_second = 1;     ///< between pinned memory of the host and one GPU
        double peer_bytes_a_second = 1;     ///< between two GPUs that reach each other
        std::size_t least_ring_bytes = 0;   ///< smaller buffers go from the source to each GPU
        std::size_t least_share_bytes = 0;  ///< smaller shares of a buffer on the host do not go round a ring of GPUs
        std::size_t stripe_bytes = 1;       ///< most bytes of a stripe of a matrix between host and GPU
        std::size_t stripes_of_memory = 4;  ///< at least this many fit into a GPU's memory; four are there at once

        /// Kernels that pass data on in a ring of GPUs that have nothing to compute. Other GPUs get copies in chunks.
        struct Relay {
            int blocks = 0;                ///< thread blocks of each GPU's kernel; 0: always copies
            int warps = 1;                 ///< of a thread block
            std::size_t chunk_bytes = 16;  ///< bytes that a warp passes on at once, rounded up to 16

            friend bool operator==(const Relay&, const Relay&) = default;
        } relay;
    } links;

    /// A matrix that is loaded from an array in the GPU's memory, or stored there. The first columns of a tile column
    /// arrive before the rest, so that a factorization can begin. Rows leave in parts, as they become final.
    struct Conversion {
        Index parts = 1;              ///< of a tile column; its first columns are one
        std::size_t least_bytes = 0;  ///< of a part
    } conversion;

    struct Lu {
        /// Tiles are squares; on one GPU they are about as high and wide, and fill the matrix.
        std::vector<GpuSizes> sizes;
        /// One GPU, mode gpu: a matrix that begins and ends in its memory has tiles of about this width, if that is
        /// more, up to that order. Larger ones may have to leave the GPU in part, by tile columns.
        struct Resident {
            Index tile = 1;
            Index up_to = any_size;
        } resident;
        GpuDeal deal;
        GpuInPlace in_place;
        GpuNarrowing narrowing;  ///< mode gpu
        GpuSplitting splitting;  ///< of updates, and of products inside panels
        /// With at most this many rows below the panel, one kernel makes interchanges, solve and product for the next
        /// panel's columns, if the GPU has it and it takes their shape. Not with inverses, in TF32 or by slices.
        /// 0: never.
        Index leading_rows = 0;
        /// With at least this many rows below the panel, interchanges and solves of an update run next to the leading
        /// update, and only its product waits for that. Not by slices, nor with blocks of panels.
        Index early_solves_from = any_size;
        /// One GPU, mode gpu, double precision: from this smaller dimension on, panels form blocks of `width` columns
        /// if LuOptions::coarse_width is left to the library; see there for the other conditions.
        struct Blocks {
            Index least_order = any_size;
            Index width = 1;
        } blocks;
        /// Where LuOptions::products is not given: two fp16 slices from this order on, below three bf16 slices, which
        /// are accurate whatever the scale of rows and columns (ProductPrecision).
        Index least_fp16_order = 0;
        /// Updates by slices solve at once with triangles of at most this order, and with larger ones by halves,
        /// between which there is a product by slices.
        Index solved_at_once = 1;
        /// Products by slices keep all multiprocessors until they end. While a panel is expected to be factored at the
        /// same time, they leave it some of them. 0 multiprocessors: none.
        struct PanelRoom {
            int multiprocessors = 0;
            double column_seconds = 0;  ///< a panel takes this for a column, and element_seconds for an element
            double element_seconds = 0;
            double multiplications_a_second = 1;  ///< of the products meanwhile
        } panel_room;
        Index smallest_order = 0;  ///< below this smaller dimension the cores alone are faster
        double update_rate = 1;    ///< of the trailing update, operations a second
        /// Mode hybrid: panels are half as wide where fewer columns are left.
        Index narrow_hybrid_below = 0;
        Index narrowest_hybrid_panel = 1;  ///< panels that would be narrower stay as they are
        /// Mode hybrid: with more columns for each GPU than wide_hybrid_above, panels have wide_hybrid_panel columns.
        Index wide_hybrid_above = any_size;
        Index wide_hybrid_panel = 1;
    } lu;

    struct Cholesky {
        std::vector<GpuSizes> sizes;  ///< tiles' widths
        GpuDeal deal;
        GpuNarrowing narrowing;
        Index smallest_order = 0;  ///< below, the cores alone are faster
        /// Mode hybrid, operations a second: of the trailing update, and of the solution below a diagonal block that
        /// cores have factored.
        double update_rate = 1;
        double solve_rate = 1;
        Index tile_height = 1;
        /// Products use slices (CholeskyOptions::products) from this order of the matrix, this depth and
        /// this smaller side of the result on. Smaller products save less time than it takes to compute the slices.
        Index least_split_order = 0;
        Index least_split_depth = 1;
        Index least_split_side = 1;
        /// Products in fp16 or bf16 take less time than their result takes from memory and back. From this order of the
        /// matrix on GPUs factor panels of wide_panel columns for them, so that there are fewer updates.
        Index wide_panels_from = any_size;
        Index wide_panel = 1;
        /// Equal products whose results are smaller than a square of this order are made in one batch.
        Index batched_below = 1;
        GpuCholeskyLeaf leaf;
        /// Mode gpu: one kernel factors a matrix of at most this order in one tile column. On one GPU it also factors
        /// as many columns at the end of the last tile column of a larger matrix.
        Index fused_order = 0;
        /// From this order on, that kernel has 64 columns of operands in shared memory instead of 32: its products are
        /// faster, the chain of pivots slower.
        Index fused_wide_from = 0;
        /// Left-looking, for a lower triangle in several tile columns that is on the GPU from the beginning: where the
        /// next panel's update has fewer multiplications than this, finished panels also update the columns of that
        /// last kernel while a panel is factored, as long as there are any. 0: never.
        double multiplications_during_panel = 0;
    } cholesky;

    struct Qr {
        std::vector<GpuSizes> sizes;  ///< tiles are squares, but no wider than the matrix
        GpuDeal deal;
        GpuNarrowing narrowing;  ///< mode gpu
        GpuSplitting splitting;  ///< of updates
        double least_work = 0;   ///< operations, below which the cores alone are faster
        double update_rate = 1;  ///< of the trailing update, operations a second
        /// From this number of rows on, panels have leaves of 128 columns instead of 64: the passes over the rows
        /// between two halves then cost more than a wider leaf.
        Index wide_leaves_from = Index{1} << 40;
    } qr;

    struct Batch {
        GpuBatchWidths single_precision;
        GpuBatchWidths double_precision;
    } batch;
};

/// The entries that a Runtime uses. With GPUs of several kinds, algorithms use the entries of the first GPU, and
/// kernels those of their own.
struct Tuning {
    CpuTuning cpu;
    GpuTuning gpu;
};

/// Entries for all architectures with measurements or estimates.
struct TuningTables {
    std::vector<CpuTuning> cpus;
    std::vector<GpuTuning> gpus;

    /// The tables that come with the library.
    static const TuningTables& built_in();

    /// The entry of that name, or the nearest one. For a GPU that is the highest capability below it, or else the
    /// lowest; for a CPU the widest instruction set that is not wider. Throws UsageError where the table is empty.
    const CpuTuning& for_cpu(std::string_view architecture) const;
    const GpuTuning& for_gpu(std::string_view architecture) const;

    /// Throws UsageError for numbers out of range and for empty lists, naming entry, key, value and what is allowed;
    /// `origin` comes first in the message, e.g. "Config::tuning" or a file's name.
    void check(std::string_view origin) const;
};

/// The built-in tables, with the values of a tuning file in place of theirs. The file is JSON, {"cpu": {"avx512":
/// {...}}, "gpu": {"sm_90": {...}}}, with the members of CpuTuning and GpuTuning by name. Members that an entry does
/// not name stay. A list replaces the whole list. An architecture without an entry gets one, made from the nearest.
/// Throws UsageError for a file that cannot be read and for names and values that are not allowed; the message gives
/// the file, the key and the allowed values.
TuningTables read_tuning_file(const std::string& path);

/// Writes the entries of `tables`, so that read_tuning_file() reads them. Makes missing folders. Throws
/// std::runtime_error if the file cannot be written.
void write_tuning_file(const std::string& path, const TuningTables& tables);

/// The instruction set of this machine's CPU kernels, as in CpuTuning::architecture.
const char* cpu_architecture();

}  // namespace basalt
