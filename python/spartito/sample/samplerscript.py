# SPDX-License-Identifier: BSD-3-Clause
"""The process between a measured one and the one that samples it, where no launcher can fork that: between a kernel and the sampler
of its cells, and on other hosts. Run as a script, by a Python that imports nothing else: forked from the process itself, it would
share its memory, and each page that the program writes to would be copied.

arguments: path of `spartito._sample`, directory, rate, native, the kernel's process id or 0, file to be taken away at the end or
nothing, settings. It says the process id of the sampler, or a sentence about why there is none, and ends when the samples are
complete after its input has ended or holds a byte."""

from __future__ import annotations

import os
import select
import sys
from importlib.machinery import ExtensionFileLoader
from importlib.util import module_from_spec, spec_from_file_location


def leave_parent() -> None:
    """The program's own children are those that it has started, and its descriptors are closed when it closes them."""
    if os.fork():
        os._exit(0)
    for name in os.listdir("/proc/self/fd"):
        if int(name) > 2:
            try:
                os.close(int(name))
            except OSError:
                pass  # what the list was read from


def main(library: str, directory: str, rate: str, native: str, kernel: str, place: str, *settings: str) -> None:
    leave_parent()
    spec = spec_from_file_location("spartito._sample", library, loader=ExtensionFileLoader("spartito._sample", library))
    assert spec and spec.loader
    _sample = module_from_spec(spec)
    spec.loader.exec_module(_sample)
    why = _sample.check()
    try:
        texts = [os.fsencode(text) for text in settings]
        pid, end = (0, 0) if why else _sample.manage(directory, texts, int(rate), native == "1", int(kernel), place)
    except OSError as e:
        why = e.strerror
    os.write(1, os.fsencode(f"{why or pid}\n"))
    if why:
        return
    os.read(0, 1)  # its end is the kernel's
    os.write(end, b"e")
    select.select([end], [], [], 30)


if __name__ == "__main__":
    main(*sys.argv[1:])
