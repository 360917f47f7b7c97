# SPDX-License-Identifier: BSD-3-Clause
"""A flame in a tube: heat flows along the tube, and in one zone the gas burns. Each rank of MPI has a piece of the tube.

    mpiexec -n 4 python examples/mpi/flame.py
"""

import time

import numpy as np
from mpi4py import MPI

CELLS, STEPS, SUBSTEPS = 80_000, 200, 12
BURNING = slice(CELLS // 2, CELLS * 3 // 4)
world = MPI.COMM_WORLD
left = world.rank - 1 if world.rank else MPI.PROC_NULL
right = world.rank + 1 if world.rank + 1 < world.size else MPI.PROC_NULL


def borders(size):
    """The first cell of each piece, and the number of cells."""
    return [CELLS * n // size for n in range(size + 1)]


def exchange(gas):
    """Sends the edge cells to the neighbours and receives theirs into the halo."""
    requests = [
        world.Irecv(gas[:1], left, 1),
        world.Irecv(gas[-1:], right, 0),
        world.Isend(gas[1:2], left, 0),
        world.Isend(gas[-2:-1], right, 1),
    ]
    MPI.Request.Waitall(requests)


def conduct(gas):
    gas[1:-1] += 0.4 * (gas[:-2] - 2 * gas[1:-1] + gas[2:])


def burn(gas, fuel):
    """The chemistry of the cells that burn needs shorter steps than the flow of heat."""
    for _ in range(SUBSTEPS):
        rate = fuel * np.exp(-900 / gas) / SUBSTEPS
        fuel -= rate
        gas += 500 * rate


def main():
    cells = borders(world.size)
    first, end = cells[world.rank], cells[world.rank + 1]
    gas = np.full(end - first + 2, 300.0)
    burning = slice(max(BURNING.start - first, 0) + 1, max(min(BURNING.stop, end) - first, 0) + 1)
    fuel = np.ones(gas[burning].size)
    world.Barrier()
    begin = time.perf_counter()
    for _ in range(STEPS):
        exchange(gas)
        conduct(gas)
        burn(gas[burning], fuel)
    hottest = world.reduce(gas.max(), MPI.MAX, root=0)
    if world.rank == 0:
        print(f"{STEPS} steps in {time.perf_counter() - begin:.2f} s, at most {hottest:.0f} K")


main()
