# SPDX-License-Identifier: BSD-3-Clause
"""Relaxes a square of temperatures, marked for the Python bindings of Score-P: a region, a decorated function, a parameter."""

import scorep.user

SIZE = 60


@scorep.user.region("sweep")
def sweep(grid):
    """Each inner cell becomes the mean of its neighbours; returns the largest change."""
    largest = 0.0
    for y in range(1, SIZE - 1):
        above, row, below = grid[y - 1], grid[y], grid[y + 1]
        for x in range(1, SIZE - 1):
            mean = (above[x] + row[x - 1] + row[x + 1] + below[x]) / 4
            largest = max(largest, abs(mean - row[x]))
            row[x] = mean
    return largest


def main():
    with scorep.user.region("setup"):
        grid = [[30.0 if y == 0 else 10.0 for _ in range(SIZE)] for y in range(SIZE)]
    change = 1.0
    steps = 0
    while change > 0.01:
        change = sweep(grid)
        steps += 1
    scorep.user.parameter_int("steps", steps)
    print(f"{steps} steps, last change {change:.4f}")


if __name__ == "__main__":
    main()
