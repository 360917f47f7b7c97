# SPDX-License-Identifier: BSD-3-Clause
#: visits  leaf 3; __mp_main__:leaf 40; __mp_main__:work 4
#: free  __mp_main__:<module>
#: least-processes 3
import multiprocessing


def leaf(n):
    return n


def work(n):
    return sum(leaf(i) for i in range(10)) + n


if __name__ == "__main__":
    leaf(1), leaf(2), leaf(3)
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        print(pool.map(work, range(4), chunksize=1))
        pool.close()
        pool.join()
