# SPDX-License-Identifier: BSD-3-Clause
#: visits  work 10; quiet 5; decorated 7; waiting 1
#: resumed  waiting 1
#: user  phase 10; marked 7; outer 10; slow answer 1
import asyncio

import spartito


def quiet():
    return 1


@spartito.region("marked")
def decorated():
    return 1


def work(n):
    with spartito.region("outer"), spartito.region("phase"):
        spartito.parameter("n", n)
        spartito.counter("load", n / 2)


@spartito.region("slow answer")
async def waiting():
    await asyncio.sleep(0)


for n in range(10):
    work(n)
spartito.marker("half")
spartito.pause()
for _ in range(100):
    quiet()
spartito.resume()
for _ in range(5):
    quiet()
for _ in range(7):
    decorated()
asyncio.run(waiting())
print("end")
