# SPDX-License-Identifier: BSD-3-Clause
#: visits  line 3
#: stdin  one\ntwo\nthree\n
import sys


def line(text):
    print(text.strip()[::-1])


for text in sys.stdin:
    line(text)
