// bench_versus: compares a factorization of ours with the vendor library's, in turn in one process.
#include <charconv>
#include <cstdio>
#include <limits>
#include <map>
#include <set>
#include <stdexcept>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "bench/common/command_line.hpp"
#include "bench/vendor/vendor.hpp"
#include "bench/versus/cholesky.hpp"
#include "bench/versus/cholesky_gpu.hpp"
#include "bench/versus/lu.hpp"
#include "bench/versus/lu_gpu.hpp"
#include "bench/versus/qr.hpp"
#include "bench/versus/qr_gpu.hpp"

namespace {

using namespace bench;
using basalt::Index;

constexpr Index max_size = Index{1} << 27;

/// Reads "512x1024" or "auto"; returns false for other text.
bool read_tile(const std::string& text, basalt::TileShape& tile) {
    if (text == "auto") {
        tile = {};
        return true;
    }
    const auto cross = text.find('x');
    if (cross == text.npos) return false;
    const auto read = [](const char* begin, const char* end, Index& value) {
        const auto [stop, error] = std::from_chars(begin, end, value);
        return error == std::errc() && stop == end && 1 <= value && value <= max_size;
    };
    const char* begin = text.data();
    return read(begin, begin + cross, tile.height) && read(begin + cross + 1, begin + text.size(), tile.width);
}

std::string tile_complaint(const std::string& text) {
    basalt::TileShape tile;
    return read_tile(text, tile) ? std::string() : text + ": allowed are auto and HEIGHTxWIDTH, both from 1 to 1000000";
}

void add_options(const Command& command, VersusOptions& options, std::string& core) {
    command.add_option("--n", options.sizes, "columns; several: 4000,8000").list().range(Index{1}, max_size);
    command.add_option("--m", options.m, "rows (default: as --n)").range(Index{1}, max_size);
    command.add_option("--nb", options.nb, "panel width (default: by table)").range(Index{1}, max_size);
    command
        .add_option_function(
            "--tile", [&options](const std::string& text) { read_tile(text, options.tile); }, "default: by table")
        .check(tile_complaint, "HEIGHTxWIDTH");
    command.add_option("--precision", options.precision, "s or d").one_of({"s", "d"});
    command
        .add_option("--mode", options.mode,
                    "where it runs: cpu (compared with OpenBLAS), hybrid or gpu (compared with cuSOLVER)")
        .one_of({"cpu", "hybrid", "gpu"});
    command.add_option("--gpus", options.gpus, "hybrid and gpu: GPUs (default: all)").range(1, 8);
    command.add_option("--gpu-mem", options.gpu_memory, "hybrid and gpu: bytes of each GPU to use, 3G and the like")
        .byte_size(Kilo::is_1024);
    command
        .add_option("--data", options.data,
                    "hybrid and gpu: where the matrix lies before and after: host, device (GPU 0), or devices: columns "
                    "dealt to the GPUs")
        .one_of({"host", "device", "devices"});
    command.add_flag("--in-place", options.in_place,
                     "gpu and hybrid, LU with --data device: the array's memory becomes the tiles', no second matrix");
    command
        .add_option("--vendor", options.vendor,
                    "hybrid and gpu: auto (cuSOLVERMg on as many GPUs as ours where these are several, otherwise "
                    "cuSOLVER), cusolver (one GPU), cusolvermg or none")
        .one_of({"auto", "cusolver", "cusolvermg", "none"});
    command.add_flag_callback(
        "--no-vendor", [&options] { options.vendor = "none"; }, "as --vendor none");
    command
        .add_option("--vendor-block", options.vendor_blocks,
                    "columns of a block dealt to a GPU for cuSOLVERMg; several: the fastest (default: by routine)")
        .list()
        .range(Index{1}, max_size);
    command.add_flag("--single-update-task", options.single_update_task,
                     "hybrid and gpu: as in the paper, no leading column first");
    command.add_flag("--broadcast-from-host", options.broadcast_from_host,
                     "hybrid and gpu: send the panel to each GPU, without a ring of GPUs");
    const auto multiply = [&command, &options](const char* flag, basalt::ProductPrecision products, const char* text) {
        return command.add_flag_callback(
            flag, [&options, products] { options.products = products; }, text);
    };
    multiply("--plain-products", basalt::ProductPrecision::plain,
             "hybrid and gpu, precision s: plain products in place of slices");
    command.add_flag("!--one-width", options.narrow_at_end, "hybrid and gpu: panels of one width, also at the end");
    command
        .add_option("--coarse", options.coarse_width,
                    "gpu, LU: columns of a block whose panels update the rest of the matrix together (0: one level; "
                    "default: the library chooses)")
        .range(basalt::Index{0}, basalt::Index{1} << 30);
    // callbacks, because a flag's variable becomes 0 if the flag is not given
    const auto looking = [&command, &options](const char* flag, bool left, const char* text) {
        return command.add_flag_callback(
            flag, [&options, left] { options.left_looking = left; }, text);
    };
    looking("--left-looking", true,
            "gpu, Cholesky: a panel is updated by all earlier ones at once (default: the library chooses)")
        .excludes(looking("--right-looking", false, "gpu, Cholesky: a panel updates all columns to its right"));
    command.add_flag("--upper", options.upper,
                     "hybrid and gpu, Cholesky: read the array by rows, so that its lower triangle is the upper one");
    command
        .add_option("--gpu-panels-below", options.gpu_panels_below,
                    "hybrid: rows left from which on GPUs factor panels too; 0: never; default: the library chooses")
        .range(basalt::Index{0}, basalt::Index{1} << 30);
    command.add_flag("--rows-on-cores", options.rows_on_cores,
                     "hybrid, Cholesky: the cores solve for a panel's rows below the square that they factor");
    multiply("--tf32", basalt::ProductPrecision::tf32,
             "hybrid and gpu, --precision s: our trailing updates multiply in TF32");
    multiply("--split-bf16", basalt::ProductPrecision::split_bf16,
             "hybrid and gpu, --precision s: our updates multiply three bf16 slices of each number");
    multiply("--split-fp16", basalt::ProductPrecision::split_fp16,
             "hybrid and gpu, --precision s: our updates multiply two fp16 slices of each number");
    multiply("--bf16", basalt::ProductPrecision::bf16, "hybrid and gpu, --precision s: our updates multiply in bf16");
    multiply("--fp16", basalt::ProductPrecision::fp16, "hybrid and gpu, --precision s: our updates multiply in fp16");
    command.add_flag("--energy", options.energy, "hybrid and gpu: measure the energy of GPUs and processor packages");
    command.add_option("--tuning", options.tuning, "hybrid and gpu: file that overrides the tuning tables");
    command.add_option("--trace", options.trace, "hybrid and gpu: write the trace of the last run to this file");
    command.add_option("--cpus", options.threads, "threads of both sides (default: all cores)").range(1, 1024);
    command.add_option("--repeat", options.repeat, "rounds that count, at least 3 (default: 3, up to 15 of short runs)")
        .range(3, 1000);
    command.add_option("--panel-threads", options.panel_threads, "threads of a panel").range(1, 1024);
    command.add_option("--lookahead", options.lookahead, "panels ahead of the update").range(0, 1000);
    command.add_option("--seed", options.seed, "of the random matrix")
        .range(std::uint64_t{0}, std::numeric_limits<std::uint64_t>::max());
    command.add_option("--vendor-coretype", core,
                       "processor type whose kernels OpenBLAS uses, in our tasks too; auto: its own choice");
    command.add_option("--json", options.json, "append a record a size to this file; - for standard output");
}

/// Throws std::invalid_argument for an option that the chosen routine does not have.
void require_own_options(const Command& routine) {
    static const std::map<std::string, std::set<std::string>> routines_of = {{"--in-place", {"lu"}},
                                                                             {"--single-update-task", {"lu"}},
                                                                             {"--broadcast-from-host", {"lu"}},
                                                                             {"--coarse", {"lu"}},
                                                                             {"--tf32", {"lu"}},
                                                                             {"--panel-threads", {"lu", "qr"}},
                                                                             {"--upper", {"cholesky"}},
                                                                             {"--left-looking", {"cholesky"}},
                                                                             {"--right-looking", {"cholesky"}},
                                                                             {"--rows-on-cores", {"cholesky"}}};
    for (const auto& [option, routines] : routines_of) {
        if (!routine.has(option) || routines.contains(routine.name())) continue;
        throw std::invalid_argument(
            fmt::format("{}: not of {}; allowed with {}", option, routine.name(), fmt::join(routines, ", ")));
    }
}

}  // namespace

int main(int argc, char** argv) {
    CommandLine app("Compares ours with the vendor library, in turn in one process", "bench_versus");
    app.require_subcommand();
    VersusOptions options;
    std::string core;
    add_options(
        app.add_subcommand("lu", "LU with partial pivoting, compared with OpenBLAS's or cuSOLVER's getrf and gemm"),
        options, core);
    const Command qr = app.add_subcommand("qr", "QR, compared with OpenBLAS's or cuSOLVER's geqrf and gemm");
    add_options(qr, options, core);
    qr.add_option("--method", options.method, "cpu: blocked (LAPACK's form), tile, or auto: by shape")
        .one_of({"blocked", "tile", "auto"});
    const Command cholesky =
        app.add_subcommand("cholesky", "Cholesky, compared with OpenBLAS's or cuSOLVER's potrf and gemm");
    add_options(cholesky, options, core);
    return app.run_program(argc, argv, [&] {
        if (!core.empty()) require_vendor_core(core, argv);
        require_own_options(app.subcommand());
        if (options.in_place && (options.mode == "cpu" || options.data != "device")) {
            throw std::invalid_argument("--in-place: allowed with lu, --mode gpu or hybrid, and --data device");
        }
        if (qr.parsed() && options.vendor == "cusolvermg") {
            throw std::invalid_argument("--vendor cusolvermg: it offers no QR; allowed with qr: auto, cusolver, none");
        }
        if (options.method == "tile" && options.mode != "cpu") {
            throw std::invalid_argument("--method tile: allowed with --mode cpu");
        }
        if (qr.parsed()) return options.mode == "cpu" ? versus_qr(options) : versus_qr_gpu(options);
        if (cholesky.parsed()) return options.mode == "cpu" ? versus_cholesky(options) : versus_cholesky_gpu(options);
        if (options.mode != "cpu") return versus_lu_gpu(options);
        return versus_lu(options);
    });
}
