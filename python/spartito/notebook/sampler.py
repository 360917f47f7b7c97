# SPDX-License-Identifier: BSD-3-Clause
"""The process between a kernel and the one that samples it. Run as a script, by a Python that imports nothing else: forked from the
kernel itself, it would share the kernel's memory, and each page that the cell writes to would be copied.

arguments: path of `spartito._sample`, directory, rate, native, the kernel's process id, settings. It says the process id of the
sampler, or a sentence about why there is none, and ends when the samples are complete after its input has ended or holds a byte."""

from __future__ import annotations

import os
import select
import sys
from importlib.machinery import ExtensionFileLoader
from importlib.util import module_from_spec, spec_from_file_location


def main(library: str, directory: str, rate: str, native: str, kernel: str, *settings: str) -> None:
    spec = spec_from_file_location("spartito._sample", library, loader=ExtensionFileLoader("spartito._sample", library))
    assert spec and spec.loader
    _sample = module_from_spec(spec)
    spec.loader.exec_module(_sample)
    if os.fork():
        os._exit(0)  # the kernel's own children are those of its user
    why = _sample.check()
    try:
        texts = [os.fsencode(text) for text in settings]
        pid, end = (0, 0) if why else _sample.manage(directory, texts, int(rate), native == "1", int(kernel))
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
