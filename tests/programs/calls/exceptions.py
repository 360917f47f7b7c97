# SPDX-License-Identifier: BSD-3-Clause
#: visits  deep 2020; catch 20; reraise 5; chain 5; clean 5; Suppress.__enter__ 5; Suppress.__exit__ 5
#: callers  deep by deep 2000; deep by catch 20
class Suppress:
    def __enter__(self):
        return self

    def __exit__(self, *error):
        return True


def deep(n):
    if n == 0:
        raise ValueError("bottom")
    try:
        deep(n - 1)
    finally:
        n += 1


def catch(n):
    try:
        deep(n)
    except ValueError as e:
        return str(e)


def reraise():
    try:
        raise KeyError("a")
    except KeyError:
        raise IndexError("b") from None


def chain():
    try:
        reraise()
    except IndexError as e:
        return type(e.__context__).__name__


def clean():
    with Suppress():
        raise OSError


print([catch(100) for _ in range(20)], [chain() for _ in range(5)], [clean() for _ in range(5)])
