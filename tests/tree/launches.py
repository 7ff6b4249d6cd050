"""Grids of kernels come from kernels/cuda/grids.hpp, which a test checks for huge matrices, or are bounded.

usage: launches.py SOURCE_ROOT
       launches.py --self-check    plants launches and looks for those that are wrong
"""

import os
import re
import sys
import tempfile

# What a kernel<<<GRID, ...>>> or a cudaLaunchConfig_t is in.
ENDINGS = (".cu", ".cuh")
LAUNCH = re.compile(r"<<<\s*([^<>]*?(?:<[^<>]*>[^<>]*?)*)>>>", re.S)
# One block, blocks(...) of a Grid, or a number of blocks that the GPU's multiprocessors bound.
ALLOWED = re.compile(r"^(1|blocks|\w*::blocks\(.*|blocks\(.*|blocks_for\(.*|static_cast<unsigned>\(at_once\))$", re.S)
# A number of blocks that a tuning field bounds: the file that launches, and the field's line in base/tuning_fields.hpp.
BOUNDED = {
    "static_cast<unsigned>(shape.blocks)":
        ("runtime/device/cuda_relay_kernel.cu", re.compile(r'v\.number\("blocks", relay\.blocks, 0, (\d+)\);')),
}
MOST_BLOCKS = 65535  # in y and z, and far below the limit in x


def first_argument(text):
    depth = 0
    for at, char in enumerate(text):
        depth += char in "([{"
        depth -= char in ")]}"
        if char == "," and depth == 0:
            return text[:at].strip()
    return text.strip()


def cuda_files(root):
    for directory, inner, files in os.walk(root):
        inner[:] = sorted(name for name in inner if not name.startswith((".", "build")))
        for name in sorted(files):
            if name.endswith(ENDINGS):
                yield os.path.join(directory, name)


def is_bounded(root, name, grid):
    file, field = BOUNDED.get(grid, (None, None))
    if file != name:
        return False
    with open(os.path.join(root, "base/tuning_fields.hpp"), encoding="utf-8") as fields:
        limit = field.search(fields.read())
    return limit is not None and int(limit[1]) <= MOST_BLOCKS


def complaints(root):
    for path in cuda_files(root):
        name = os.path.relpath(path, root)
        with open(path, encoding="utf-8") as file:
            text = file.read()
        for launch in LAUNCH.finditer(text):
            grid = first_argument(launch.group(1))
            if not ALLOWED.match(grid) and not is_bounded(root, name, grid):
                line = text.count("\n", 0, launch.start()) + 1
                yield f"{name}:{line}: the grid '{grid}' is not of kernels/cuda/grids.hpp, nor bounded by a tuning field"
        for line, code in enumerate(text.split("\n"), 1):
            if "gridDim =" in code and not re.search(r"blocks\(|static_cast<unsigned>\(cols\)|\{blocks, rows", code):
                yield f"{name}:{line}: a grid that is not of kernels/cuda/grids.hpp"


def found_in(files):
    """What is reported in a tree of these files, by path."""
    with tempfile.TemporaryDirectory() as root:
        for path, text in files.items():
            os.makedirs(os.path.join(root, os.path.dirname(path)), exist_ok=True)
            with open(os.path.join(root, path), "w", encoding="utf-8") as file:
                file.write(text)
        return list(complaints(root))


def self_check():
    fields, relay = "base/tuning_fields.hpp", "runtime/device/cuda_relay_kernel.cu"
    limit, launch = 'v.number("blocks", relay.blocks, 0, {});', "relay<<<static_cast<unsigned>(shape.blocks), 32, 0, stream>>>(hop);"
    right = (
        {"kernels/cuda/a.cu": "kernel<<<blocks(copy_grid(rows, cols)), 128, 0, native(stream)>>>(a);"},
        {"tests/devices/a.cu": "kernel<<<1, 1>>>();"},
        {"build/a.cu": "kernel<<<rows, 1>>>();"},
        {relay: launch, fields: limit.format(1024)},
    )
    wrong = (
        {"kernels/cuda/a.cu": "kernel<<<static_cast<unsigned>(rows / 8), 128, 0, native(stream)>>>(a);"},
        {"runtime/device/a.cu": "kernel<<<rows, 1>>>();"},
        {"bench/streams/a.cuh": "    shape.gridDim = dim3(rows);"},
        {relay: launch, fields: limit.format(100000)},
        {relay: launch, fields: ""},
        {"runtime/device/a.cu": launch, fields: limit.format(1024)},
    )
    return ([f"wrongly reported: {files}" for files in right if found_in(files)] +
            [f"missed: {files}" for files in wrong if not found_in(files)])


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    found = self_check() if sys.argv[1] == "--self-check" else list(complaints(sys.argv[1]))
    print("\n".join(found) if found else "the grids of all launches are those of kernels/cuda/grids.hpp or bounded")
    sys.exit(1 if found else 0)


main()
