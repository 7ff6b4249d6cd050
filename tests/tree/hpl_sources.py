"""The program basalt-hpl is built without batches, QR, the tuner and the C interface. ./run hpl in a fresh clone would
wait for them: the GPU kernels of batches and QR alone take a third of the library's compile time.

usage: hpl_sources.py SOURCE_ROOT BUILD_DIRECTORY NINJA
"""

import os
import re
import subprocess
import sys

LEFT_OUT = re.compile(r"(?:(?:kernels/\w+|tasks)/(?:batch|qr)|apps/batch|tuner|capi)/")
FOLDERS = 9  # that this matches; two are of GPU kernels
SOURCE = re.compile(r"[^\s'\"=]+\.(?:cpp|cu)(?![^\s'\"])")
INCLUDED = re.compile(r'^#include\s*[<"](.*)[>"]$', re.M)


def sources(root, build, ninja, target):
    """All that ninja compiles for the target, relative to the root; a unity file stands for what it includes."""
    commands = subprocess.run([ninja, "-C", build, "-t", "commands", target], capture_output=True, text=True,
                              check=True).stdout
    names = set(SOURCE.findall(commands))
    for unity_file in [name for name in names if re.search(r"-unity\d+\.cpp$", name)]:
        with open(os.path.join(build, unity_file), encoding="utf-8") as file:
            names.update(INCLUDED.findall(file.read()))
    return {os.path.relpath(os.path.join(build, name), root) for name in names}


def left_out(found):
    return {name: LEFT_OUT.match(name)[0] for name in sorted(found) if LEFT_OUT.match(name)}


def main():
    too_many = left_out(sources(*sys.argv[1:], "basalt-hpl"))
    for name in too_many:
        print(f"{name}: the program basalt-hpl is built of it")
    detected = left_out(sources(*sys.argv[1:], "basalt"))
    print(f"basalt-hpl has {len(too_many)} of {len(detected)} sources of basalt that HPL does not need")
    with_cuda = any(name.endswith(".cu") for name in detected)
    sys.exit(1 if too_many or len(set(detected.values())) < (FOLDERS if with_cuda else FOLDERS - 2) else 0)


main()
