# SPDX-License-Identifier: BSD-3-Clause
#: visits  callback 6; leaf 18
#: hooks  evalframe monitoring
#: locations 4
# Threads created in C call Python functions: two callbacks each.
import ctypes

libc = ctypes.CDLL(None)
CALLBACK = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)


def leaf():
    seen.append(1)


@CALLBACK
def callback(_):
    leaf()
    leaf()
    leaf()
    return None


seen = []
handles = [ctypes.c_ulong() for _ in range(3)]
for h in handles:
    libc.pthread_create(ctypes.byref(h), None, callback, None)
    libc.pthread_join(h, None)
for _ in range(3):
    callback(None)
print(len(seen))
