# SPDX-License-Identifier: BSD-3-Clause
#: options  --io
#: visits  main 1; work 1; handlers 1
#: free  handler
# A C signal handler (the interpreter's, which writes to the wake-up descriptor) interrupts the program many thousand
# times. The program's own handlers, and earlier ones, are returned as without Spartito.
import ctypes
import os
import signal

c = ctypes.CDLL(None)
c.signal.restype = c.bsd_signal.restype = ctypes.c_void_p
count = 0


def handler(number, frame):
    global count
    count += 1


def work():
    fd = os.open("/dev/zero", os.O_RDWR)
    while count < 3000:
        os.read(fd, 3)
        os.write(fd, b"four")
    os.close(fd)


def handlers():
    """signal() of the C library for SIGUSR1: (was the new handler set, was the old one set again, the old handler)."""
    mine = ctypes.CFUNCTYPE(None, ctypes.c_int)(lambda n: None)
    address = ctypes.cast(mine, ctypes.c_void_p).value
    before = c.signal(signal.SIGUSR1, mine)
    seen = c.signal(signal.SIGUSR1, ctypes.c_void_p(before)) == address
    return seen, c.signal(signal.SIGUSR1, ctypes.c_void_p(before)) == before, before


def main():
    r, w = os.pipe()
    os.set_blocking(r, False)
    os.set_blocking(w, False)
    signal.set_wakeup_fd(w, warn_on_full_buffer=False)
    signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, 0.0001, 0.0001)
    work()
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.set_wakeup_fd(-1)
    print(len(os.read(r, 1000)) == 1000, signal.getsignal(signal.SIGALRM) is handler)
    print(handlers(), signal.getsignal(signal.SIGINT) is signal.default_int_handler)
    os.kill(os.getpid(), signal.SIGINT)


try:
    main()
except KeyboardInterrupt:
    print("interrupted")
