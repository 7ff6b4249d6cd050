"""Runs clang-tidy with the checks of .clang-tidy over the library and the program; any finding fails.

usage: tidy.py SOURCE_ROOT BUILD_DIRECTORY CLANG_TIDY    an empty CLANG_TIDY: skipped

It reads BUILD_DIRECTORY/compile_commands.json. In a unity build (./run makes one) several sources share one parse of
their headers, which takes a tenth of the time.
"""

import concurrent.futures
import json
import os
import re
import subprocess
import sys

TARGETS = ("libbasalt_core.a.p/", "basalt.p/", "kernels/cpu/simd/")
FINDING = re.compile(r"^(?P<place>[^\s:][^:]*:\d+:\d+): (?:warning|error): (?P<what>.*)$", re.MULTILINE)


def sources(build):
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as file:
        commands = json.load(file)
    return [command["file"] for command in commands
            if command["output"].startswith(TARGETS) and command["file"].endswith(".cpp")]


def findings(tidy, build, root, source):
    """What clang-tidy says of one file of the build: (place, message) pairs."""
    # A unity file includes sources: that is its purpose.
    call = [tidy, "-p", build, "--quiet", f"--config-file={root}/.clang-tidy", "--checks=-bugprone-suspicious-include",
            f"--extra-arg-before=-include{root}/tests/tree/source_location.hpp",
            "--extra-arg=-Wno-unknown-warning-option", "--extra-arg=-Wno-unused-command-line-argument", source]
    done = subprocess.run(call, cwd=build, capture_output=True, text=True, check=False)
    found = [(os.path.relpath(os.path.realpath(os.path.join(build, match["place"])), os.path.realpath(root)), match["what"])
             for match in FINDING.finditer(done.stdout)]
    if done.returncode != 0 and not found:
        found = [(source, f"clang-tidy failed: {done.stderr.strip()[-2000:]}")]
    return found


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    root, build, tidy = sys.argv[1:]
    if not tidy:
        print("skipped: there is no clang-tidy")
        sys.exit(77)
    files = sources(build)
    if not files:
        sys.exit(f"{build}/compile_commands.json names no source of the library")
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        results = pool.map(lambda source: findings(tidy, build, root, source), files)
        found = sorted({finding for result in results for finding in result})
    for place, what in found:
        print(f"{place}: {what}")
    print(f"{len(files)} files checked, {len(found)} findings")
    sys.exit(1 if found else 0)


main()
