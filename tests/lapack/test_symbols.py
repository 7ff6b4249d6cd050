"""libbasalt_lapack.so exports LAPACK's names and nothing else, needs the C library alone, and basalt-lapack puts it in
front of a program.

usage: test_symbols.py LIBRARY LIST WRAPPER ENGINE
"""

import os
import subprocess
import sys
import tempfile


def exported(library):
    lines = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True)
    return sorted(line.split()[-1] for line in lines.stdout.splitlines())


def needed(library):
    lines = subprocess.run(["readelf", "-d", library], capture_output=True, text=True, check=True).stdout.splitlines()
    return [line.split("[")[1].rstrip("]") for line in lines if "(NEEDED)" in line]


def check(condition, text):
    if not condition:
        sys.exit(f"test_symbols.py: {text}")


def check_symbols(library, list_file, engine):
    with open(list_file, encoding="utf-8") as lines:
        listed = [line.strip() for line in lines if line.strip() and not line.startswith("#")]
    symbols = exported(library)
    check(symbols == listed, "exported symbols differ from the list: " + " ".join(sorted(set(symbols) ^ set(listed))))
    sanitized = any("asan" in name or "tsan" in name for name in needed(library))
    others = [name for name in needed(library) if not name.startswith(("libc.", "ld-"))]
    check(sanitized or not others, f"the library needs {others}")
    check(exported(engine) == ["basalt_lapack_engine_1"], "the engine exports more than its entry")
    lines = subprocess.run(["nm", "-D", "--undefined-only", engine], capture_output=True, text=True, check=True)
    called = {line.split()[-1] for line in lines.stdout.splitlines()} & set(listed)
    check(not called, f"the engine calls {called}, which are this library's own")
    host_blas = [name for name in needed(engine) if "blas" in name and not name.startswith("libcublas")]
    check(not host_blas, f"the engine is linked to {host_blas}")


def run(wrapper, *arguments):
    return subprocess.run([wrapper, *arguments], capture_output=True, text=True, check=False)


def check_wrapper(wrapper, library):
    with tempfile.TemporaryDirectory() as folder:
        log = os.path.join(folder, "log")
        result = run(wrapper, "--mode", "always", "--threshold", "7", "--log", log, "sh", "-c",
                     'cat /proc/self/maps; echo "$BASALT_LAPACK,$BASALT_LAPACK_THRESHOLD,$BASALT_LAPACK_LOG"; exit 5')
        check(result.returncode == 5, f"exit status {result.returncode}")
        check(os.path.realpath(library) in result.stdout, "the library is not in the process")
        check("basalt_lapack_engine" not in result.stdout, "the engine is in a process that calls nothing")
        check(f"always,7,{log}" in result.stdout, "settings are not passed on")
        check(not os.path.exists(log), "a process without calls wrote a log")
    check(run(wrapper, "--help").returncode == 0, "--help")
    for wrong in ([], ["--mode", "some", "true"], ["--unknown", "true"], ["--log"]):
        check(run(wrapper, *wrong).returncode == 2, f"{wrong} is accepted")
    result = subprocess.run([wrapper, "true"], env={**os.environ, "BASALT_LAPACK": "maybe"}, capture_output=True,
                            text=True, check=False)
    check("BASALT_LAPACK = 'maybe' is ignored; allowed: off, auto, always" in result.stderr, "a wrong value is silent")


def main():
    library, list_file, wrapper, engine = sys.argv[1:]
    check_symbols(library, list_file, engine)
    check_wrapper(wrapper, library)


if __name__ == "__main__":
    main()
