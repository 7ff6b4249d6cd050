"""Writes a C++ file with the contents of headers, for the compiler at run time.

usage: embed.py OUTPUT ROOT HEADER...    HEADER: a path below ROOT or ROOT/include; that is its name in the programs
"""

import pathlib
import sys

LONGEST = 16000  # of a literal: standard C++ promises 65,536 characters


def literals(text):
    parts = [text[at:at + LONGEST] for at in range(0, len(text), LONGEST)]
    return " ".join(f'R"embedded({part})embedded"' for part in parts)


def main():
    output, root, *headers = sys.argv[1:]
    entries = []
    for header in headers:
        text = pathlib.Path(header).read_text(encoding="utf-8")
        name = pathlib.Path(header).resolve().relative_to(pathlib.Path(root).resolve()).as_posix()
        entries.append(f'    {{"{name.removeprefix("include/")}", {literals(text)}}},\n')
    pathlib.Path(output).write_text(
        '#include "tuner/nvrtc/sources.hpp"\n\nnamespace basalt::tuner {\n\n'
        "static constexpr SourceFile embedded_headers[] = {\n" + "".join(entries) + "};\n\n"
        "std::span<const SourceFile> kernel_headers() { return embedded_headers; }\n\n}  // namespace basalt::tuner\n",
        encoding="utf-8")


main()
