# SPDX-License-Identifier: BSD-3-Clause
"""The finding that ranks of MPI wait for messages that are sent late."""

from __future__ import annotations

from spartito._analyse import Error
from spartito.base.text import count, seconds, shortened
from spartito.report import mpitable, mpiwaits
from spartito.report.findings.finding import Finding, Run

LATE_SENDER = 0  # index in the metrics of Model.waits()
PATHS = 3  # call paths named


def late_senders(run: Run) -> list[Finding]:
    """Receives of MPI that waited because the message was sent later. Error: the trace is too large, as for remarks of other
    reports, or damaged."""
    if run.info["events"] > mpitable.MAX_REMARK_EVENTS:
        most = count(mpitable.MAX_REMARK_EVENTS)
        raise Error(f"late senders: the trace has more than {most} events; spartito report waits searches it")
    waits = run.model.waits()
    metric = waits["metrics"][LATE_SENDER]
    gain = run.of_threads(metric["time"])
    if not gain.enough:
        return []
    where: dict[int, mpiwaits.Waiting] = {}
    for row in waits["rows"]:
        if row["kind"] in metric["kinds"]:
            where.setdefault(row["path"], mpiwaits.Waiting()).add(row)
    ordered = sorted(where.items(), key=lambda item: -item[1].time)
    ranks = mpitable.Ranks(run.info)
    evidence = [f"{seconds(w.time)} in {shortened(waits['stacks'][path])}" for path, w in ordered[:PATHS]]
    caused: dict[int, float] = {}
    for w in where.values():
        for rank, time in w.on.items():
            caused[rank] = caused.get(rank, 0.0) + time
    if caused:
        late = max(caused, key=lambda rank: caused[rank])
        evidence.append(f"others waited {seconds(caused[late])} for rank {ranks[late]}")
    title = f"ranks waited {seconds(metric['time'])} for messages that were sent late"
    advice = "give the late ranks less work, send before other work, or receive later (MPI_Irecv, with work before MPI_Wait)"
    path = waits["stacks"][ordered[0][0]]
    return [Finding("late-sender", title, gain, evidence, advice, run.report("waits"), {"name": path[-1]}, path)]
