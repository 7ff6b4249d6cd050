# A recipe for Spack: put this folder's file into a repository of yours as packages/basalt/package.py.
from spack.package import *


class Basalt(MesonPackage, CudaPackage):
    """Dense linear algebra (LU, Cholesky, QR) and task graphs on all cores and GPUs of a machine."""

    homepage = "https://basalt.invalid/basalt"
    git = "https://basalt.invalid/basalt.git"

    license("BSD-3-Clause")

    version("main", branch="main")
    version("0.1.0", tag="v0.1.0")

    variant("python", default=False, description="The Python package")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("meson@1.0:", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("python@3.11:", type=("build", "run"), when="+python")
    depends_on("py-nanobind@2.4:", type="build", when="+python")
    depends_on("py-numpy@1.26:", type=("build", "run"), when="+python")

    depends_on("openblas threads=pthreads")
    depends_on("intel-oneapi-tbb")
    depends_on("hwloc@2:")
    depends_on("fmt")
    depends_on("spdlog")
    depends_on("nlohmann-json")
    depends_on("cli11")
    depends_on("catch2", type=("build", "test"))
    depends_on("netlib-lapack+lapacke", type=("build", "test"))
    depends_on("cuda@12.3:", when="+cuda")

    conflicts("%gcc@:11", msg="a compiler of C++20 is needed")

    def meson_args(self):
        args = ["-Dcuda=" + ("enabled" if self.spec.satisfies("+cuda") else "disabled")]
        if self.spec.satisfies("+cuda") and "none" not in self.spec.variants["cuda_arch"].value:
            names = ["sm_" + arch for arch in self.spec.variants["cuda_arch"].value]
            args.append("-Dgpu_architectures=" + ",".join(names))
        return args

    @run_after("install", when="+python")
    def install_python_package(self):
        pip = which("python3", required=True)
        pip("-m", "pip", "install", "--no-deps", "--no-build-isolation", "--prefix=" + self.prefix,
            "-Csetup-args=-Dpython=linked", ".")
