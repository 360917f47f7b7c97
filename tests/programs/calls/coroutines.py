# SPDX-License-Identifier: BSD-3-Clause
#: visits  main 1; worker 20; stream 1; Gate.__aenter__ 1; Gate.__aexit__ 1; failing 1; nested 1; Again.__await__ 3; crowd 1
#: resumed  main 10; worker 60; crowd 1; stream 5; failing 1; nested 3; Again.__await__ 3; Gate.__aenter__ 0; Gate.__aexit__ 1
import asyncio


class Again:
    def __await__(self):
        yield


class Gate:
    async def __aenter__(self):
        return self

    async def __aexit__(self, *error):
        await asyncio.sleep(0)


async def worker():
    for _ in range(3):
        await asyncio.sleep(0)


async def stream():
    for i in range(5):
        yield i


async def failing():
    await asyncio.sleep(0)
    raise ValueError


async def nested():
    for _ in range(3):
        await Again()


async def main():
    for _ in range(5):
        await asyncio.sleep(0)  # 5 resumptions
    print(sum([i async for i in stream()]))
    async with Gate():  # 1
        pass
    try:
        await failing()  # 1
    except ValueError:
        print("failed")
    await nested()  # 3


async def crowd():
    await asyncio.gather(*(worker() for _ in range(20)))


asyncio.run(main())
asyncio.run(crowd())
