# SPDX-License-Identifier: BSD-3-Clause
#: visits  __mp_main__:leaf 40; __mp_main__:work 4
#: least-processes 3
import multiprocessing


def leaf(n):
    return n


def work(n):
    return sum(leaf(i) for i in range(10)) + n


if __name__ == "__main__":
    with multiprocessing.get_context("forkserver").Pool(2) as pool:
        print(pool.map(work, range(4), chunksize=1))
        pool.close()
        pool.join()
