"""The functions that the parts of basalt.h declare are those that libbasalt exports and those of the committed list.

A name that disappears from the list, or changes its meaning, breaks programs that are compiled already.

usage: c_symbols.py LIST LIBRARY NM PART...    an empty NM: skipped
"""

import re
import subprocess
import sys


def declared(header):
    with open(header, encoding="utf-8") as file:
        text = file.read()
    text = re.sub(r"static inline[^{]*\{[^}]*\}", "", text)
    text = re.sub(r"//[^\n]*", "", text)
    return set(re.findall(r"\b(basalt_\w+)\s*\([^;{]*\)\s*;", text))


def exported(library, nm):
    listed = subprocess.run([nm, "-D", "--defined-only", library], capture_output=True, text=True, check=True).stdout
    return {line.split()[-1] for line in listed.splitlines() if line.split()[-1].startswith("basalt_")}


def main():
    if len(sys.argv) < 5:
        sys.exit(__doc__)
    listed, library, nm, *parts = sys.argv[1:]
    if not nm:
        print("skipped: there is no nm")
        sys.exit(77)
    with open(listed, encoding="utf-8") as file:
        known = set(file.read().split())
    status = 0
    for what, names in (("basalt.h declares", set().union(*map(declared, parts))), ("libbasalt exports", exported(library, nm))):
        for name in sorted(names ^ known):
            print(f"{what} {name}, which {listed} does not list" if name in names else f"{listed}: not what {what}: {name}")
            status = 1
    print(f"{len(known)} functions")
    sys.exit(status)


main()
