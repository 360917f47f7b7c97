# SPDX-License-Identifier: BSD-3-Clause
"""A rod of metal cools down, cut into one piece for each rank of MPI. Rank 2 has the hard piece: the others wait for it.

    mpiexec -n 4 spartito run --trace -o heat -- python examples/heat.py
"""

import numpy as np
from mpi4py import MPI

CELLS, STEPS, SAVED_EACH = 20_000, 60, 20
world = MPI.COMM_WORLD
left = world.rank - 1 if world.rank else MPI.PROC_NULL
right = world.rank + 1 if world.rank + 1 < world.size else MPI.PROC_NULL


def exchange(rod):
    """Sends the edge cells to the neighbours and receives theirs into the halo."""
    requests = [
        world.Irecv(rod[:1], left, 1),
        world.Irecv(rod[-1:], right, 0),
        world.Isend(rod[1:2], left, 0),
        world.Isend(rod[-2:-1], right, 1),
    ]
    MPI.Request.Waitall(requests)


def step(rod, times):
    for _ in range(times):
        rod[1:-1] += 0.4 * (rod[:-2] - 2 * rod[1:-1] + rod[2:])


def save(rod):
    """Returns the mean temperature, in rank 0 only."""
    total = np.zeros(1)
    world.Reduce(rod[1:-1].sum(keepdims=True), total, root=0)
    return total[0] / (CELLS * world.size)


def main():
    settings = world.bcast({"times": 100} if world.rank == 0 else None)
    rod = np.full(CELLS + 2, float(world.rank))
    for n in range(STEPS):
        exchange(rod)
        step(rod, settings["times"] * (2 if world.rank == 2 else 1))
        if n % SAVED_EACH == 0:
            mean = save(rod)
            if world.rank == 0:
                print(f"step {n}: mean {mean:.6f}")


main()
