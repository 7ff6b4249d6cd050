"""Every kernel that kernels/on_stream declares has a test case.

usage: kernels_tested.py SOURCE_ROOT
"""

import os
import re
import sys

DECLARATION = re.compile(r"^inline constexpr [A-Z]\w*(?:<[^>]*>)? (\w+)\{\};", re.M)


def text_of(folder):
    texts = []
    for directory, _, files in sorted(os.walk(folder)):
        for name in sorted(files):
            if name.endswith((".hpp", ".cpp")):
                with open(os.path.join(directory, name), encoding="utf-8") as file:
                    texts.append(file.read())
    return "\n".join(texts)


def main():
    root = sys.argv[1]
    kernels = DECLARATION.findall(text_of(os.path.join(root, "kernels", "on_stream")))
    tests = text_of(os.path.join(root, "tests", "kernels"))
    missing = [name for name in kernels if not re.search(rf"on_stream::{name}\b", tests)]
    for name in missing:
        print(f"{name}: kernels/on_stream declares it, but no case in tests/kernels calls it")
    print(f"{len(kernels)} kernels, {len(missing)} without a test")
    return 1 if missing or not kernels else 0


sys.exit(main())
