# SPDX-License-Identifier: BSD-3-Clause
#: visits  leaf 50
#: free  tracer wait
# A forked child keeps the profile function, although Python deletes there a thread that had the same function.
import os
import sys
import threading
import warnings


def leaf():
    return 1


def tracer(frame, event, arg):
    if frame.f_code is leaf.__code__:
        seen.append(event)


seen = []
warnings.simplefilter("ignore")
threading.setprofile(tracer)
sys.setprofile(tracer)
go, ready = threading.Lock(), threading.Event()
go.acquire()


def wait():
    ready.set()
    go.acquire()


t = threading.Thread(target=wait)
t.start()
ready.wait()
child = os.fork()
for _ in range(25):
    leaf()
if child:
    os.waitpid(child, 0)
    go.release()
    t.join()
print(len(seen), sys.getprofile() is tracer, flush=True)
sys.setprofile(None)
