# SPDX-License-Identifier: BSD-3-Clause
#: visits  deep 1; down 15001; leaf 100; other 1
# A thread whose stack is too small for the frame evaluator: another hook takes over, for which something is imported.
# That is not recorded; another thread calls functions meanwhile, which is.
import sys
import threading


class AtExit:
    """Imports atexit as it is, when the other thread has done its part."""

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
now.set()  # where nothing was imported
helper.join()
sys.modules.setdefault("atexit", kept)
