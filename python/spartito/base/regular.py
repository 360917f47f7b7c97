# SPDX-License-Identifier: BSD-3-Clause
"""Opening files that others made: what has their name may be a FIFO, which would be waited for, or a device without an end."""

from __future__ import annotations

import errno
import os
import stat

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import BinaryIO

MIB = 1 << 20  # bytes


def descriptor(path: str, flags: int = os.O_RDONLY) -> int:
    """Of a regular file. OSError: it is none, or it cannot be opened. ValueError: there can be no such path."""
    try:
        fd = os.open(path, flags | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    except OSError as e:
        if e.errno == errno.ENXIO:  # a socket, or a device without a driver
            raise _not_regular(path) from None
        raise
    if stat.S_ISREG(os.fstat(fd).st_mode):
        return fd
    os.close(fd)
    raise _not_regular(path)


def _not_regular(path: str) -> OSError:
    return OSError(errno.EINVAL, "not a regular file", path)


def opened(path: str) -> BinaryIO:
    return os.fdopen(descriptor(path), "rb")


def content(path: str, limit: int, flags: int = os.O_RDONLY) -> bytes:
    """All of a file. OSError: also where it has more than `limit` bytes."""
    with os.fdopen(descriptor(path, flags), "rb") as f:
        if os.fstat(f.fileno()).st_size <= limit:
            data = f.read(limit + 1) or b""  # nothing: what would block
            if len(data) <= limit:
                return data
    raise OSError(errno.EFBIG, f"larger than {limit >> 20} MiB", path)
