# SPDX-License-Identifier: BSD-3-Clause
#: options  --c-calls
#: visits  main 1
#: c-calls  builtins:len 100; builtins:abs 50; math:sqrt 30; builtins:isinstance 10; list:append 40; str:upper 20; int:from_bytes 10
#: callers  builtins:len<main 100; math:sqrt<main 30
#: note  C functions are called through names, and two fail
import math


def main():
    box = []
    for n in range(100):
        len(box)
    for n in range(50):
        abs(n)
    for n in range(29):
        math.sqrt(n)
    try:
        math.sqrt(-1)
    except ValueError:
        print("negative")
    for n in range(10):
        isinstance(n, int)
    for n in range(40):
        box.append(n)
    for n in range(20):
        "a".upper()
    for n in range(10):
        int.from_bytes(b"a", "big")


main()
