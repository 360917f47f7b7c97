# SPDX-License-Identifier: BSD-3-Clause
#: options  --io
#: visits  main 1; write 1; read 1; places 1; memory 1; pointer 5
#: side  text.txt other.txt
# Streams of the C library, as an extension module uses them: the contents of their buffers, and the times of writes, are
# the same as without the wrappers.
import ctypes
import os

c = ctypes.CDLL(None, use_errno=True)
for name in ("fopen", "freopen", "fdopen", "fmemopen"):
    getattr(c, name).restype = ctypes.c_void_p
c.fgets.restype = ctypes.c_char_p
c.ftell.restype = ctypes.c_long


def pointer(value):
    return ctypes.c_void_p(value)


def write():
    f = pointer(c.fopen(b"text.txt", b"w"))
    print(c.fputs(b"first line\n", f) >= 0, c.fputc(ord("a"), f), c.putc(ord("\n"), f), c.fwrite(b"12345678", 4, 2, f))
    print(c.fprintf(f, b"%s %d\n", b"seven", 7), os.path.getsize("text.txt"), c.fflush(f), os.path.getsize("text.txt"))
    f = pointer(c.freopen(b"other.txt", b"a", f))
    print(c.fputs(b"other", f) >= 0, c.fclose(f), os.path.getsize("other.txt"))


def read():
    f = pointer(c.fopen(b"text.txt", b"r"))
    line = ctypes.create_string_buffer(50)
    print(c.fgets(line, 50, f), chr(c.fgetc(f)), chr(c.ungetc(ord("z"), f)), chr(c.getc(f)))
    print(c.fread(line, 3, 100, f), line.value, c.fgetc(f), c.fgets(line, 50, f), c.feof(f), c.ferror(f))
    c.fclose(f)
    ctypes.set_errno(0)
    print(c.fopen(b"missing", b"r"), ctypes.get_errno())


def places():
    f = pointer(c.fdopen(os.open("text.txt", os.O_RDWR), b"r+"))
    print(c.fseek(f, 4, 0), c.ftell(f), c.fseek(f, -1, 2), c.ftell(f), c.fseek(f, -100, 0), ctypes.get_errno())
    c.rewind(f)
    print(c.ftell(f), chr(c.fgetc(f)), c.fclose(f))


def memory():
    room = ctypes.create_string_buffer(20)
    f = pointer(c.fmemopen(room, 20, b"w"))
    print(c.fputs(b"no descriptor", f) >= 0, c.fclose(f), room.value)


def main():
    write()
    read()
    places()
    memory()


main()
