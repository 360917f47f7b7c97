# SPDX-License-Identifier: BSD-3-Clause
#: hooks  monitoring setprofile
#: options  --c-calls
#: visits  main 1
#: c-calls  builtins:<built-in method builtins.abs> 50; math:<built-in method math.sqrt> 30
#: c-calls  builtins:<built-in method builtins.divmod> 10; <method 'upper' of 'str' objects> 20
#: c-calls  <method 'from_bytes' of 'int' objects> 17; <method 'insert' of 'list' objects> 15; <method 'mro' of 'type' objects> 3
#: callers  builtins:<built-in method builtins.len> by main 100; math:<built-in method math.sqrt> by main 30; <method 'append' of 'list' objects> by main 40
#: note  the names are those of cProfile
# C functions appear below their callers and do not replace them; one raises. A method is named with the type that defines it.
import math


class Box(list):
    pass


class OtherBox(Box):
    pass


class Number(int):
    pass


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
        divmod(n, 3)
    for n in range(40):
        box.append(n)
    for n in range(20):
        "a".upper()
    for n in range(10):
        int.from_bytes(b"a", "big")
    for n in range(5):
        for box in Box(), OtherBox(), []:
            insert = box.insert
            insert(0, n)
    for n in range(7):
        Number.from_bytes(b"a", "big")
    for n in range(3):
        Number.mro()


main()
