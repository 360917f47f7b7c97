# SPDX-License-Identifier: BSD-3-Clause
"""Opens files of an untrusted directory. Only regular files are opened: opening a FIFO would block, and a device may have no
end."""

from __future__ import annotations

import errno
import os
import stat

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import BinaryIO

MIB = 1 << 20  # bytes


def descriptor(path: str, flags: int = os.O_RDONLY) -> int:
    """A file descriptor of a regular file. OSError: it is not a regular file or cannot be opened. ValueError: the path contains a
    NUL."""
    try:
        fd = os.open(path, flags | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    except OSError as e:
        if e.errno == errno.ENXIO:  # the path is a socket, or a device without a driver
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
    """The content of a regular file. OSError: it cannot be read, or is larger than `limit` bytes."""
    with os.fdopen(descriptor(path, flags), "rb") as f:
        if os.fstat(f.fileno()).st_size <= limit:
            data = f.read(limit + 1) or b""  # None: reading would block
            if len(data) <= limit:
                return data
    raise OSError(errno.EFBIG, f"larger than {limit >> 20} MiB", path)
