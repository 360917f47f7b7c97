# SPDX-License-Identifier: BSD-3-Clause
#: visits  Point.__init__ 1; show 1
# Introspection gives the program the same results as without Spartito.
import os
import pickle
import sys


class Point:
    def __init__(self, x):
        self.x = x


def show():
    import __main__

    print(__main__.Point is Point, __name__, sys.argv[1:], os.path.basename(__file__))
    print(sys.path[0], sys.flags, sys.warnoptions, sys.getrecursionlimit(), __spec__, __package__)
    print(pickle.loads(pickle.dumps(Point(3))).x, sys.gettrace(), sorted(n for n in vars() if n.startswith("_")))
    frame, depth = sys._getframe(), 0
    while frame:
        frame, depth = frame.f_back, depth + 1
    print(depth, sorted(n for n in __main__.__dict__))


show()
