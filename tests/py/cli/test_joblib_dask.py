# SPDX-License-Identifier: BSD-3-Clause
"""Processes of joblib and dask.distributed are measured as any other child, and their tasks are counted."""

import sys
import time

import pytest
import spartito._analyse as analyse
from commandline import run

TASKS = """
def leaf(n): return n
def work(n): return leaf(n) + leaf(n)
"""
PROGRAMS = {
    "joblib": TASKS
    + """
if __name__ == "__main__":
    from joblib import Parallel, delayed
    print(sum(Parallel(n_jobs=2)(delayed(work)(n) for n in range(20))))
""",
    "distributed": TASKS
    + """
if __name__ == "__main__":
    import os
    os.environ["DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT"] = "150s"
    from dask.distributed import Client, LocalCluster, Nanny
    Nanny.close.__defaults__ = (150, *Nanny.close.__defaults__[1:])  # else it kills workers that need 4 s for their end
    with LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster:
        with Client(cluster) as client:
            print(sum(client.gather(client.map(work, range(20)))))
""",
}
ROLES = {"joblib": "loky worker", "distributed": "dask worker"}


@pytest.mark.parametrize("library", PROGRAMS)
def test_tasks_are_counted_in_the_workers(spartito, tmp_path, library):
    pytest.importorskip(library)
    (tmp_path / "p.py").write_text(PROGRAMS[library])
    done = run(spartito, "run", "-o", "x", "--", sys.executable, "p.py", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "380\n")
    assert "abrupt" not in done.stderr and "lost in" not in done.stderr
    until = time.monotonic() + 200  # on a busy machine helpers may take long to notice that the program has ended
    model = analyse.Model(str(tmp_path / "x"))
    while any(p["end"] == "running" for p in model.info()["processes"]) and time.monotonic() < until:
        time.sleep(0.05)
        model = analyse.Model(str(tmp_path / "x"))
    processes = model.info()["processes"]
    counts = []
    for i in range(len(processes)):
        rows = {row["name"]: row["visits"] for row in model.flat(process=i, match="__main__:")}
        counts.append((rows.get("__main__:work", 0), rows.get("__main__:leaf", 0)))
    assert counts[0] == (0, 0) and [sum(n) for n in zip(*counts)] == [20, 40]
    workers = [p for p, n in zip(processes, counts) if n != (0, 0)]
    assert workers and all(p["parent"] == 0 and p["end"] == "normal" for p in workers)
    assert {p["role"] for p in workers} == {ROLES[library]}
    helpers = {p["role"] for p in processes if p["helper"]}
    assert helpers == {"resource tracker"} and not {"", ROLES[library]} - {p["role"] for p in processes}
