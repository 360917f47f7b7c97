# SPDX-License-Identifier: BSD-3-Clause
#: visits  main 1; worker 100; failing 1; forever 2; forks 1; pending 1
#: resumed  main 4; worker 200
#: inherits  forks 1
import asyncio
import concurrent.futures
import os
import threading


async def worker():
    for _ in range(2):
        await asyncio.sleep(0)


async def failing():
    raise ValueError


async def forever():
    await asyncio.Event().wait()


async def forks():
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)


async def pending():
    await asyncio.Event().wait()


async def main():
    await asyncio.gather(*(worker() for _ in range(100)))
    results = await asyncio.gather(failing(), forks(), return_exceptions=True)
    print(type(results[0]).__name__)
    waiting = [asyncio.ensure_future(forever()) for _ in range(2)]
    await asyncio.sleep(0)
    for one in waiting:
        one.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)


asyncio.run(main())

loop = asyncio.new_event_loop()
left = loop.create_task(pending())
loop.run_until_complete(asyncio.sleep(0))
left._log_destroy_pending = False
loop.close()

thread = threading.Thread(target=print, args=("thread",))
thread.start()
thread.join()
with concurrent.futures.ThreadPoolExecutor(2) as pool:
    print(sum(pool.map(abs, range(-9, 1))))
