# SPDX-License-Identifier: BSD-3-Clause
"""Moves rotated log files into one archive: worker threads take gzip files from a queue and append them, better compressed.
As archive.py, but add() holds the lock only while it appends."""

import argparse
import gzip
import io
import queue
import random
import threading
import time
import zlib

HOSTS = ("www1", "www2", "db1", "mail", "cache3")
PATHS = ("/", "/index.html", "/api/items", "/api/orders", "/static/app.js", "/login")


def log_files(number, lines, seed=11):
    """(name, gzip file) of access logs."""
    rng = random.Random(seed)
    entries = [
        f"10.0.{rng.randrange(256)}.{rng.randrange(256)} {rng.choice(HOSTS)} GET {rng.choice(PATHS)} 200 {rng.randrange(90000)}\n"
        for _ in range(lines)
    ]
    for n in range(number):
        yield f"access-{n:03d}.log", gzip.compress("".join(entries[n:] + entries[:n]).encode(), 1)


class Archive:
    """Compressed files one after the other, and an index of where each begins."""

    def __init__(self, stream):
        self.stream = stream
        self.index = {}
        self.lock = threading.Lock()

    def add(self, name, content):
        packed = zlib.compress(content, 9)
        with self.lock:
            self.index[name] = (self.stream.tell(), len(packed))
            self.stream.write(packed)


def worker(files, archive):
    while (entry := files.get()) is not None:
        name, packed = entry
        archive.add(name, gzip.decompress(packed))


def pack(archive, entries, workers):
    files = queue.Queue()
    threads = [threading.Thread(target=worker, args=(files, archive), name=f"packer-{n}") for n in range(workers)]
    for thread in threads:
        thread.start()
    for entry in entries:
        files.put(entry)
    for _ in threads:
        files.put(None)
    for thread in threads:
        thread.join()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--files", type=int, default=24)
    options = parser.parse_args()
    entries = list(log_files(options.files, lines=6000))
    archive = Archive(io.BytesIO())
    begin = time.perf_counter()
    pack(archive, entries, options.workers)
    seconds = time.perf_counter() - begin
    print(f"{options.workers} workers packed {len(archive.index)} files in {seconds:.2f} s")


if __name__ == "__main__":
    main()
