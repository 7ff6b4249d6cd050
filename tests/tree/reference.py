"""Doxygen makes the reference of the public headers without a warning, and knows their classes and functions.

usage: reference.py SOURCE_ROOT DOXYGEN    an empty DOXYGEN: skipped
"""

import os
import subprocess
import sys
import tempfile


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    root, doxygen = sys.argv[1:]
    if not doxygen:
        print("skipped: there is no doxygen")
        sys.exit(77)
    with open(os.path.join(root, "docs", "Doxyfile"), encoding="utf-8") as file:
        settings = file.read()
    with tempfile.TemporaryDirectory() as out:
        done = subprocess.run([doxygen, "-"], input=f"{settings}\nOUTPUT_DIRECTORY = {out}\n", cwd=root, text=True,
                              capture_output=True, check=False)
        print(done.stdout[-3000:], done.stderr[-3000:])
        pages = os.listdir(os.path.join(out, "html")) if done.returncode == 0 else []
        missing = [page for page in ("classbasalt_1_1Runtime.html", "classbasalt_1_1Matrix.html", "basalt_8h.html",
                                     "structbasalt__task.html") if page not in pages]
    if missing:
        print("the reference has no", *missing)
    sys.exit(1 if missing else 0)


main()
