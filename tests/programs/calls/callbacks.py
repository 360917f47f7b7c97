# SPDX-License-Identifier: BSD-3-Clause
#: visits  on_gc 4; on_death 10; on_signal 3; Dying.__del__ 10; key 8
# Python functions called by the interpreter: gc, weak references, finalizers, signal handlers, sort keys.
import gc
import os
import signal
import weakref


class Dying:
    def __del__(self):
        deaths.append(1)


def on_gc(phase, info):
    phases.append(phase)


def on_death(ref):
    refs.append(1)


def on_signal(number, frame):
    signals.append(number)


def key(x):
    return -x


deaths, phases, refs, signals = [], [], [], []
gc.disable()
gc.callbacks.append(on_gc)
gc.collect()
gc.collect()
gc.callbacks.remove(on_gc)
kept = []
for _ in range(10):
    thing = Dying()
    kept.append(weakref.ref(thing, on_death))
    del thing
signal.signal(signal.SIGUSR1, on_signal)
for _ in range(3):
    os.kill(os.getpid(), signal.SIGUSR1)
print(len(deaths), phases, len(refs), len(signals), sorted(range(8), key=key))
