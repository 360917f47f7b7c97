# SPDX-License-Identifier: BSD-3-Clause
#: options  --io
#: visits  main 1; transfer 1; vectors 1; copies 1; failures 1; inherited 1
#: side  data.bin
# File I/O with descriptors: every call succeeds or fails as without the wrappers.
import fcntl
import os


def transfer():
    fd = os.open("data.bin", os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o640)
    print(os.write(fd, b"x" * 1000), os.pwrite(fd, b"yy", 10), os.lseek(fd, -990, os.SEEK_END))
    print(os.read(fd, 5), os.pread(fd, 4, 9), os.read(fd, 5000)[:2])
    os.fsync(fd)
    os.fdatasync(fd)
    os.close(fd)
    print(oct(os.stat("data.bin").st_mode & 0o777))


def vectors():
    fd = os.open("data.bin", os.O_RDWR)
    parts = [bytearray(3), bytearray(4)]
    print(os.readv(fd, parts), os.writev(fd, [b"ab", b"c"]), os.preadv(fd, parts, 8), os.pwritev(fd, [b"d"], 20), parts)
    os.close(fd)


def copies():
    fd = os.open("data.bin", os.O_RDONLY)
    other = os.dup(fd)
    os.dup2(fd, 77)
    third = fcntl.fcntl(fd, fcntl.F_DUPFD, 90)
    print(third, os.read(77, 2), os.get_inheritable(other))
    os.dup2(other, 77)
    for n in (fd, other, 77, third):
        os.close(n)


def failures():
    for call in (
        lambda: os.open("no such file", os.O_RDONLY),
        lambda: os.read(12345, 1),
        lambda: os.close(12345),
        lambda: os.lseek(12345, 0, 0),
        lambda: os.write(os.open("data.bin", os.O_RDONLY), b"x"),
    ):
        try:
            call()
        except OSError as e:
            print(e.errno, e.strerror)


def inherited():
    r, w = os.pipe()
    os.write(w, b"through a pipe")
    print(os.read(r, 100))
    os.closerange(r, w + 1)


def main():
    transfer()
    vectors()
    copies()
    failures()
    inherited()


main()
