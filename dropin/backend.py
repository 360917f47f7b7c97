# SPDX-License-Identifier: BSD-3-Clause
"""The build backend of spartito-dropin (PEP 517). It has three features that no other backend has:

- The modules are installed into a separate directory, which a .pth file appends to sys.path. So no file of this package replaces
  one of the real package, in whichever order they are installed or removed, and Python imports the real package if it exists.
- If line_profiler or kernprof is installed already, both modules and the command kernprof are omitted; the rest works without them.
- If another real package or command is installed already, the build ends with a message that pip shows: beside the real package,
  this one would have no effect, or its command would replace the real one."""

import base64
import hashlib
import os
import sysconfig
import tarfile
import zipfile

NAME, VERSION = "spartito-dropin", "0.1.0"
REQUIRES = ("spartito>=0.1.0",)
MODULES = ("scorep", "scorep_jupyter", "omnitrace")
SCRIPTS = {"omnitrace-python": "spartito.compat.omnitrace.command"}  # command: module whose script() it calls
OPTIONAL = ("line_profiler", "kernprof")  # installed only if neither exists
COMMAND = "kernprof"  # the command of the modules OPTIONAL
HERE = os.path.dirname(os.path.abspath(__file__))
FILE = "spartito_dropin"
INFO = f"{FILE}-{VERSION}.dist-info"

METADATA = f"""\
Metadata-Version: 2.1
Name: {NAME}
Version: {VERSION}
Summary: The modules scorep and scorep_jupyter, of the Score-P Python bindings and kernel, and omnitrace, by Spartito
License: BSD-3-Clause
Requires-Python: >=3.9
{"".join(f"Requires-Dist: {r}" + chr(10) for r in REQUIRES)}"""
README = f"{FILE}.pth puts this directory at the end of sys.path: a package of the same name elsewhere is found before.\n"
SCRIPT = """\
#!python
# {mark}
import sys

from {module} import script

sys.exit(script())
"""
MARK = "of spartito-dropin"
WHEEL = "Wheel-Version: 1.0\nGenerator: spartito-dropin\nRoot-Is-Purelib: true\nTag: py3-none-any\n"


KERNPROF = """\
#!python
# of whichever kernprof is found first
import sys

from kernprof import main

sys.exit(main())
"""


def real(places: "list[str]", modules: "tuple[str, ...]" = MODULES) -> "list[str]":
    """Messages about modules in these directories that belong to the real packages."""
    found = []
    for place in dict.fromkeys(places):
        for module in modules:
            path = os.path.join(place, module)
            if os.path.exists(os.path.join(path, "__init__.py")) or os.path.exists(path + ".py"):
                found.append(f"the module {module} of another package is installed in {place}")
    return found


def real_scripts(place: str) -> "list[str]":
    """Messages about commands in this directory that belong to the real packages."""
    found = []
    for name in SCRIPTS:
        try:
            with open(os.path.join(place, name), "rb") as f:
                ours = MARK.encode() in f.read(4096)
        except OSError:
            continue
        if not ours:
            found.append(f"the command {name} of another package is installed in {place}")
    return found


def _places() -> "list[str]":
    # pip builds with the interpreter of the environment that it installs into
    return [sysconfig.get_path("purelib"), sysconfig.get_path("platlib")]


def _optional() -> "tuple[str, ...]":
    """The modules OPTIONAL, unless one of them is installed."""
    return () if real(_places(), OPTIONAL) else OPTIONAL


def _refuse_beside_real() -> None:
    found = real(_places())
    found += real_scripts(sysconfig.get_path("scripts"))
    if found:
        names = [name for name in (*MODULES, *SCRIPTS) if any(f" {name} of" in text for text in found)]
        modules = list(dict.fromkeys(name.partition("-")[0] for name in names))
        raise SystemExit(
            f"{NAME} is not installed: {'; '.join(found)} and stays in use. Nothing was changed. To use Spartito in its "
            f"place, remove it first (pip uninstall {' '.join(modules)}) and install {NAME} again."
        )


def _sources(modules: "tuple[str, ...]" = MODULES) -> "list[tuple[str, bytes]]":
    files = []
    for module in modules:
        for above, below, names in os.walk(os.path.join(HERE, module)):
            below[:] = sorted(d for d in below if d != "__pycache__")
            for name in sorted(names):
                path = os.path.join(above, name)
                if not name.endswith((".pyc", ".pyo")):
                    with open(path, "rb") as f:
                        files.append((os.path.relpath(path, HERE), f.read()))
    return files


def _record(files: "list[tuple[str, bytes]]") -> bytes:
    rows = []
    for name, data in files:
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        rows.append(f"{name},sha256={digest},{len(data)}\n")
    return ("".join(rows) + f"{INFO}/RECORD,,\n").encode()


def _write_wheel(directory: str, files: "list[tuple[str, bytes]]") -> str:
    data = f"{FILE}-{VERSION}.data/scripts"
    files += [(f"{data}/{name}", SCRIPT.format(mark=MARK, module=module).encode()) for name, module in SCRIPTS.items()]
    files = [*files, (f"{INFO}/METADATA", METADATA.encode()), (f"{INFO}/WHEEL", WHEEL.encode())]
    name = f"{FILE}-{VERSION}-py3-none-any.whl"
    with zipfile.ZipFile(os.path.join(directory, name), "w", zipfile.ZIP_DEFLATED) as wheel:
        for path, content in [*files, (f"{INFO}/RECORD", _record(files))]:
            entry = zipfile.ZipInfo(path, (2020, 1, 1, 0, 0, 0))
            entry.external_attr = (0o100755 if "/scripts/" in path else 0o100644) << 16
            wheel.writestr(entry, content)
    return name


def build_wheel(wheel_directory: str, config_settings: object = None, metadata_directory: object = None) -> str:
    _refuse_beside_real()
    spare = _optional()
    files = [(f"{FILE}/{path}", data) for path, data in _sources(MODULES + spare)]
    if spare:
        files.append((f"{FILE}-{VERSION}.data/scripts/{COMMAND}", KERNPROF.encode()))
    # pip uninstalls a directory only if it has installed a file in it
    files += [(f"{FILE}/README", README.encode()), (f"{FILE}.pth", f"{FILE}\n".encode())]
    return _write_wheel(wheel_directory, files)


def build_sdist(sdist_directory: str, config_settings: object = None) -> str:
    base = f"{FILE}-{VERSION}"
    with tarfile.open(os.path.join(sdist_directory, base + ".tar.gz"), "w:gz") as sdist:
        for name in ("pyproject.toml", "backend.py", *MODULES, *OPTIONAL):
            sdist.add(
                os.path.join(HERE, name),
                f"{base}/{name}",
                filter=lambda entry: None if "__pycache__" in entry.name else entry,
            )
        path = os.path.join(sdist_directory, "PKG-INFO")
        with open(path, "w", encoding="utf-8") as f:
            f.write(METADATA)
        sdist.add(path, f"{base}/PKG-INFO")
        os.unlink(path)
    return base + ".tar.gz"
