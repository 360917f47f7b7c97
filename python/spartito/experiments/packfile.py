# SPDX-License-Identifier: BSD-3-Clause
"""An experiment as one compressed file, which any zstd and tar read as well:

    skippable frame   {"spartito pack": 1, "files": N, "bytes": N}
    zstd              a tar archive: regular files below one directory, the last one SHA256SUMS with the digests of all others
    skippable frame   the SHA-256 of every byte before this frame

Unpacking reads the file twice: the first pass checks the digest of the whole file.
The second pass still checks every name and size, as anyone can compute a digest."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import stat
import struct
import tarfile
import tempfile
from typing import TYPE_CHECKING, BinaryIO

from spartito import _analyse
from spartito.base import progress, regular, text
from spartito.base.messages import Refused, reason
from spartito.experiments.rundir import PRELOAD

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Progress = Callable[[int, int], None]

SUMS = "SHA256SUMS"
VERSION = 1
KEY = "spartito pack"
HEAD, FOOT = 0x184D2A50, 0x184D2A51  # magic numbers of the first and the last skippable frame
FRAME = struct.Struct("<II")  # magic, length
DIGEST = hashlib.sha256().digest_size
MAX_HEAD = 4096  # bytes of the first frame's content
BLOCK = 512  # bytes of a tar block
PIECE = 1 << 20  # bytes read at once
MAX_DEPTH, MAX_NAME = 16, 255  # parts of a path; bytes of one part
MAX_SUMS = 1 << 30  # bytes of SHA256SUMS
MAX_TIME = 1 << 40  # maximum of a modification time, in seconds before or after 1970
# Limits against decompression bombs: a packed file may unpack to MAX_GROWTH times its size, or to ALWAYS_ALLOWED bytes if that is
# more. Experiments unpack to 5 to 100 times the size. Each file counts as FILE_BYTES bytes more, as even an empty file takes disk
# space.
MAX_GROWTH, ALWAYS_ALLOWED = 2000, 256 << 20
FILE_BYTES = 4096
MAX_DECLARED = 1 << 62  # maximum of the numbers in the first frame


class Member:
    """A file of the experiment. name: path relative to the experiment directory, with slashes."""

    def __init__(self, name: str, size: int, changed: float) -> None:
        self.name = name
        self.size = size
        self.changed = changed  # seconds since 1970


def is_packed(path: str) -> bool:
    """Whether the path is a regular file that begins like a packed experiment."""
    try:
        with regular.opened(path) as f:
            start = f.read(FRAME.size + len(KEY) + 2)
    except OSError:
        return False
    return len(start) > FRAME.size and FRAME.unpack_from(start)[0] == HEAD and start[FRAME.size :] == b'{"' + KEY.encode()


# ---- writing ----


def members(directory: str) -> tuple[list[Member], list[str]]:
    """The regular files of an experiment, sorted, and a text about each file that is left out. OSError: a directory cannot be
    read."""
    found, left_out = [], []

    def failed(e: OSError) -> None:
        raise e

    for above, directories, names in os.walk(directory, onerror=failed):
        directories.sort()
        for name in [n for n in directories if os.path.islink(os.path.join(above, n))] + sorted(names):
            path = os.path.join(above, name)
            inside = os.path.relpath(path, directory)
            state = os.lstat(path)
            if stat.S_ISREG(state.st_mode):
                if _fault(inside):
                    left_out.append(f"{inside!r}, which {_fault(inside)}")
                else:
                    found.append(Member(inside, state.st_size, state.st_mtime))
            elif inside != PRELOAD:
                left_out.append(f"{inside}, which is a link" if stat.S_ISLNK(state.st_mode) else f"{inside}, which is no file")
    return found, left_out


def _fault(name: str) -> str:
    """What is wrong with a relative path in an experiment; empty: it is valid."""
    parts = name.split("/")
    if any(part in ("", ".", "..") for part in parts):
        return "leads out of it"
    if len(parts) > MAX_DEPTH or any(len(os.fsencode(part)) > MAX_NAME for part in parts):
        return "is too long"
    if not name.isprintable() or "\\" in name or any(0xD800 <= ord(c) < 0xE000 for c in name):
        return "has a name that not every machine can take"
    return "has the name of the list of digests" if name == SUMS else ""


def _header(name: str, size: int, changed: float) -> bytes:
    """The tar header block of a file. ValueError: the name is too long."""
    info = tarfile.TarInfo(name)
    info.size, info.mtime = size, min(max(int(changed), -MAX_TIME), MAX_TIME)
    short = len(name.encode()) <= tarfile.LENGTH_NAME
    block = info.tobuf(tarfile.GNU_FORMAT if short else tarfile.USTAR_FORMAT)
    if len(block) != BLOCK:
        raise ValueError("name is too long")
    return block


class _Writer:
    """Writes a packed file, and computes the digest of all bytes written."""

    def __init__(self, file: BinaryIO) -> None:
        self.file = file
        self.digest = hashlib.sha256()
        self.zstd = _compressor()

    def frame(self, magic: int, content: bytes) -> None:
        self.raw(FRAME.pack(magic, len(content)) + content)

    def raw(self, data: bytes) -> None:
        self.file.write(data)
        self.digest.update(data)

    def add(self, data: bytes) -> None:
        self.raw(self.zstd.add(data))

    def pad(self, size: int) -> None:
        self.add(bytes(-size % BLOCK))


def _compressor() -> _analyse.Compressor:
    if not hasattr(_analyse, "Compressor"):
        raise Refused("this Spartito was built without zstd, and cannot pack")
    return _analyse.Compressor()


def pack(directory: str, path: str, force: bool, progress: Progress) -> tuple[int, int, list[str]]:
    """Writes the packed file, complete or not at all. force: replace an existing file; without it that is refused, as the file may
    be the only copy of an experiment. Returns the bytes before and after, and a text about each file that is left out. Refused,
    OSError: it cannot be written."""
    if not force and os.path.lexists(path):
        raise Refused(f"{path} already exists: name another file with -o, or give --force")
    files, left_out = members(directory)
    if not any(m.name == "merged" or (m.name.startswith("raw/") and m.name.endswith((".raw", ".error"))) for m in files):
        raise Refused(f"{directory} holds no recorded process: nothing is packed")
    total = sum(member.size for member in files)
    fd, new = tempfile.mkstemp(prefix=os.path.basename(path) + ".", dir=os.path.dirname(path) or ".")
    try:
        with os.fdopen(fd, "wb") as f:
            _write(_Writer(f), directory, files, progress)
            after = f.tell()
        _as_made(new, 0o666)
        _put(new, path, force)
    except BaseException:
        os.unlink(new)
        raise
    return total, after, left_out


def _as_made(path: str, rights: int) -> None:
    """Sets the permissions that the umask gives to a new file or directory. tempfile creates them with more restrictive
    permissions."""
    umask = os.umask(0o22)
    os.umask(umask)
    os.chmod(path, rights & ~umask)


def _put(new: str, path: str, force: bool) -> None:
    """Renames the new file to `path`. Without force, a file that another process created meanwhile is not replaced, if the file
    system has hard links. Refused: such a file exists."""
    if not force:
        try:
            os.link(new, path)
        except FileExistsError:
            raise Refused(f"{path} already exists, made by another process at the same time: give --force") from None
        except OSError:
            pass  # the file system has no hard links
        else:
            os.unlink(new)
            return
    os.replace(new, path)


def _write(out: _Writer, directory: str, files: list[Member], progress: Progress) -> None:
    top = os.path.basename(os.path.abspath(directory))
    top = "experiment" if _fault(top) or len(top) > tarfile.LENGTH_NAME // 2 else top
    total = sum(member.size for member in files)
    head = json.dumps({KEY: VERSION, "files": len(files), "bytes": total})
    out.frame(HEAD, head.encode())
    sums, done = [], 0
    for member in files:
        try:
            out.add(_header(f"{top}/{member.name}", member.size, member.changed))
        except ValueError as e:
            raise Refused(f"{os.path.join(directory, member.name)} cannot be packed: its {e}") from None
        sums.append(f"{_copy(out, os.path.join(directory, member.name), member.size, progress, done, total)}  {member.name}\n")
        done += member.size
    digests = "".join(sums).encode()
    out.add(_header(f"{top}/{SUMS}", len(digests), 0) + digests)
    out.pad(len(digests))
    out.add(bytes(2 * BLOCK))
    out.raw(out.zstd.end())
    out.frame(FOOT, out.digest.digest())


def _copy(out: _Writer, path: str, size: int, progress: Progress, before: int, total: int) -> str:
    digest, done = hashlib.sha256(), 0
    with regular.opened(path) as f:
        while piece := f.read(min(PIECE, size - done)):
            digest.update(piece)
            out.add(piece)
            done += len(piece)
            progress(before + done, total)
    if done != size or os.stat(path).st_size != size:
        raise Refused(f"{path} changed while it was packed")
    out.pad(size)
    return digest.hexdigest()


# ---- reading ----


class _Damaged(Exception):
    """A packed file is damaged or suspicious. str() is the end of a sentence about it."""


def unpack(path: str, directory: str, progress: Progress, limit: int = ALWAYS_ALLOWED) -> tuple[int, int]:
    """Unpacks into a new directory, complete or not at all. Returns the number of files and their bytes. limit: total size in bytes
    up to which MAX_GROWTH does not apply; 0: no limit at all. Refused: the file is damaged, too large or no packed experiment.
    OSError: it cannot be read, or the directory cannot be written."""
    if os.path.lexists(directory):
        raise Refused(f"{directory} already exists: name another directory with -o")
    if not hasattr(_analyse, "Decompressor"):
        raise Refused("this Spartito was built without zstd, and cannot unpack")
    parent = os.path.dirname(os.path.abspath(directory))
    with regular.opened(path) as f:
        try:
            begin, end, files, total = _check(f, limit)
            free = shutil.disk_usage(parent).free
            if total > free:
                raise Refused(f"{path}: there is not enough room in {parent} for what is in it")
            new = tempfile.mkdtemp(prefix=os.path.basename(directory) + ".", dir=parent)
            try:
                _read(_Reader(f, begin, end), new, files, total, progress)
                _as_made(new, 0o777)
                os.rename(new, directory)
            except BaseException:
                shutil.rmtree(new, ignore_errors=True)
                raise
        except _Damaged as e:
            raise Refused(f"{path}: {e}") from None
        except _analyse.Error as e:
            raise Refused(f"{path}: damaged: {e}") from None
    return files, total


def _check(f: BinaryIO, limit: int) -> tuple[int, int, int, int]:
    """Checks the digest and the declared size. Returns the offsets of the begin and the end of the archive, the number of files and
    their bytes. limit: as for unpack()."""
    magic, length = _frame(f.read(FRAME.size))
    if magic != HEAD or length > MAX_HEAD:
        raise _Damaged("not a packed experiment")
    files, total = _parse_head(f.read(length))
    begin, size = f.tell(), os.fstat(f.fileno()).st_size
    if limit and total + files * FILE_BYTES > max(limit, size * MAX_GROWTH):
        raise _Damaged(
            f"refused: {text.size(size)} that become {text.size(total)} in {text.plural(files, 'file')} "
            "are more than an experiment has; if you trust its origin: spartito unpack --any-size"
        )
    end = size - FRAME.size - DIGEST
    digest = hashlib.sha256()
    f.seek(0)
    at = 0
    while at < end and (piece := f.read(min(PIECE, end - at))):
        digest.update(piece)
        at += len(piece)
    if _frame(f.read(FRAME.size)) != (FOOT, DIGEST) or end <= begin:
        raise _Damaged("its end is missing")
    if f.read(DIGEST) != digest.digest():
        raise _Damaged("it is not what was packed: its digest is another")
    return begin, end, files, total


def _frame(data: bytes) -> tuple[int, int]:
    return FRAME.unpack(data) if len(data) == FRAME.size else (0, 0)


def _parse_head(data: bytes) -> tuple[int, int]:
    """The number of files and of bytes that the first frame declares."""
    try:
        head = json.loads(data)
        version, files, total = head[KEY], head["files"], head["bytes"]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise _Damaged("not a packed experiment") from None
    if version != VERSION:
        raise _Damaged(f"packed by a newer Spartito: version {version!r:.20}, and this one reads {VERSION}")
    if type(files) is not int or type(total) is not int or not (1 <= files <= MAX_DECLARED and 0 <= total <= MAX_DECLARED):
        raise _Damaged("damaged: it does not say how much is in it")
    return files, total


class _Reader:
    """Reads the decompressed archive piece by piece."""

    def __init__(self, f: BinaryIO, begin: int, end: int) -> None:
        self.file = f
        self.left = end - begin
        self.zstd = _analyse.Decompressor()
        f.seek(begin)

    def _feed(self) -> None:
        data = self.file.read(min(self.left, PIECE))
        if not data:
            raise _Damaged("damaged: the archive in it is truncated")
        self.left -= len(data)
        self.zstd.feed(data)

    def pieces(self, size: int) -> Iterator[bytes]:
        """The next `size` bytes."""
        while size:
            piece = self.zstd.take(min(size, PIECE))
            if not piece:
                self._feed()
            size -= len(piece)
            yield piece

    def block(self) -> bytes:
        return b"".join(self.pieces(BLOCK))

    def skip_padding(self, size: int) -> None:
        for _ in self.pieces(-size % BLOCK):
            pass

    def at_end(self) -> bool:
        while not self.zstd.take(1):
            if not self.left:
                return self.zstd.ended
            self._feed()
        return False


def _read(r: _Reader, directory: str, files: int, total: int, progress: Progress) -> None:
    sums: dict[str, str] = {}
    top, done = "", 0
    while True:
        member = _member(r.block())
        above, _, name = member.name.partition("/")
        top = top or above
        if above != top or not name:
            raise _Damaged(f"damaged: {member.name!r} is not in its directory")
        if name == SUMS:
            break
        if _fault(name):
            raise _Damaged(f"refused: {name!r} {_fault(name)}")
        if name in sums:
            raise _Damaged(f"refused: {name!r} is in it twice")
        if len(sums) == files or member.size > total - done:
            raise _Damaged("refused: it contains more than it declares")
        sums[name] = _extract(r, directory, member.size, name, member.changed)
        done += member.size
        progress(done, total)
    if member.size > min(MAX_SUMS, sum(len(name.encode()) + 2 * DIGEST + 3 for name in sums)):
        raise _Damaged("damaged: its list of digests is too long")
    sums_file = b"".join(r.pieces(member.size))
    r.skip_padding(member.size)
    if sums_file != "".join(f"{digest}  {name}\n" for name, digest in sums.items()).encode():
        raise _Damaged("damaged: a file in it is not what was packed")
    if r.block() + r.block() != bytes(2 * BLOCK) or not r.at_end() or len(sums) != files or done != total:
        raise _Damaged("damaged: it does not end as it should")


def _member(block: bytes) -> Member:
    try:
        info = tarfile.TarInfo.frombuf(block, "utf-8", "strict")
    except (tarfile.HeaderError, ValueError):
        raise _Damaged("damaged: the archive in it is no tar file") from None
    if info.type not in (tarfile.REGTYPE, tarfile.AREGTYPE) or info.size < 0:
        raise _Damaged(f"refused: {info.name!r} is no file")
    if not -MAX_TIME <= info.mtime <= MAX_TIME:
        raise _Damaged(f"refused: {info.name!r} has a time that no file has")
    return Member(info.name, info.size, info.mtime)


def _extract(r: _Reader, directory: str, size: int, name: str, changed: float) -> str:
    path = os.path.join(directory, name)
    digest = hashlib.sha256()
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o666)
    except (FileExistsError, NotADirectoryError):
        raise _Damaged(f"refused: {name!r} is a file and a directory") from None
    with os.fdopen(fd, "wb") as f:
        for piece in r.pieces(size):
            digest.update(piece)
            f.write(piece)
    r.skip_padding(size)
    os.utime(path, (changed, changed))
    return digest.hexdigest()


def written(directory: str, path: str, force: bool) -> tuple[int, int, list[str]]:
    """pack() with a progress bar. Refused: the file cannot be written."""
    try:
        title = f"packing {os.path.basename(directory)}"
        return progress.with_bar(title, lambda progress: pack(directory, path, force, progress))
    except OSError as e:
        raise _not_written(path, e) from None


def unpacked(path: str, directory: str, limit: int = ALWAYS_ALLOWED) -> tuple[int, int]:
    """unpack() with a progress bar. Refused: it failed."""
    try:
        title = f"unpacking {os.path.basename(path)}"
        return progress.with_bar(title, lambda progress: unpack(path, directory, progress, limit))
    except OSError as e:
        raise _not_written(directory, e) from None


def _not_written(path: str, e: OSError) -> Refused:
    """The error for the user. It names `path` instead of the temporary file or directory beside it."""
    name = str(e.filename or path)
    return Refused(f"{path if os.path.abspath(name).startswith(os.path.abspath(path)) else name}: {reason(e)}")
