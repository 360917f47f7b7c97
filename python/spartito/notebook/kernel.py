# SPDX-License-Identifier: BSD-3-Clause
"""The kernel of `spartito kernel install`: ipykernel with the magics, and the libraries of --io and --waits in front of all."""

from __future__ import annotations

import json
import os
import sys

from spartito.base.messages import Refused
from spartito.run import preload

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import NoReturn

# a notebook's directory may have any module, which is not to be found before ipykernel's and ours
CODE = "import sys; sys.path[:] = [p for p in sys.path if p]; from spartito.notebook.kernel import main; main()"
# what LD_PRELOAD was before: with it the process is started a second time, as the dynamic linker reads it only then
BEFORE = "SPARTITO_KERNEL_PRELOAD"
MEMORY = "SPARTITO_KERNEL_MEMORY"  # set: with the library of --memory-profile in front, too
MARK = "spartito.notebook.kernel"  # in the command line of kernels that are ours


def specification(display: str, options: Sequence[str] = (), memory: bool = False) -> dict[str, object]:
    """The contents of kernel.json. options: of ipykernel; memory: with the wrappers of malloc() as well."""
    return {
        "argv": [sys.executable, "-c", CODE, "-f", "{connection_file}", *options],
        "display_name": display,
        "language": "python",
        "metadata": {"debugger": True},
        **({"env": {MEMORY: "1"}} if memory else {}),
    }


def _manager() -> object:
    """Refused: it is not there."""
    try:
        import ipykernel  # noqa: F401
        from jupyter_client.kernelspec import KernelSpecManager
    except ImportError as e:
        raise Refused(f"{e.name or 'ipykernel'} is not installed for this Python: pip install ipykernel") from None
    made: object = KernelSpecManager()
    return made


def install(name: str, display: str, user: bool, prefix: str | None, options: Sequence[str] = (), memory: bool = False) -> str:
    """Where it is now; one of that name is replaced. Refused, OSError: it cannot be written."""
    from tempfile import TemporaryDirectory

    manager = _manager()
    with TemporaryDirectory() as made:
        os.chmod(made, 0o755)  # it is copied with its rights
        with open(os.path.join(made, "kernel.json"), "w", encoding="utf-8") as f:
            json.dump(specification(display, options, memory), f, indent=1)
            f.write("\n")
        try:
            path = manager.install_kernel_spec(made, name, user=user, prefix=prefix)  # type: ignore[attr-defined]
        except ValueError as e:
            raise Refused(f"--name: {e}") from None
    return str(path)


def remove(name: str) -> str:
    """Where it was. Refused: there is none, or it is none of ours."""
    manager = _manager()
    found = manager.find_kernel_specs().get(name)  # type: ignore[attr-defined]
    if not found:
        raise Refused(f"there is no kernel {name!r}; `jupyter kernelspec list` lists them")
    with open(os.path.join(found, "kernel.json"), encoding="utf-8") as f:
        text = f.read()
    if MARK not in text:
        raise Refused(f"the kernel in {found} was not made by `spartito kernel install`")
    return str(manager.remove_kernel_spec(name))  # type: ignore[attr-defined]


def _again() -> None:
    """Starts this process anew with the library, under the same number; comes back where that cannot be: --io will say so."""
    environment = dict(os.environ)
    environment[BEFORE] = environment.get("LD_PRELOAD", "")
    try:
        asked = {"io": "--io", "waits": "--waits", **({"memory_profile": "--memory"} if environment.get(MEMORY) else {})}
        preload.add_needed(environment, os.devnull, asked)
        os.execve(sys.executable, [sys.executable, "-c", CODE, *sys.argv[1:]], environment)
    except (Refused, OSError):
        pass


def main() -> NoReturn:
    before = os.environ.pop(BEFORE, None)
    if before is None:
        _again()
    elif before:
        os.environ["LD_PRELOAD"] = before
    else:
        os.environ.pop("LD_PRELOAD", None)  # what a cell starts is not measured
    os.environ.pop(MEMORY, None)
    from ipykernel.kernelapp import IPKernelApp

    app = IPKernelApp.instance()
    app.initialize(sys.argv[1:])
    app.shell.extension_manager.load_extension("spartito")
    app.start()
    sys.exit(0)
