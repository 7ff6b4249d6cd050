#!/usr/bin/env python3
"""Tabulates the compiled kernels of batches for a GPU of capability 9.0: registers, spills, shared memory, occupancy and
bytes moved against the least. Registers, spills and shared memory are what the compiler (ptxas -v) says.

usage: kernel_table.py [--nvcc NVCC] [--logs FOLDER] [--write]
    --logs    reads what the compiler said in an earlier run from FOLDER, and puts what is missing there
    --write   rewrites docs/batch-kernels.md instead of printing
    --check   compares the names of kernels in docs/batch-kernels.md with the sources, and asks that none on the page
              spills; compiles nothing
"""

import argparse
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "batch-kernels.md"
SOURCES = ("cholesky_float", "cholesky_double", "lu_float", "lu_double", "qr_float", "qr_double")
REGISTERS, SHARED, THREADS, BLOCKS, RESERVED = 65536, 228 * 1024, 2048, 32, 1024  # of a multiprocessor
RESIDENCES = ("lanes", "shared", "global", "tiles")  # of kernels/cuda/batch/choices.hpp
LAYOUTS = ("uniform", "list")  # of kernels/cuda/batch/lu_launch.cuh
PIVOTING = ("none", "partial")  # of kernels/cuda/batch/choices.hpp
ENTRY = re.compile(r"Compiling entry function '(\w+)' for 'sm_90'.*?(\d+) bytes spill stores, (\d+) bytes spill loads.*?"
                   r"Used (\d+) registers([^\n]*)", re.S)
NAME = re.compile(r"::(\w+_kernel)<(.*)>\(basalt|::(\w+_kernel)<(.*)>\(")
HEAD = """# Kernels of batches on GPUs

Every kernel that the library has for batches, compiled for capability 9.0. `bench/batch/kernel_table.py --write` makes this
page from what the compiler says (`ptxas -v`), and no number on it was measured on a GPU.

- *order*: the order of matrices that threads, shared memory, occupancy and moved bytes are given for: the largest one of
  kernels in lanes, and a typical one of others.
- *spills*: bytes that a thread stores to and loads from local memory because registers are short.
- *shared*: bytes of a block.
- *occupancy*: warps that a multiprocessor holds at once, of 64.
- *moved*: elements that a matrix moves between the multiprocessor and the second cache, over the least: each element that
  is needed read once, each result written once. Finished panels that shared memory does not hold are read again, mostly
  from the second cache.
"""


def log_of(source, nvcc, logs):
    kept = logs / f"{source}.log" if logs else None
    if kept and kept.exists():
        return kept.read_text()
    command = [nvcc, "-std=c++20", "-O3", "-DBASALT_HAVE_CUDA", "-DNDEBUG", "--expt-relaxed-constexpr", f"-I{ROOT}",
               f"-I{ROOT / 'include'}", "-arch=sm_90", "-Xptxas", "-v", "-cubin", "-o", "/dev/null",
               str(ROOT / "kernels" / "cuda" / "batch" / f"{source}.cu")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(done.stderr)
    if kept:
        logs.mkdir(exist_ok=True)
        kept.write_text(done.stderr)
    return done.stderr


def parameters_of(text):
    """From "SmallShape<float, 4>, 1, float" the numbers and words that tell kernels apart, and the precision."""
    text = re.sub(r"basalt::cuda_detail::batch::(?:Small|Triangle)Shape<\w+, (\d+)(?:, \d+)?>", r"\1", text)
    text = re.sub(r"\(?basalt::on_stream::\(anonymous namespace\)::Layout\)?(\d)", lambda found: LAYOUTS[int(found[1])],
                  text)
    text = re.sub(r"\(?basalt::cuda_detail::batch::Pivoting\)?(\d)", lambda found: PIVOTING[int(found[1])], text)
    text = re.sub(r"\(?basalt::cuda_detail::batch::Residence\)?(\d)", lambda found: RESIDENCES[int(found[1])], text)
    parts = [part.strip().strip("()") for part in text.split(",")]
    return [part for part in parts if part not in ("float", "double")], parts[-1]


def kernels_in(log):
    """(name, template arguments, precision, registers, spilled bytes, static shared memory) of each kernel."""
    found = ENTRY.findall(log)
    names = subprocess.run(["c++filt"], input="\n".join(entry[0] for entry in found), capture_output=True, text=True,
                           check=True).stdout.splitlines()
    for (_, stored, loaded, registers, rest), plain in zip(found, names):
        match = NAME.search(plain)
        name, arguments = match.group(1) or match.group(3), match.group(2) or match.group(4)
        if name == "initial_info_kernel":  # looks at a list, not at matrices
            continue
        parameters, precision = parameters_of(arguments)
        static = re.search(r"(\d+) bytes smem", rest)
        yield (name, parameters, precision, int(registers), int(stored) + int(loaded),
               int(static.group(1)) if static else 0)


def whole(n, unit):
    return -(-n // unit) * unit


def packed(order, width):
    panels = order // width
    return width * (panels * order - width * (panels * (panels - 1) // 2))


def panels(n, width):
    return -(-n // width)


def cholesky_launch(name, parameters, size):
    """(order, threads, dynamic shared memory, moved over the least) of a kernel by panels."""
    numbers = [int(p) for p in parameters if p.isdigit()]
    stored = parameters[0] != "global"
    solves = name == "panels_solve_kernel"  # for one right-hand side; the number is the most threads
    width, sides = 8 if solves else numbers[0], 1 if solves else numbers[1] if len(numbers) > 1 else 0
    stored = stored and not solves
    n = numbers[0] if solves else 128 if stored else 256
    order = whole(n, width)
    shared = 16 + size * (width * width + sides * order + (packed(order, width) if stored else 0))
    triangle = n * (n + 1) / 2
    again = 0
    if not stored and name == "panels_factor_kernel":  # each panel reads the rows below its first one of those before
        again = sum(p * width * (n - p * width) for p in range(panels(n, width)))
        return n, whole(order, 32), shared, (2 * triangle + again) / (2 * triangle)
    if not stored:  # forwards and backwards
        return n, whole(order, 32), shared, (2 * triangle + 2 * n * sides) / (triangle + 2 * n * sides)
    return n, whole(order, 32), shared, 1


def tiles_shared(n, columns, size):
    """Bytes of SharedRows, and of the columns of warps (tile_rows.hpp)."""
    rows = n // 8 * (columns * 8 + 8) if size == 8 else n * (columns + 4)
    return rows * size, n // 32 * (64 // size) * 36 * size


def tiles_launch(name, parameters, size):
    """The same of a kernel by tiles; one that solves, for one tile of right-hand sides."""
    n, tile = 256, 64 // size
    if name == "tiles_factor_kernel":  # panels of 32 columns, each with the rows of its square once more
        n = int(parameters[0])
        shared = (3 * 64 + 2 * 32 * 32 + 24 * 32) * size + 16
        again = sum(j * (n - j + 32) for j in range(0, n, 32))
        return n, n, shared, (n * (n + 1) + again) / (n * (n + 1))
    if name == "lu_tiles_factor_kernel":
        width, panels_of = 4 * tile, n // (4 * tile)
        rows, columns = tiles_shared(n, width, size)
        shared = rows + columns + n * tile * size + 32 * 80 + (2 * n + 20) * 4 + panels_of * n * 2
        again = sum((panels_of - 1 - q) * (n - (q + 1) * width) * width for q in range(panels_of))
        reordered = sum(2 * (n - (q + 1) * width) * width for q in range(panels_of))
        return n, n, shared, (2 * n * n + again + reordered) / (2 * n * n)
    rows, columns = tiles_shared(tile, tile, size)
    shared = 16 + (n * tile + 2 * n) * size + 2 * rows + (tiles_shared(n, tile, size)[1] if size == 4 else 0)
    triangle = n * n if name.startswith("lu") else n * (n + 1) / 2
    read = n * n if name.startswith("lu") else 2 * triangle
    return n, n, shared, (read + 2 * n * tile) / (triangle + 2 * n * tile)


def lu_launch(name, parameters, size):
    if name == "lu_block_factor_kernel":
        resident, most, width = parameters[1] == "shared", int(parameters[2]), int(parameters[4])
        n = (96 if size == 4 else 48) if resident else most
        order = whole(n, width)
        elements = order * width + 2 * width * width + 2 * width + 32 + (order * order if resident else 0)
        again = 0 if resident else n * width * panels(n, width) * (panels(n, width) - 1) / 2 + 2 * n * n
        return n, whole(n, 32), whole(elements * size + 36 * 4, 16), (2 * n * n + again) / (2 * n * n)
    n = 128
    sides = 1 if name == "lu_block_solve_kernel" else 8
    shared = whole(n, 32) * (sides * size + 4)
    moved = 1 if name == "lu_block_solve_kernel" else (n / sides * n * n + n * n) / (2 * n * n)
    return n, whole(n, 32), shared, moved


def qr_launch(name, parameters, size):
    width, parts = int(parameters[0]), int(parameters[1])
    n = 32 * parts
    elements = n * width + width * width + 32 * width + 3 * width + (2 * n if name == "qr_block_wide_kernel" else 0)
    trailing = sum(2 * n * (n - (p + 1) * width) for p in range(n // width))
    if name == "qr_block_form_kernel":  # the columns from the panel on, of which new ones are only written
        trailing = sum(2 * n * (n - (p + 1) * width) for p in range(n // width - 1)) + n * n
    return n, n, whole(elements * size, 16), (2 * n * n + trailing) / (2 * n * n)


def launch_of(name, parameters, size):
    if "small" in name or name.startswith("lanes"):
        order = int(parameters[0])
        return order, 64 if order <= 32 else 32, 0, 1
    if "tiles" in name:
        return tiles_launch(name, parameters, size)
    if name.startswith("panels"):
        return cholesky_launch(name, parameters, size)
    return lu_launch(name, parameters, size) if name.startswith("lu") else qr_launch(name, parameters, size)


def occupancy(threads, registers, shared):
    warps = whole(threads, 32) // 32
    blocks = min(BLOCKS, THREADS // threads, REGISTERS // (whole(registers * 32, 256) * warps),
                 SHARED // (shared + RESERVED))
    return blocks * warps


def table(rows):
    lines = ["| kernel | order | registers | spills | threads | shared | occupancy | moved |",
             "|---|---|---|---|---|---|---|---|"]
    for name, parameters, _, registers, spills, static, size in rows:
        order, threads, dynamic, moved = launch_of(name, parameters, size)
        shared = static + dynamic
        lines.append(f"| `{name}<{', '.join(parameters)}>` | {order} | {registers} | {spills} | {threads} | {shared} | "
                     f"{occupancy(threads, registers, shared)} of 64 | {moved:.2f} |")
    return "\n".join(lines)


def page(nvcc, logs):
    text, spilling = HEAD, []
    for source in SOURCES:
        routine, precision = source.split("_")
        size = 4 if precision == "float" else 8
        rows = sorted((*kernel, size) for kernel in kernels_in(log_of(source, nvcc, logs)))
        rows.sort(key=lambda row: (row[0], [p.zfill(4) for p in row[1]]))
        spilling += [f"`{row[0]}<{', '.join(row[1])}>` in {precision} ({row[4]} bytes)" for row in rows if row[4]]
        title = {"cholesky": "Cholesky", "lu": "LU", "qr": "QR"}[routine]
        text += f"\n## {title}, {precision}\n\n{table(rows)}\n"
    return text + f"\nSpilling: {', '.join(spilling) or 'none'}.\n"


def kernels_of_sources():
    text = "\n".join(path.read_text() for path in sorted((ROOT / "kernels" / "cuda" / "batch").glob("*launch.cuh")))
    return set(re.findall(r"__launch_bounds__\([^;{]*?\)\s+(\w+_kernel)\(", text))


def check():
    rows = re.findall(r"^\| `((\w+_kernel)<.*?)` \|[^|]*\|[^|]*\| (\d+) \|", PAGE.read_text(), re.M)
    on_page, in_sources = {name for _, name, _ in rows}, kernels_of_sources()
    spilling = [f"{kernel} spills {spilled} bytes" for kernel, _, spilled in rows if spilled != "0"]
    for line in spilling:
        print(line)
    for name in sorted(on_page ^ in_sources):
        print(f"{name}: only in {'the page' if name in on_page else 'the sources'}; kernel_table.py --write")
    print(f"{len(in_sources)} kernels in the sources, {len(on_page)} on the page")
    return 1 if on_page != in_sources or not in_sources or spilling else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--nvcc", default="/usr/local/cuda/bin/nvcc")
    parser.add_argument("--logs", type=pathlib.Path)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    if options.check:
        sys.exit(check())
    text = page(options.nvcc, options.logs)
    if options.write:
        PAGE.write_text(text)
    else:
        print(text)


if __name__ == "__main__":
    main()
