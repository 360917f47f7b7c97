# SPDX-License-Identifier: BSD-3-Clause
#: visits  work 20; leaf 60
#: least-processes 4
import multiprocessing


def leaf(n):
    return n


def work(n):
    return leaf(n) + leaf(n) + leaf(n)


if __name__ == "__main__":
    with multiprocessing.get_context("fork").Pool(3) as pool:
        print(pool.map(work, range(20), chunksize=2))
        pool.close()
        pool.join()
