# SPDX-License-Identifier: BSD-3-Clause

from spack_repo.builtin.build_systems.python import PythonPackage

from spack.package import *


class PySpartito(PythonPackage):
    """Measures Python programs: call-path profiles, event traces, samples, memory, waits, file I/O
    and MPI.

    Spartito begins in each interpreter through spartito.pth, which Python reads only in its own
    site directory: use it in an environment with a view, as `spack load` extends only PYTHONPATH.
    """

    homepage = "https://pypi.org/project/spartito/"
    pypi = "spartito/spartito-0.1.0.tar.gz"

    license("BSD-3-Clause")

    version("0.1.0", sha256="@SHA256@")

    variant("mpi", default=True, description="record the calls of MPI")
    variant("otf2", default=True, description="write OTF2 traces")

    depends_on("c", type="build")

    with default_args(type="build"):
        depends_on("meson@1.2:")
        depends_on("ninja")
        depends_on("pkgconfig")
        depends_on("py-meson-python@0.15:")
        # it takes --config-settings
        depends_on("py-pip@23.1:")

    with default_args(type=("build", "link", "run")):
        depends_on("python@3.9:3.15")

    with default_args(type=("build", "run")):
        depends_on("py-rich@12:")
        depends_on("py-tomli@1.1:", when="^python@:3.10")

    depends_on("elfutils")
    depends_on("zlib-api")
    depends_on("zstd")
    depends_on("mpi", when="+mpi")
    depends_on("otf2", when="+otf2")

    conflicts("platform=darwin", msg="Spartito works on Linux only")
    conflicts("platform=windows", msg="Spartito works on Linux only")

    def config_settings(self, spec, prefix):
        # a library that is missing ends the build
        return {
            "setup-args": {
                "-Ddw": "enabled",
                "-Dotf2": "enabled" if spec.satisfies("+otf2") else "disabled",
                "-Dzlib": "enabled",
                "-Dzstd": "enabled",
            }
        }
