"""Who may include whom: every C++ file of the tree obeys DESIGN's rule, or this test names file and line.

usage: include_rule.py SOURCE_ROOT     check the tree
       include_rule.py --self-check    check that violations are detected
"""

import os
import re
import sys
import tempfile

# A folder may include its own files, <basalt/...>, system headers and the folders named here. Nobody may
# include tasks, schedulers or apps: what the runtime needs of them it declares itself.
MAY_INCLUDE = {
    "tiles": set(),
    "kernels": {"tiles"},
    "runtime": {"tiles"},
    "schedulers": {"runtime"},
    "io": {"tiles"},
    "tasks": {"tiles", "kernels", "runtime"},
    "apps": {"io"},
    "examples": set(),
    "bench": {"tiles", "kernels", "runtime", "io"},
    "tests": {"tiles", "kernels", "runtime", "io"},
}
PUBLIC = "include/basalt"
CODE = (".hpp", ".cpp", ".h", ".hh", ".c", ".cc", ".cu", ".cuh", ".inc")
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')

STANDARD = set("""
algorithm any array atomic barrier bit bitset cassert cctype cerrno cfenv cfloat charconv chrono cinttypes climits
clocale cmath codecvt compare complex concepts condition_variable coroutine csetjmp csignal cstdarg cstddef cstdint
cstdio cstdlib cstring ctime cuchar cwchar cwctype deque exception execution filesystem format forward_list fstream
functional future initializer_list iomanip ios iosfwd iostream istream iterator latch limits list locale map memory
memory_resource mutex new numbers numeric optional ostream queue random ranges ratio regex scoped_allocator semaphore
set shared_mutex source_location span sstream stack stdexcept stop_token streambuf string string_view strstream
syncstream system_error thread tuple type_traits typeindex typeinfo unordered_map unordered_set utility valarray
variant vector version
""".split())


def folder_of(path):
    """The folder of the rule that a file belongs to, or None where the rule has no place for it."""
    if path.startswith(PUBLIC + "/"):
        return PUBLIC
    top = path.split("/")[0]
    return top if "/" in path and top in MAY_INCLUDE else None


def complaint(folder, style, target):
    """Why a file of `folder` may not include `target`, or None where it may."""
    if target.startswith("basalt/"):
        return None
    top = target.split("/")[0]
    if folder == PUBLIC:
        return None if style == "<" and target in STANDARD else "a public header includes only the standard library"
    if "/" in target and top in MAY_INCLUDE:
        return None if top == folder or top in MAY_INCLUDE[folder] else f"{folder} may not include {top}"
    if style == '"':
        return "a quoted include is written from the root of the tree"
    return None


def violations(root):
    for directory, folders, files in os.walk(root):
        if directory == root:
            folders[:] = [name for name in folders if not name.startswith((".", "build"))]
        for name in sorted(files):
            if not name.endswith(CODE):
                continue
            path = os.path.relpath(os.path.join(directory, name), root).replace(os.sep, "/")
            folder = folder_of(path)
            if folder is None:
                yield f"{path}: lies in no folder of the rule"
                continue
            with open(os.path.join(root, path), encoding="utf-8") as lines:
                for number, line in enumerate(lines, 1):
                    found = INCLUDE.match(line)
                    why = found and complaint(folder, *found.groups())
                    if why:
                        yield f'{path}:{number}: {line.strip()}: {why}'


def self_check():
    """Each wrong file must be detected when it stands alone, and each right one must pass."""
    wrong = [
        ("include/basalt/a.hpp", "#include <tbb/task_arena.h>"),
        ("include/basalt/a.hpp", "#include <cuda_runtime.h>"),
        ("include/basalt/a.hpp", '#include "tiles/grid.hpp"'),
        ("tiles/a.cpp", '#include "kernels/gemm.hpp"'),
        ("tiles/a.cpp", "#include <runtime/engine.hpp>"),
        ("tiles/a.cpp", '#include "grid.hpp"'),
        ("kernels/cuda/a.cu", '#include "runtime/engine.hpp"'),
        ("runtime/device/a.cpp", '#include "schedulers/fifo.hpp"'),
        ("runtime/a.cpp", '  #  include "kernels/gemm.hpp"'),
        ("schedulers/a.cpp", '#include "tiles/grid.hpp"'),
        ("io/a.cpp", '#include "runtime/engine.hpp"'),
        ("tasks/a.cpp", '#include "io/json.hpp"'),
        ("apps/a.cpp", '#include "tasks/lu.hpp"'),
        ("examples/a.cpp", '#include "io/json.hpp"'),
        ("bench/a.cpp", '#include "apps/options.hpp"'),
        ("tests/a.cpp", '#include "tasks/lu.hpp"'),
        ("extra/a.cpp", "#include <vector>"),
        ("a.cpp", "#include <vector>"),
    ]
    right = [
        ("include/basalt/a.hpp", "#include <vector>\n#include <basalt/view.hpp>"),
        ("tiles/a.cpp", '#include "tiles/grid.hpp"\n#include "basalt/view.hpp"\n#include <cblas.h>'),
        ("kernels/cpu/a.cpp", '#include "tiles/grid.hpp"\n#include "kernels/cpu/gemm.hpp"'),
        ("runtime/a.cpp", '#include "tiles/grid.hpp"\n#include <tbb/concurrent_queue.h>'),
        ("schedulers/a.cpp", '#include "runtime/engine.hpp"\n#include "schedulers/queue.hpp"'),
        ("tasks/a.cpp", '#include "tiles/grid.hpp"\n#include "kernels/gemm.hpp"\n#include "runtime/engine.hpp"'),
        ("apps/a.cpp", '#include "io/json.hpp"\n#include <CLI/CLI.hpp>'),
        ("tests/a.cpp", '#include "tests/catch.hpp"\n#include "io/json.hpp"'),
        ("build-tsan/a.cpp", '#include "anything.hpp"'),
    ]
    failures = []
    for expected, cases in ((True, wrong), (False, right)):
        for path, text in cases:
            with tempfile.TemporaryDirectory() as root:
                file = os.path.join(root, path)
                os.makedirs(os.path.dirname(file), exist_ok=True)
                with open(file, "w", encoding="utf-8") as out:
                    out.write(text + "\n")
                if bool(list(violations(root))) != expected:
                    failures.append(f"{'missed' if expected else 'wrongly reported'}: {path}: {text}")
    return failures


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    found = self_check() if sys.argv[1] == "--self-check" else list(violations(sys.argv[1]))
    for line in found:
        print(line)
    sys.exit(1 if found else 0)


main()
