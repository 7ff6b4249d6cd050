"""Grids of kernels come from kernels/cuda/grids.hpp, which a test checks for huge matrices, or are constants.

usage: launches.py SOURCE_ROOT
"""

import os
import re
import sys

# kernel<<<GRID, ...: one block, blocks(...) of a Grid, or a number of blocks that the GPU's multiprocessors bound
LAUNCH = re.compile(r"<<<\s*([^<>]*?(?:<[^<>]*>[^<>]*?)*)>>>", re.S)
ALLOWED = re.compile(r"^(1|blocks|\w*::blocks\(.*|blocks\(.*|blocks_for\(.*|static_cast<unsigned>\(at_once\))$", re.S)


def first_argument(text):
    depth = 0
    for at, char in enumerate(text):
        depth += char in "([{"
        depth -= char in ")]}"
        if char == "," and depth == 0:
            return text[:at].strip()
    return text.strip()


def complaints(root):
    for directory, _, files in os.walk(os.path.join(root, "kernels", "cuda")):
        for name in sorted(files):
            if not name.endswith((".cu", ".cuh")):
                continue
            path = os.path.join(directory, name)
            with open(path, encoding="utf-8") as file:
                text = file.read()
            for launch in LAUNCH.finditer(text):
                grid = first_argument(launch.group(1))
                if not ALLOWED.match(grid):
                    line = text.count("\n", 0, launch.start()) + 1
                    yield f"{os.path.relpath(path, root)}:{line}: the grid '{grid}' is not of kernels/cuda/grids.hpp"
            for line, code in enumerate(text.split("\n"), 1):
                if "gridDim =" in code and not re.search(r"blocks\(|static_cast<unsigned>\(cols\)|\{blocks, rows", code):
                    yield f"{os.path.relpath(path, root)}:{line}: a grid that is not of kernels/cuda/grids.hpp"


def main():
    found = list(complaints(sys.argv[1]))
    print("\n".join(found) if found else "grids of all launches come from kernels/cuda/grids.hpp")
    return 1 if found else 0


sys.exit(main())
