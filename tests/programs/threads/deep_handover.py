# SPDX-License-Identifier: BSD-3-Clause
#: visits  deep 1; down 15001; leaf 100; other 1
# A thread's C stack is too small for the frame evaluator: the recorder changes to another hook, and imports a module for it.
# The import is not recorded. Another thread calls functions meanwhile, which must be recorded.
import sys
import threading


class AtExit:
    """A finder that imports the kept module atexit once the other thread has made its calls."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        if name != "atexit":
            return None
        sys.meta_path.remove(AtExit)
        now.set()
        done.wait()
        return type(sys.__spec__)(name, AtExit)

    @staticmethod
    def create_module(spec):
        return kept

    @staticmethod
    def exec_module(module):
        pass


def leaf():
    pass


def other():
    now.wait()
    for _ in range(100):
        leaf()
    done.set()


def down(n):
    return down(n - 1) + 1 if n else 0


def deep():
    print(down(15000))


now, done = threading.Event(), threading.Event()
import atexit

kept = sys.modules.pop("atexit")
del atexit
sys.meta_path.insert(0, AtExit)
sys.setrecursionlimit(1 << 30)
helper = threading.Thread(target=other)
helper.start()
threading.stack_size(16 << 20)
thread = threading.Thread(target=deep)
thread.start()
thread.join()
now.set()  # in case nothing was imported
helper.join()
sys.modules.setdefault("atexit", kept)
