# SPDX-License-Identifier: BSD-3-Clause
#: visits  ticks 3; early 1; forever 1; main 1
#: resumed  ticks 12; early 3; forever 2; main 5
import asyncio


async def ticks(n):
    for i in range(n):
        yield i  # n resumptions


async def early():
    try:
        yield 1
        yield 2
    except KeyError:
        yield 3


async def forever():
    try:
        while True:
            await asyncio.sleep(0)
            yield 1
    finally:
        print("closed")


async def main():
    for n in (3, 4, 5):
        print([x async for x in ticks(n)])
    g = early()
    print(await g.asend(None), await g.asend(None), await g.athrow(KeyError))
    await g.aclose()
    g = forever()
    print(await g.asend(None))  # main and forever once each for sleep
    await g.aclose()
    for _ in range(4):
        await asyncio.sleep(0)


asyncio.run(main())
