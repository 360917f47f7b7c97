# SPDX-License-Identifier: BSD-3-Clause
"""A server of accounts with asyncio, and the clients that use it. A client sends lines of JSON: some log in with a password,
others only ask for their balance. At the end the program prints how long the answers took.
As accounts.py, but a thread computes the hash of a password."""

import asyncio
import hashlib
import json
import statistics
import time

USERS = 8
ITERATIONS = 200_000  # of PBKDF2; servers have some 100,000 to 600,000


def password_hash(password, salt):
    return hashlib.pbkdf2_hmac("sha256", password.encode(), salt, ITERATIONS).hex()


class Accounts:
    def __init__(self):
        salt = b"a salt of 16 by."
        stored = password_hash("correct horse", salt)
        self.users = {f"user{n}": {"salt": salt, "hash": stored, "balance": 100 + n} for n in range(USERS)}

    async def login(self, request):
        user = self.users[request["user"]]
        return {"ok": await asyncio.to_thread(password_hash, request["password"], user["salt"]) == user["hash"]}

    async def balance(self, request):
        return {"balance": self.users[request["user"]]["balance"]}

    async def serve(self, reader, writer):
        """One connection: answers requests until the client closes it."""
        async for line in reader:
            request = json.loads(line)
            answer = await getattr(self, request["do"])(request)
            writer.write(json.dumps(answer).encode() + b"\n")
            await writer.drain()
        writer.close()


async def client(port, requests, pause):
    """Sends the requests one after the other; returns the seconds of each answer."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    seconds = []
    for request in requests:
        begin = time.perf_counter()
        writer.write(json.dumps(request).encode() + b"\n")
        await reader.readline()
        seconds.append(time.perf_counter() - begin)
        await asyncio.sleep(pause)
    writer.close()
    return seconds


async def main():
    accounts = Accounts()
    server = await asyncio.start_server(accounts.serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    logins = [client(port, [{"do": "login", "user": f"user{n}", "password": "correct horse"}], 0.0) for n in range(USERS)]
    readers = [client(port, [{"do": "balance", "user": f"user{n}"}] * 50, 0.01) for n in range(USERS)]
    answers = await asyncio.gather(*readers, *logins)
    server.close()
    for name, seconds in ("balance", sum(answers[:USERS], [])), ("login", sum(answers[USERS:], [])):
        print(f"{name}: {len(seconds)} answers, median {statistics.median(seconds):.4f} s, longest {max(seconds):.4f} s")


if __name__ == "__main__":
    asyncio.run(main())
