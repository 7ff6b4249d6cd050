"""The recipes name this version and exist as their tools read them, and the Debian package installs and works.

usage: test_packaging.py SOURCE_ROOT BUILD_DIRECTORY VERSION [recipes|debian]
"""

import ast
import os
import re
import shutil
import subprocess
import sys
import tempfile


def read(root, *path):
    with open(os.path.join(root, *path), encoding="utf-8") as file:
        return file.read()


def check_recipes(root, version):
    conda, spack, header = (read(root, *path) for path in (
        ("packaging", "conda", "meta.yaml"), ("packaging", "spack", "package.py"), ("include", "basalt", "basalt_runtime.h")))
    assert f'version: "{version}"' in conda, "packaging/conda/meta.yaml has another version"
    assert f'version("{version}"' in spack, "packaging/spack/package.py has another version"
    macros = [re.search(rf"define BASALT_VERSION_{part} (\d+)", header)[1] for part in ("MAJOR", "MINOR", "PATCH")]
    assert ".".join(macros) == version, "basalt_runtime.h has another version"
    tree = ast.parse(spack)
    (recipe,) = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    assert recipe.name == "Basalt" and {base.id for base in recipe.bases} == {"MesonPackage", "CudaPackage"}
    options = read(root, "meson_options.txt")
    for name in re.findall(r'"-D(\w+)[="]', spack) + re.findall(r"-Dpython=(\w+)", spack):
        assert re.search(rf"'{name}'", options), f"the Spack recipe passes {name}, which is no option"
    try:
        import yaml
    except ImportError:
        return
    parsed = yaml.safe_load(re.sub(r"\{\{[^}]*\}\}", "x", conda))
    assert parsed["package"]["name"] == "basalt" and "run" in parsed["requirements"]


def run(*command, **options):
    done = subprocess.run(command, capture_output=True, text=True, check=False, **options)
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def check_debian(root, build, version):
    """Unpacked where nothing else of Basalt is, the package's program runs HPL and its library compiles programs."""
    with tempfile.TemporaryDirectory() as work:
        script = os.path.join(root, "packaging", "debian", "package.py")
        package = run(sys.executable, "-B", script, build, version, work).split()[-1]
        fields = run("dpkg-deb", "--field", package)
        assert f"Version: {version}\n" in fields and "Package: basalt\n" in fields, fields
        depends = re.search(r"^Depends: (.*)$", fields, re.MULTILINE)[1]
        for library in ("libopenblas", "libtbb", "libhwloc", "libc6"):
            assert library in depends, depends
        tree = os.path.join(work, "root")
        run("dpkg-deb", "-x", package, tree)
        found = {os.path.relpath(os.path.join(folder, name), tree) for folder, _, names in os.walk(tree) for name in names}
        for name in ("usr/bin/basalt", "usr/include/basalt/basalt.h", "usr/include/basalt/basalt.f90"):
            assert name in found, f"the package has no {name}"
        assert all(name.startswith("usr/") for name in found), found
        (library,) = [os.path.dirname(name) for name in found if name.endswith("/basalt.pc")]
        libraries = os.path.dirname(os.path.join(tree, library))
        variables = {**os.environ, "LD_LIBRARY_PATH": libraries, "PKG_CONFIG_PATH": os.path.join(tree, library),
                     "CUDA_VISIBLE_DEVICES": ""}
        small = read(root, "HPL.dat").replace("2000 4000", "200 300")
        with open(os.path.join(work, "HPL.dat"), "w", encoding="utf-8") as file:
            file.write(small)
        report = run(os.path.join(tree, "usr/bin/basalt"), "hpl", os.path.join(work, "HPL.dat"), env=variables)
        assert "PASSED" in report and "FAILED" not in report, report
        flags = run("pkg-config", "--cflags", "--libs", "basalt", env=variables).split()
        run("cc", "-std=c11", os.path.join(root, "examples", "c", "01_solve.c"), "-o", os.path.join(work, "solve"), *flags,
            "-lm")
        run(os.path.join(work, "solve"), env=variables)


def main():
    if len(sys.argv) != 5:
        sys.exit(__doc__)
    root, build, version, what = sys.argv[1:]
    if what == "recipes":
        check_recipes(root, version)
        return
    if not all(shutil.which(tool) for tool in ("dpkg-deb", "dpkg-query", "objdump", "strip")):
        print("skipped: this system has no dpkg")
        sys.exit(77)
    check_debian(root, build, version)


main()
