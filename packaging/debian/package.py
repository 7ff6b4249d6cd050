"""Makes a Debian package of what a build folder installs.

usage: package.py BUILD_DIRECTORY VERSION OUT_DIRECTORY    prints the name of the package's file

The package depends on the packages of the libraries that the program and libbasalt need here, so it is for this release
of Debian or Ubuntu and newer ones. CUDA's libraries belong to no package in most cases: the package then suggests them.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile

CONTROL = """Package: basalt
Version: {version}
Architecture: {architecture}
Maintainer: The Basalt developers <basalt@localhost>
Installed-Size: {kilobytes}
Depends: {depends}
Recommends: g++, pkg-config
Section: math
Priority: optional
Description: dense linear algebra and task graphs on cores and GPUs
 Basalt factors and solves dense linear systems (LU, Cholesky, QR) on all cores
 and all NVIDIA GPUs of a machine, and runs task graphs of programs of your own.
 This package has the library, its headers for C++, C and Fortran, and the
 program basalt with the HPL benchmark.
"""


def output(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def installed_tree(build, stage):
    """Installs into `stage` and moves the tree to /usr, wherever the build folder's prefix is."""
    subprocess.run(["meson", "install", "-C", build, "--no-rebuild", "--quiet", "--destdir", stage], check=True,
                   stdout=sys.stderr)
    options = output("meson", "introspect", "--buildoptions", build)
    prefix = re.search(r'"name": "prefix", [^}]*?"value": "([^"]*)"', options) or re.search(
        r'"value": "([^"]*)", [^}]*?"name": "prefix"', options)
    prefix = prefix[1] if prefix else "/usr/local"
    if prefix != "/usr":
        with tempfile.TemporaryDirectory(dir=os.path.dirname(stage)) as aside:
            moved = os.path.join(aside, "usr")
            os.rename(os.path.join(stage, prefix.lstrip("/")), moved)
            shutil.rmtree(stage)
            os.makedirs(stage)
            os.rename(moved, os.path.join(stage, "usr"))


def elf_files(stage):
    for folder, _, names in os.walk(stage):
        for name in names:
            path = os.path.join(folder, name)
            if not os.path.islink(path):
                with open(path, "rb") as file:
                    if file.read(4) == b"\x7fELF":
                        yield path


def dependencies(stage):
    """name (>= version) of the packages that own the needed libraries."""
    own = {os.path.basename(path).split(".so")[0] for path in elf_files(stage)}
    needed = set()
    for path in elf_files(stage):
        needed.update(re.findall(r"NEEDED\s+(\S+)", output("objdump", "-p", path)))
    known = output("/sbin/ldconfig", "-p")
    packages = {}
    for library in sorted(needed):
        if library.split(".so")[0] in own:
            continue
        path = re.search(rf"^\s*{re.escape(library)} .*=> (\S+)$", known, re.MULTILINE)
        package = owner(path[1]) if path else None
        if package is None:
            print(f"package: {library} is of no package", file=sys.stderr)
            continue
        packages[package] = re.sub(r"[-+~].*", "", output("dpkg-query", "-W", "-f", "${Version}", package))
    return [f"{name} (>= {version})" for name, version in sorted(packages.items())]


def owner(path):
    """The package of a library; merged /usr has two names for each file."""
    real = os.path.realpath(path)
    for name in (path, real, "/usr" + path, real.removeprefix("/usr")):
        found = subprocess.run(["dpkg-query", "-S", name], capture_output=True, text=True, check=False)
        if found.returncode == 0:
            return found.stdout.split(":")[0]
    return None


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    build, version, out = sys.argv[1:]
    os.makedirs(out, exist_ok=True)
    with tempfile.TemporaryDirectory() as work:
        stage = os.path.join(work, "stage")
        installed_tree(build, stage)
        for path in elf_files(stage):
            subprocess.run(["strip", "--strip-unneeded", path], check=True)
        size = sum(os.lstat(os.path.join(folder, name)).st_size for folder, _, names in os.walk(stage) for name in names)
        architecture = output("dpkg", "--print-architecture").strip()
        control = CONTROL.format(version=version, architecture=architecture, kilobytes=size // 1024,
                                 depends=", ".join(dependencies(stage)))
        os.makedirs(os.path.join(stage, "DEBIAN"))
        with open(os.path.join(stage, "DEBIAN", "control"), "w", encoding="utf-8") as file:
            file.write(control)
        for script in ("postinst", "postrm"):  # the linker's cache
            with open(os.path.join(stage, "DEBIAN", script), "w", encoding="utf-8") as file:
                file.write("#!/bin/sh\nset -e\nldconfig\n")
            os.chmod(file.name, 0o755)
        os.chmod(stage, 0o755)
        package = os.path.join(out, f"basalt_{version}_{architecture}.deb")
        subprocess.run(["dpkg-deb", "-Zgzip", "-z3", "--build", "--root-owner-group", stage, package], check=True, stdout=sys.stderr)
    print(package)


main()
