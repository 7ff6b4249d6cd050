"""Every C++ and CUDA file of the repository has the layout of .clang-format.

usage: formatting.py SOURCE_ROOT CLANG_FORMAT    an empty CLANG_FORMAT, or another version than 14: skipped
"""

import re
import subprocess
import sys

VERSION = "14"
PATTERNS = ("*.cpp", "*.hpp", "*.cu", "*.cuh", "*.c", "*.h")


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    root, tool = sys.argv[1:]
    version = tool and subprocess.run([tool, "--version"], capture_output=True, text=True, check=True).stdout
    found = re.search(r"version (\d+)", version or "")
    if not found or found[1] != VERSION:
        print(f"skipped: clang-format {VERSION} is needed, here is {version.strip() or 'none'}")
        sys.exit(77)
    listed = subprocess.run(["git", "-C", root, "ls-files", "-z", "--cached", "--others", "--exclude-standard", *PATTERNS],
                            capture_output=True, text=True, check=False)
    if listed.returncode != 0:
        print("skipped: this is no git checkout")
        sys.exit(77)
    files = [name for name in listed.stdout.split("\0") if name]
    done = subprocess.run([tool, "--dry-run", "--Werror", *files], cwd=root, capture_output=True, text=True, check=False)
    print(done.stderr, end="")
    print(f"{len(files)} files checked")
    sys.exit(1 if done.returncode != 0 or not files else 0)


main()
