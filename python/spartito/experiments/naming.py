# SPDX-License-Identifier: BSD-3-Clause
"""Names and numbers of processes and ranks."""

from __future__ import annotations

from spartito.options.table import Usage

TYPE_CHECKING = False  # importing typing would add milliseconds to the summary of every run
if TYPE_CHECKING:
    from typing import Any



def rank_number(info: dict[str, Any], process: int) -> int | None:
    """The rank of a process in the experiment. Ranks of a second MPI_COMM_WORLD are numbered after those of the first one. None:
    the process did not initialize MPI."""
    p = info["processes"][process]
    if p["rank"] is None:
        return None
    return int(p["rank"]) + int(sum(info["worlds"][: p["world"]]))


def rank_names(info: dict[str, Any]) -> list[str]:
    """The names of processes in tables: the rank, or "process 3" without a rank. A damaged file may contain a rank twice; then the
    second process also gets the name "process N"."""
    names: dict[str, None] = {}
    for i in range(len(info["processes"])):
        number = rank_number(info, i)
        names[f"process {i}" if number is None or str(number) in names else str(number)] = None
    return list(names)


def title(info: dict[str, Any], process: int) -> str:
    """The title of a process: "rank 1, process 123 on host", "pytest worker gw0, process 123 on host"."""
    p, number = info["processes"][process], rank_number(info, process)
    what = p["label"] if number is None else f"rank {number}"
    return ", ".join(filter(None, (what, f"process {p['pid']} on {p['host']}")))


def chosen(info: dict[str, Any], values: dict[str, object]) -> int:
    """The index of the process that --process or --rank selects; -1: neither is given. Usage: there is no such process."""
    if "process" in values and "rank" in values:
        raise Usage("--process and --rank do not go together")
    if "process" in values:
        process = values["process"]
        assert isinstance(process, int)
        by_pid = [i for i, p in enumerate(info["processes"]) if p["pid"] == process]
        if process >= len(info["processes"]) and len(by_pid) == 1:
            return by_pid[0]
        if process >= len(info["processes"]):
            raise Usage(f"--process {process}: `spartito info` lists processes 0 to {len(info['processes']) - 1}")
        return process
    if "rank" not in values:
        return -1
    rank, ranks = values["rank"], sum(info["worlds"])
    assert isinstance(rank, int)
    for i in range(len(info["processes"])):
        if rank_number(info, i) == rank:
            return i
    if not ranks:
        raise Usage(f"--rank {rank}: no process of the experiment began MPI")
    if rank >= ranks:
        raise Usage(f"--rank {rank}: the experiment has ranks 0 to {ranks - 1}")
    raise Usage(f"--rank {rank}: that rank was not measured, or its file is missing")
