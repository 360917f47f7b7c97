# SPDX-License-Identifier: BSD-3-Clause
"""The kernel of `spartito kernel install`: ipykernel with Spartito's magics and the preloaded libraries of --io and --waits."""

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

# a module in the notebook's directory must not replace one of ipykernel or Spartito
CODE = "import sys; sys.path[:] = [p for p in sys.path if p]; from spartito.notebook.kernel import main; main()"
# LD_PRELOAD before _again() changed it. The kernel executes itself a second time, as the dynamic linker reads LD_PRELOAD at exec.
BEFORE = "SPARTITO_KERNEL_PRELOAD"
MEMORY = "SPARTITO_KERNEL_MEMORY"  # set: the library of --memory-profile is preloaded, too
MARK = "spartito.notebook.kernel"  # in kernel.json of the kernels that `spartito kernel install` has made


def specification(display: str, options: Sequence[str] = (), memory: bool = False) -> dict[str, object]:
    """The contents of kernel.json. options: for ipykernel. memory: preload the library of --memory-profile."""
    return {
        "argv": [sys.executable, "-c", CODE, "-f", "{connection_file}", *options],
        "display_name": display,
        "language": "python",
        "metadata": {"debugger": True},
        **({"env": {MEMORY: "1"}} if memory else {}),
    }


def _manager() -> object:
    """Jupyter's manager of kernel specifications. Refused: Jupyter is not installed."""
    try:
        import ipykernel  # noqa: F401
        from jupyter_client.kernelspec import KernelSpecManager
    except ImportError as e:
        raise Refused(f"{e.name or 'ipykernel'} is not installed for this Python: pip install ipykernel") from None
    made: object = KernelSpecManager()
    return made


def install(name: str, display: str, user: bool, prefix: str | None, options: Sequence[str] = (), memory: bool = False) -> str:
    """Installs a kernel and replaces one of the same name. Returns its directory. Refused, OSError: it cannot be written."""
    from tempfile import TemporaryDirectory

    manager = _manager()
    with TemporaryDirectory() as made:
        os.chmod(made, 0o755)  # install_kernel_spec() copies the permissions
        with open(os.path.join(made, "kernel.json"), "w", encoding="utf-8") as f:
            json.dump(specification(display, options, memory), f, indent=1)
            f.write("\n")
        try:
            path = manager.install_kernel_spec(made, name, user=user, prefix=prefix)  # type: ignore[attr-defined]
        except ValueError as e:
            raise Refused(f"--name: {e}") from None
    return str(path)


def remove(name: str) -> str:
    """Removes a kernel and returns its former directory. Refused: it does not exist, or `spartito kernel install` did not make
    it."""
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
    """Executes this process again with the libraries preloaded. Returns only if that fails; later, --io reports the missing
    library."""
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
        os.environ.pop("LD_PRELOAD", None)  # programs that cells start do not inherit the libraries
    os.environ.pop(MEMORY, None)
    from ipykernel.kernelapp import IPKernelApp

    app = IPKernelApp.instance()
    app.initialize(sys.argv[1:])
    app.shell.extension_manager.load_extension("spartito")
    app.start()
    sys.exit(0)
