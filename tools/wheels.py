# SPDX-License-Identifier: BSD-3-Clause
"""make wheels: a wheel for each Python that is found, in dist/, which needs no compiler where it is installed. Built by root it
installs on systems with glibc 2.28 or newer (tools/old_glibc.sh), otherwise on those with this C library or a newer one. The
libraries that Spartito uses are in it, with their licences, but MPI is not: a program brings its own. Each wheel is tried in a new
virtual environment. Needs Debian or Ubuntu, whose packages have the licences; --only 3.9,3.13 chooses versions.

tools/distributions.sh wheel debian12-arm64 runs this under qemu-user, with --sysroot DIRECTORY: a copy of what tools/old_glibc.sh
made, and --no-sample: an emulated process cannot be sampled."""

import argparse
import glob
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile

import pythons

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TRIPLET = platform.machine() + "-linux-gnu"  # of Debian's directories of libraries
BIN = os.path.dirname(sys.executable)
ENVIRONMENT = {**os.environ, "PATH": BIN + os.pathsep + os.environ["PATH"]}
# What a measured program has loaded already, or has not at all
EXCLUDED = ("libmpi.so.*", "libmpich.so.*")
# for --io, --memory-profile and --waits, the adapters of MPI, compiled functions, compression, the page of the viewer
EXPECTED = ("spartito_preload.so", "spartito_heap.so", "spartito_waits.so", "spartito_mpi_openmpi.so", "spartito_mpi_mpich.so",
            "libdw-", "libzstd-", "static/app.js")
PROGRAM = """
import threading
def leaf(i): return i + 1
def work():
    for i in range(1000): leaf(i)
t = threading.Thread(target=work); t.start(); work(); t.join()
"""


def run(*command, **keywords):
    p = subprocess.run([*map(str, command)], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **keywords)
    if p.returncode:
        sys.exit(f"{' '.join(map(str, command))}\n{p.stdout}")
    return p.stdout


class Old:
    """The sysroot with the older C library; directory is None without it."""

    def __init__(self, directory):
        self.directory = directory
        if not directory and os.getuid() == 0:
            p = subprocess.run([os.path.join(ROOT, "tools", "old_glibc.sh")], stdout=subprocess.PIPE, text=True)
            if p.returncode not in (0, 77):
                sys.exit("the sysroot with the older C library could not be made")
            self.directory = os.path.dirname(p.stdout.strip()) if p.returncode == 0 else None
        if not self.directory:
            print("The wheels are for systems with this C library or a newer one", flush=True)

    def places(self):
        """The directories of its libraries."""
        return [os.path.join(self.directory, name, TRIPLET) for name in ("usr/lib", "lib")]

    def environment(self):
        """What pip needs to build with it."""
        if not self.directory:
            return ENVIRONMENT
        described = os.path.join(self.places()[0], "pkgconfig")
        return {**ENVIRONMENT, "CC": os.path.join(self.directory, "cc"), "PKG_CONFIG_LIBDIR": described}

    def search(self):
        """The options with which auditwheel finds its libraries, and not those of this system."""
        return ["--ldpaths", ":".join(self.places())] if self.directory else []

    def licence(self, name):
        """The package of a library, a file name, and the path of its licence."""
        with open(os.path.join(self.directory, "PACKAGES"), encoding="utf-8") as f:
            package = next((line.split()[0] for line in f if line.rstrip().endswith("/" + name)), None)
        if not package:
            sys.exit(f"{name}: no package has it, so its licence is not known")
        return package, os.path.join(self.directory, "usr/share/doc", package, "copyright")


def licence_here(before):
    """A function that gives the package of a library of this system, a file name, and the path of its licence. before: a directory
    with the wheel as it was unpacked, without libraries."""
    loaded = set()
    for path in glob.glob(f"{before}/*/spartito/**/*.so", recursive=True):
        loaded |= {os.path.realpath(library) for library in re.findall(r"=> (/\S+)", run("ldd", path))}
    places = {os.path.basename(path): path for path in loaded}

    def find(name):
        place = places[name]
        # a package may name its files below /lib, which is a link to /usr/lib
        owner = subprocess.run(["dpkg", "-S", place, place.replace("/usr/", "/", 1)], capture_output=True, text=True).stdout
        package = owner.partition(":")[0]
        if not package:
            sys.exit(f"{place}: no package has it, so its licence is not known")
        return package, f"/usr/share/doc/{package}/copyright"

    return find


def build(python, old, work):
    """A wheel in dist/ for an interpreter."""
    raw, repaired, before, inside = (os.path.join(work, name) for name in ("raw", "repaired", "before", "inside"))
    run(python, "-m", "pip", "wheel", "-q", "--no-deps", "-w", raw, ROOT, env=old.environment())
    (wheel,) = glob.glob(raw + "/*.whl")
    exclude = [word for name in EXCLUDED for word in ("--exclude", name)]
    run(os.path.join(BIN, "auditwheel"), "repair", *old.search(), *exclude, "-w", repaired, wheel, env=old.environment())
    (wheel_repaired,) = glob.glob(repaired + "/*.whl")
    run(sys.executable, "-m", "wheel", "unpack", "-d", before, wheel)
    run(sys.executable, "-m", "wheel", "unpack", "-d", inside, wheel_repaired)
    (tree,) = glob.glob(inside + "/*")
    (info,) = glob.glob(tree + "/*.dist-info")
    licences = os.path.join(info, "licenses", "libraries")
    os.makedirs(licences)
    find = old.licence if old.directory else licence_here(before)
    for name in os.listdir(os.path.join(tree, "spartito.libs")):
        package, text = find(re.sub(r"-[0-9a-f]{8}(?=\.)", "", name))  # auditwheel added a checksum to the name
        shutil.copy(text, os.path.join(licences, package + ".txt"))
    dist = os.path.join(ROOT, "dist")
    os.makedirs(dist, exist_ok=True)
    run(sys.executable, "-m", "wheel", "pack", "-d", dist, tree)
    return os.path.join(dist, os.path.basename(wheel_repaired))


def check(python, wheel, work, sample):
    """Installs the wheel into a new environment and uses it, without a compiler or any other program on PATH."""
    names = run(sys.executable, "-m", "zipfile", "-l", wheel)
    missing = [name for name in EXPECTED if name not in names]
    if missing:
        sys.exit(f"{wheel}: lacks {', '.join(missing)}; tools/system.sh build test installs what the build needs")
    venv = os.path.join(work, "venv")
    run(python, "-m", "venv", "--without-pip", venv)
    mine = os.path.join(venv, "bin", "python")
    run(sys.executable, "-m", "pip", "--python", mine, "install", "-q", "--only-binary", ":all:", wheel)
    program = os.path.join(work, "program.py")
    with open(program, "w", encoding="utf-8") as f:
        f.write(PROGRAM)

    def spartito(*words):
        return run(mine, "-m", "spartito", *words, cwd=work, env={"HOME": work, "PATH": ""})

    spartito("run", "-q", "--trace", "--waits", "--io", "--memory-profile", "--lines=leaf", "-o", "e", "--", mine, program)
    if sample:
        spartito("run", "-q", "--sample", "--sample-native", "-o", "samples", "--", mine, program)
    if "2,000" not in spartito("report", "flat", "e"):
        sys.exit(f"{wheel}: the calls of a program are not those that it made")
    formats = spartito("doctor", "--formats").split()
    if "otf2" not in formats:
        sys.exit(f"{wheel}: lacks OTF2; tools/system.sh build test installs what the build needs")
    for name in formats:
        spartito("convert", "e", "--to", name, "-o", f"out.{name}")
    spartito("finalize", "e")
    spartito("html", "e", "-o", "page.html")
    return formats


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", default="")
    parser.add_argument("--sysroot")
    parser.add_argument("--no-sample", action="store_true")
    options = parser.parse_args()
    only = [v for v in options.only.split(",") if v]
    if not shutil.which("dpkg"):
        sys.exit("make wheels needs Debian or Ubuntu: the licences of the libraries in a wheel come from their packages")
    old = Old(options.sysroot)
    for version, python in pythons.find().items():
        if not only or version in only:
            with tempfile.TemporaryDirectory() as work:
                wheel = build(python, old, work)
                formats = check(python, wheel, work, not options.no_sample)
            print(f"{os.path.relpath(wheel, ROOT)}: {os.path.getsize(wheel) / 1e6:.1f} MB, tried: {', '.join(formats)}", flush=True)


if __name__ == "__main__":
    main()
