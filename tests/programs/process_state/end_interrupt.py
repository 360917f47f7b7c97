# SPDX-License-Identifier: BSD-3-Clause
#: visits  main 1; leaf 10
#: exit SIGINT
import os
import signal


def leaf():
    return 1


def main():
    for _ in range(10):
        leaf()
    os.kill(os.getpid(), signal.SIGINT)
    signal.pause()


signal.signal(signal.SIGINT, signal.default_int_handler)
main()
