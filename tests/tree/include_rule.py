"""Every C++ file includes only from the folders that MAY_INCLUDE allows; otherwise this test names file and line.
Includes form no circles: neither between files, where a header and its source count as one, nor between the folders of
runtime.

usage: include_rule.py SOURCE_ROOT     check the tree
       include_rule.py --self-check    check that violations are detected
"""

import os
import re
import sys
import tempfile

# A folder may include its own files, <basalt/...>, system headers and the folders named here. A file belongs to the
# innermost folder of this table around it. No folder includes the factorizations (except their tests), schedulers or
# apps; the runtime declares the interfaces through which it calls them.
_BELOW_TASKS = {"base", "tiles", "kernels", "runtime"}
_FACTORIZATION = _BELOW_TASKS | {"tasks/choices", "tasks/on_gpus", "tasks/matrix"}
_TASKS = _FACTORIZATION | {"tasks/lu", "tasks/cholesky", "tasks/qr", "tasks/batch", "tasks/mixed"}
MAY_INCLUDE = {
    "base": set(),
    "tiles": {"base"},
    "kernels": {"base", "tiles"},
    "runtime": {"base", "tiles"},
    "schedulers": {"base", "runtime"},
    "io": {"base", "tiles"},
    "tuner": {"base", "kernels", "io"},
    "tasks/choices": _BELOW_TASKS,
    "tasks/batch": _BELOW_TASKS | {"tasks/choices"},
    "tasks/on_gpus": _BELOW_TASKS | {"tasks/choices"},
    "tasks/matrix": _BELOW_TASKS | {"tasks/choices", "tasks/on_gpus"},
    "tasks/lu": _FACTORIZATION,
    "tasks/cholesky": _FACTORIZATION,
    "tasks/qr": _FACTORIZATION,
    "tasks/mixed": _FACTORIZATION | {"tasks/lu"},  # whose panels it looks at, and whose factors it solves with
    "apps": {"base", "io", "tuner"},
    "lapack": set(),
    "capi": {"base", "tiles", "kernels", "io"},
    "python": set(),
    "examples": set(),
    "bench": {"base", "tiles", "kernels", "runtime", "io"},
    "tests": {"base", "tiles", "kernels", "runtime", "io", "tuner", "tests/tasks"},
    "tests/lapack": {"base", "tiles", "kernels", "runtime", "io", "lapack", "tests", "tests/tasks"},
    "tests/model": {"base", "runtime", "schedulers", "tests"},
    "tests/tasks": _TASKS | {"tests"},
    "tests/bench": {"base", "tiles", "kernels", "runtime", "io", "bench"},
}
TOPS = {folder.split("/")[0] for folder in MAY_INCLUDE}
PUBLIC = "include/basalt"
CODE = (".hpp", ".cpp", ".h", ".hh", ".c", ".cc", ".cu", ".cuh", ".inc")
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')

STANDARD_C = {"stdbool.h", "stddef.h", "stdint.h"}  # of basalt.h and its parts
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
    """The innermost folder of the rule around a file, or None where the rule has no place for it."""
    folder = os.path.dirname(path)
    while folder and folder != PUBLIC and folder not in MAY_INCLUDE:
        folder = os.path.dirname(folder)
    return folder or None


def complaint(folder, style, target, path=""):
    """Why a file of `folder` may not include `target`, or None where it may."""
    if target.startswith("basalt/"):
        return None
    if folder == PUBLIC and path.endswith(".h"):
        return None if style == "<" and target in STANDARD_C else "the C header includes only C's headers of types"
    if folder == PUBLIC:
        return None if style == "<" and target in STANDARD else "a public header includes only the standard library"
    if target.split("/")[0] in TOPS and "/" in target:
        target_folder = folder_of(target)
        allowed = target_folder == folder or target_folder in MAY_INCLUDE[folder]
        return None if allowed else f"{folder} may not include {target_folder or target}"
    if style == '"':
        return "a quoted include is written from the root of the tree"
    return None


def code_files(root):
    """Paths of all C++ files, relative to the root."""
    for directory, folders, files in os.walk(root):
        if directory == root:
            folders[:] = [name for name in folders if not name.startswith((".", "build"))]
        for name in sorted(files):
            if name.endswith(CODE):
                yield os.path.relpath(os.path.join(directory, name), root).replace(os.sep, "/")


def includes(root, path):
    """Each include of a file: line number, line, style and target."""
    with open(os.path.join(root, path), encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            found = INCLUDE.match(line)
            if found:
                yield number, line.strip(), *found.groups()


def violations(root):
    for path in code_files(root):
        folder = folder_of(path)
        if folder is None:
            yield f"{path}: lies in no folder of the rule"
            continue
        for number, line, style, target in includes(root, path):
            why = complaint(folder, style, target, path)
            if why:
                yield f"{path}:{number}: {line}: {why}"


def component_of(path):
    """A header and its source are one: neither can be understood, or replaced, without the other."""
    return os.path.splitext(path)[0]


def room_of(path):
    """The folder of runtime that a file lies in; None elsewhere."""
    folder = os.path.dirname(path)
    return folder if (folder + "/").startswith("runtime/") else None


def include_graph(root, node_of):
    """Which node includes which, and the first include that says so, where node_of() gives the node of a path."""
    paths = list(code_files(root))
    known = set(paths)
    graph = {}
    for path in paths:
        node = node_of(path)
        for number, line, _, target in includes(root, path):
            if target.startswith("basalt/"):
                target = f"include/{target}"
            other = node_of(target) if target in known else None
            if node is not None and other is not None and other != node:
                graph.setdefault(node, {}).setdefault(other, f"{path}:{number}: {line}")
    return graph


def way(graph, start, end):
    """The shortest way from one node to another as a list of includes; None where there is none."""
    ways = {start: []}
    queue = [start]
    for node in queue:
        for other, include in sorted(graph.get(node, {}).items()):
            if other == end:
                return ways[node] + [include]
            if other not in ways:
                ways[other] = ways[node] + [include]
                queue.append(other)
    return None


def circles(root):
    for kind, node_of in (("files", component_of), ("folders of runtime", room_of)):
        graph = include_graph(root, node_of)
        told = set()
        for node in sorted(graph):
            circle = None if node in told else way(graph, node, node)
            if circle:
                told.update(other for other in graph if way(graph, node, other) and way(graph, other, node))
                yield f"a circle of {kind} through {node}:\n  " + "\n  ".join(circle)


def self_check():
    """Each wrong file must be detected when it stands alone, and each right one must pass."""
    wrong = [
        ("include/basalt/a.hpp", "#include <tbb/task_arena.h>"),
        ("include/basalt/a.hpp", "#include <cuda_runtime.h>"),
        ("include/basalt/a.hpp", '#include "tiles/grid.hpp"'),
        ("include/basalt/a.h", "#include <vector>"),
        ("include/basalt/a.h", "#include <stdio.h>"),
        ("capi/a.cpp", '#include "tasks/lu/state.hpp"'),
        ("tiles/a.cpp", '#include "kernels/gemm.hpp"'),
        ("tiles/a.cpp", "#include <runtime/engine.hpp>"),
        ("tiles/a.cpp", '#include "grid.hpp"'),
        ("kernels/cuda/a.cu", '#include "runtime/engine.hpp"'),
        ("runtime/device/a.cpp", '#include "schedulers/fifo.hpp"'),
        ("runtime/a.cpp", '  #  include "kernels/gemm.hpp"'),
        ("schedulers/a.cpp", '#include "tiles/grid.hpp"'),
        ("io/a.cpp", '#include "runtime/engine.hpp"'),
        ("tasks/lu/a.cpp", '#include "io/json.hpp"'),
        ("tasks/lu/a.cpp", '#include "tasks/qr/state.hpp"'),
        ("tasks/cholesky/a.cpp", '#include "tasks/lu/state.hpp"'),
        ("tasks/matrix/a.cpp", '#include "tasks/lu/options.hpp"'),
        ("tasks/on_gpus/a.cpp", '#include "tasks/matrix/products.hpp"'),
        ("tasks/choices/a.cpp", '#include "tasks/on_gpus/columns.hpp"'),
        ("tasks/a.cpp", "#include <vector>"),
        ("base/a.cpp", '#include "tiles/grid.hpp"'),
        ("apps/a.cpp", '#include "tasks/lu/state.hpp"'),
        ("examples/a.cpp", '#include "io/json.hpp"'),
        ("lapack/a.cpp", '#include "base/byte_size.hpp"'),
        ("bench/a.cpp", '#include "apps/options.hpp"'),
        ("tests/a.cpp", '#include "tasks/lu/state.hpp"'),
        ("extra/a.cpp", "#include <vector>"),
        ("a.cpp", "#include <vector>"),
    ]
    right = [
        ("include/basalt/a.hpp", "#include <vector>\n#include <basalt/view.hpp>"),
        ("include/basalt/a.h", "#include <stdint.h>"),
        ("tiles/a.cpp", '#include "tiles/grid.hpp"\n#include "basalt/view.hpp"\n#include <cblas.h>'),
        ("kernels/cpu/a.cpp", '#include "tiles/grid.hpp"\n#include "kernels/cpu/products/gemm.hpp"'),
        ("runtime/a.cpp", '#include "tiles/grid.hpp"\n#include <tbb/concurrent_queue.h>'),
        ("schedulers/a.cpp", '#include "runtime/engine.hpp"\n#include "schedulers/queue.hpp"'),
        ("tasks/lu/a.cpp", '#include "tiles/grid.hpp"\n#include "kernels/gemm.hpp"\n#include "runtime/engine.hpp"'),
        ("tasks/lu/a.cpp", '#include "tasks/lu/state.hpp"\n#include "tasks/on_gpus/columns.hpp"'),
        ("tasks/matrix/a.cpp", '#include "tasks/on_gpus/columns.hpp"\n#include "base/byte_size.hpp"'),
        ("apps/a.cpp", '#include "io/json.hpp"\n#include <CLI/CLI.hpp>'),
        ("lapack/abi/a.cpp", '#include "lapack/call.hpp"\n#include <basalt/lu.hpp>\n#include <dlfcn.h>'),
        ("tests/a.cpp", '#include "tests/common/catch.hpp"\n#include "io/json.hpp"'),
        ("tests/tasks/lu/a.cpp", '#include "tasks/lu/state.hpp"\n#include "tests/common/catch.hpp"'),
        ("build-tsan/a.cpp", '#include "anything.hpp"'),
    ]
    failures = []
    for expected, cases in ((True, wrong), (False, right)):
        for path, text in cases:
            if bool(found_in({path: text}, violations)) != expected:
                failures.append(f"{'missed' if expected else 'wrongly reported'}: {path}: {text}")
    return failures + self_check_circles()


def self_check_circles():
    """Planted circles must be found, and what only looks like one must not."""
    base = {"runtime/a/x.hpp": '#include "runtime/b/y.hpp"', "runtime/b/y.hpp": "", "runtime/b/z.hpp": ""}
    wrong = [
        {"tiles/a.hpp": '#include "tiles/b.hpp"', "tiles/b.hpp": '#include "tiles/a.hpp"'},
        {"tiles/a.cpp": '#include "tiles/b.hpp"', "tiles/a.hpp": "", "tiles/b.hpp": '#include "tiles/a.hpp"'},
        {
            "io/a.hpp": '#include "io/b.hpp"',
            "io/b.cpp": '#include "io/c.hpp"',
            "io/b.hpp": "",
            "io/c.hpp": '#include <io/a.hpp>',
        },
        {"include/basalt/a.hpp": '#include "basalt/b.hpp"', "include/basalt/b.hpp": "#include <basalt/a.hpp>"},
        {**base, "runtime/b/z.cpp": '#include "runtime/a/x.hpp"'},
        {**base, "runtime/c.hpp": '#include "runtime/a/x.hpp"', "runtime/b/z.hpp": '#include "runtime/c.hpp"'},
    ]
    right = [
        base,
        {"tiles/a.cpp": '#include "tiles/a.hpp"', "tiles/a.hpp": '#include "tiles/b.hpp"', "tiles/b.hpp": ""},
        {"io/a/x.hpp": '#include "io/b/y.hpp"', "io/b/y.hpp": "", "io/b/z.cpp": '#include "io/a/x.hpp"'},
    ]
    failures = []
    for expected, cases in ((True, wrong), (False, right)):
        for files in cases:
            if bool(found_in(files, circles)) != expected:
                failures.append(f"{'a circle is missed' if expected else 'no circle, but reported'}: {files}")
    return failures


def found_in(files, check):
    """What the check finds in a tree of these files, by path."""
    with tempfile.TemporaryDirectory() as root:
        for path, text in files.items():
            file = os.path.join(root, path)
            os.makedirs(os.path.dirname(file), exist_ok=True)
            with open(file, "w", encoding="utf-8") as out:
                out.write(text + "\n")
        return list(check(root))


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    root = sys.argv[1]
    found = self_check() if root == "--self-check" else [*violations(root), *circles(root)]
    for line in found:
        print(line)
    sys.exit(1 if found else 0)


main()
