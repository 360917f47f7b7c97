# SPDX-License-Identifier: BSD-3-Clause
"""Script that starts the sampler manager where no launcher can fork it: for a notebook kernel, and on other hosts. A separate
Python runs it. A manager forked from the measured process would share its memory, so each page that the program writes to would be
copied.

Arguments: path of `spartito._sample`; experiment directory; sampling rate in Hz; native (1 or 0); the kernel's process id or 0;
path of the file that the manager removes at its end, or ""; settings, as name and value in turns. The script writes to standard
output the process id of the manager, or why it cannot be started. It ends the manager at the first byte or the end of its standard
input, and exits when all samples are written."""

from __future__ import annotations

import os
import select
import sys
from importlib.machinery import ExtensionFileLoader
from importlib.util import module_from_spec, spec_from_file_location


def leave_parent() -> None:
    """Forks and exits in the parent, so this process is no child of the measured program, whose os.wait() would return it. Closes
    inherited descriptors, which must not stay open longer than in the program."""
    if os.fork():
        os._exit(0)
    for name in os.listdir("/proc/self/fd"):
        if int(name) > 2:
            try:
                os.close(int(name))
            except OSError:
                pass  # the descriptor of the listed directory itself


def main(library: str, directory: str, rate: str, native: str, kernel: str, lock_file: str, *settings: str) -> None:
    leave_parent()
    spec = spec_from_file_location("spartito._sample", library, loader=ExtensionFileLoader("spartito._sample", library))
    assert spec and spec.loader
    _sample = module_from_spec(spec)
    spec.loader.exec_module(_sample)
    why = _sample.check()
    try:
        texts = [os.fsencode(text) for text in settings]
        pid, end = (0, 0) if why else _sample.manage(directory, texts, int(rate), native == "1", int(kernel), lock_file)
    except OSError as e:
        why = e.strerror
    os.write(1, os.fsencode(f"{why or pid}\n"))
    if why:
        return
    os.read(0, 1)  # returns at the kernel's end, too
    os.write(end, b"e")
    select.select([end], [], [], 30)


if __name__ == "__main__":
    main(*sys.argv[1:])
