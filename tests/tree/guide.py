"""Every block of code in docs/guide is compiled or run.

usage: guide.py SOURCE_ROOT BUILD_DIRECTORY cpp|c|fortran|cuda|sh|python|lapack|complete

Blocks of C++ are complete programs; all of them are compiled as one, since most of the time goes into headers. Blocks of
a page in sh and Python share a folder or a process, in their order. `complete`: each block names a language of these, or
is text. What cannot be compiled here, such as CUDA code without nvcc, is skipped.
"""

import glob
import os
import re
import subprocess
import sys
import tempfile

LANGUAGES = ("cpp", "c", "fortran", "cuda", "sh", "python", "lapack")
FENCE = re.compile(r"^( *)```(\w*)\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)


def blocks(root, language=None):
    """(page, number, language, code) of each block."""
    for page in sorted(glob.glob(os.path.join(root, "docs", "guide", "*.md"))):
        with open(page, encoding="utf-8") as file:
            text = file.read()
        for number, found in enumerate(FENCE.finditer(text), 1):
            code = re.sub(f"^{found[1]}", "", found[3], flags=re.MULTILINE)
            if language is None or found[2] == language:
                yield os.path.basename(page), number, found[2], code


def run(command, folder, **options):
    variables = {name: value for name, value in os.environ.items() if not name.startswith("BASALT_")}
    variables.update(options.pop("env", {}), BASALT_MODELS="none", CUDA_VISIBLE_DEVICES="")
    done = subprocess.run(command, cwd=folder, env=variables, capture_output=True, text=True, check=False, **options)
    if done.returncode != 0:
        print(" ".join(command), done.stdout[-3000:], done.stderr[-3000:], sep="\n")
    return done.returncode == 0


def write(folder, name, text):
    path = os.path.join(folder, name)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


class Guide:
    def __init__(self, root, build):
        self.root, self.build = root, build
        self.include = "-I" + os.path.join(root, "include")
        self.link = ["-L" + build, "-lbasalt", "-Wl,-rpath," + build, "-pthread"]

    def cpp(self, folder):
        """One program of all blocks: their includes first, then a namespace for each."""
        includes, spaces, calls = set(), [], []
        for page, number, _, code in blocks(self.root, "cpp"):
            name = f"block_{re.sub(r'[^a-z]', '_', page)}{number}"
            includes.update(re.findall(r"^#include .*$", code, re.MULTILINE))
            body = re.sub(r"^#include .*$", "", code, flags=re.MULTILINE)
            if "int main() {" not in body:
                print(f"{page}, block {number}: a block of C++ is a whole program with `int main() {{`")
                return False
            spaces.append(f"namespace {name} {{\n{body.replace('int main() {', 'int program() {')}\n}}\n")
            calls.append(f'    if ({name}::program() != 0) failed += std::puts("{page}, block {number}: failed");\n')
        source = "\n".join(sorted(includes | {"#include <cstdio>"})) + "\n" + "".join(spaces)
        source += "int main() {\n    int failed = 0;\n" + "".join(calls) + "    return failed;\n}\n"
        program = os.path.join(folder, "program")
        compiler = os.environ.get("CXX", "c++").split()
        return run([*compiler, "-std=c++20", "-Wall", "-Wextra", self.include, write(folder, "blocks.cpp", source), "-o",
                    program, *self.link], folder) and run([program], folder)

    def c(self, folder):
        return all([self.compile_one(folder, k, code, "c", ["cc", "-std=c11", "-Wall", "-Wextra", "-Werror"])
                    for k, (_, _, _, code) in enumerate(blocks(self.root, "c"))])

    def fortran(self, folder):
        if not self.there("gfortran"):
            return None
        module = os.path.join(self.root, "fortran", "basalt.f90")
        return all([self.compile_one(folder, k, code, "f90", ["gfortran", "-std=f2008", module])
                    for k, (_, _, _, code) in enumerate(blocks(self.root, "fortran"))])

    def cuda(self, folder):
        nvcc = "nvcc" if self.there("nvcc") else "/usr/local/cuda/bin/nvcc"
        if not self.there(nvcc):
            return None
        return all([run([nvcc, "-std=c++20", "-arch=sm_90", self.include, "-c", write(folder, f"block{k}.cu", code)], folder)
                    for k, (_, _, _, code) in enumerate(blocks(self.root, "cuda"))])

    def compile_one(self, folder, k, code, ending, compiler):
        program = os.path.join(folder, f"program{k}")
        source = write(folder, f"block{k}.{ending}", code)
        return run([*compiler, self.include, source, "-o", program, *self.link], folder) and run([program], folder)

    def sh(self, folder, language="sh"):
        path = self.build + os.pathsep + os.environ["PATH"]
        done = []
        for page in sorted({page for page, *_ in blocks(self.root, language)}):
            code = "set -e\n" + "".join(code for name, _, _, code in blocks(self.root, language) if name == page)
            print(page)
            done.append(run(["sh", "-c", code], folder, env={"PATH": path}))
        return all(done)

    def lapack(self, folder):
        if not self.there(os.path.join(self.build, "basalt-lapack")):
            return None
        return self.sh(folder, "lapack")

    def python(self, folder):
        python = os.path.join(self.build, "python-environment", "bin", "python")
        if not self.there(python) or not run([python, "-c", "import basalt"], folder, env={"LD_LIBRARY_PATH": self.build}):
            return None  # the test of the package makes it
        return all([run([python, "-c", code], folder, env={"LD_LIBRARY_PATH": self.build})
                    for _, _, _, code in blocks(self.root, "python")])

    def complete(self, folder):
        wrong = [(page, number, language) for page, number, language, _ in blocks(self.root)
                 if language not in (*LANGUAGES, "text")]
        for page, number, language in wrong:
            print(f"{page}, block {number}: '{language}' is no language of {', '.join(LANGUAGES)}, text")
        return not wrong and len(list(blocks(self.root))) > 20

    @staticmethod
    def there(program):
        return subprocess.run(["sh", "-c", f'command -v "{program}"'], capture_output=True, check=False).returncode == 0


def main():
    if len(sys.argv) != 4 or sys.argv[3] not in (*LANGUAGES, "complete"):
        sys.exit(__doc__)
    guide = Guide(os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2]))
    with tempfile.TemporaryDirectory() as folder:
        works = getattr(guide, sys.argv[3])(folder)
    if works is None:
        print(f"skipped: there is nothing here that compiles or runs {sys.argv[3]}")
        sys.exit(77)
    sys.exit(0 if works else 1)


main()
