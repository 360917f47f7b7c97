# SPDX-License-Identifier: BSD-3-Clause
"""Every program of tests/programs/ under every hook: it behaves as without Spartito, and all counts are exact, in the profile and
in the trace."""

import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from collections import Counter

import foreign
import pytest
import spartito._analyse as analyse
from programs import HOOKS, all_programs

QUICK = bool(os.environ.get("TEST_QUICK"))
TIMEOUT = 120


def cases():
    for program in all_programs():
        if program.wrong_python() or (QUICK and "slow" in program):
            continue
        for hook in program.words["hooks"] or HOOKS:
            if hook in HOOKS:
                yield pytest.param(program, hook, id=f"{program.name}-{hook}")


def run(command, cwd, program, experiment):
    """Runs a command; returns its status, stdout, stderr and the files left in cwd. `experiment` is removed before each attempt."""
    for _ in range(5):
        for directory in (cwd, experiment):
            shutil.rmtree(directory, ignore_errors=True)
        result = run_once(command, cwd, program.stdin())
        if "crashes-alone" not in program or result[0] != -signal.SIGSEGV:
            break
    return result


def run_once(command, cwd, stdin):
    cwd.mkdir()
    environment = {**os.environ, "PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1"}
    environment.pop("PYTHONPATH", None)
    p = subprocess.run(command, cwd=cwd, input=stdin, capture_output=True, timeout=TIMEOUT, env=environment)
    files = {str(f.relative_to(cwd)): f.read_bytes() for f in cwd.rglob("*") if f.is_file()}
    return p.returncode, p.stdout, re.sub(rb"pid=\d+", b"pid=", p.stderr), files


def close(program, got, wanted):
    """Equal counts; for a process that died, at least 99.9 %."""
    if "abrupt" in program:
        return wanted * 0.999 <= got <= wanted
    return got == wanted


def check_counts(program, kind, got, wanted):
    wrong = {name: (got.get(name, 0), n) for name, n in wanted.items() if not close(program, got.get(name, 0), n)}
    assert not wrong, f"{kind}, (got, wanted): {wrong}"


def check_profile(program, model, path):
    rows = model.flat()
    visits, resumed = Counter(), Counter()
    for row in rows:
        visits[row["name"]] += row["visits"]
        resumed[row["name"]] += row["resumed"]
    counts = program.counts
    check_counts(program, "visits", visits, counts["visits"])
    check_counts(program, "resumed", resumed, counts["resumed"])
    check_counts(program, "C functions", visits, counts["c-calls"])
    check_counts(program, "user regions", visits, counts["user"])
    declared = {*counts["visits"], *counts["user"], *counts["c-calls"]}
    declared |= {n if ":" in n else "__main__:" + n for n in program.words["free"]}
    mine = {r["name"] for r in rows if r["file"] == path and r["visits"] + r["resumed"] and not program.implied(r["name"])}
    assert mine <= declared, f"not in the header: {sorted(mine - declared)}"
    hidden = {n if ":" in n else "__main__:" + n for n in program.words["expect-none"]}
    assert not hidden & {name for name, n in visits.items() if n}, "filtered regions appear"
    for (callee, caller), n in counts["callers"].items():
        found = sum(r["visits"] for entry in model.callers(callee) if entry["region"]["name"] == callee
                    for r in entry["callers"] if r["name"] == caller)
        assert close(program, found, n), f"{callee} called by {caller}: {found}, not {n}"
    return visits, resumed


def check_places(program, info):
    names = Counter(location["name"] for location in info["locations"])
    check_counts(program, "threads", names, program.counts["threads"])
    values = program.values
    if "locations" in values:
        assert len(info["locations"]) == int(values["locations"])
    if "processes" in values:
        assert len(info["processes"]) == int(values["processes"])
    if "least-processes" in values:
        assert len(info["processes"]) >= int(values["least-processes"])
    if "regions" in values:
        assert info["regions"] >= int(values["regions"])
    assert not info["problems"], info["problems"]
    lost = Counter()
    for process in info["processes"]:
        lost.update({k: v for k, v in process["lost"].items() if k != "deeper"})
    if "trace-incomplete" in program:
        assert lost["events"] > 0, "nothing was lost, or the loss was not counted"
    else:
        assert not +lost, lost
    if "abrupt" in program:
        assert [p["end"] for p in info["processes"]] == ["exited" if "os_exit" in program.name else "abrupt"]


def check_trace(program, model, directory, visits, resumed):
    archive = directory.with_name("trace-otf2")
    model.convert("otf2", str(archive))
    trace = foreign.Trace(foreign.anchor_in(archive))
    assert not trace.faults, trace.faults[:5]
    if "trace-incomplete" in program:
        return
    counts = program.counts
    for name in {*counts["visits"], *counts["user"], *counts["c-calls"]}:
        if "\t" in name:
            continue  # otf2-print escapes the name
        wanted = visits[name] + resumed[name] + counts["inherits"].get(name, 0)
        enters = trace.enters[name]
        assert enters == wanted or ("trace-more" in program and enters > wanted), f"{name}: {enters} enters, not {wanted}"
        assert trace.leaves[name] == enters
    for (callee, caller), n in counts["callers"].items():
        assert close(program, trace.callers[callee, caller], n), f"{callee} called by {caller} in the trace"
    for name, n in counts["threads"].items():
        assert sum(name in full for full in trace.locations.values()) >= n, f"{name}: {trace.locations}"


@pytest.mark.parametrize("program, hook", list(cases()))
def test_program(program, hook, tmp_path):
    for module in program.values.get("needs", "").split():
        pytest.importorskip(module)
    command = [sys.executable, str(program.path), *shlex.split(program.values.get("args", ""))]
    directory = tmp_path / "experiment"
    measured = [sys.executable, "-m", "spartito", "run", "-q", "--trace", "--hook", hook, "-o", str(directory),
                *shlex.split(program.values.get("options", "")), "--", *command]
    plain = run(command, tmp_path / "plain", program, directory)
    under = run(measured, tmp_path / "under", program, directory)
    assert under[1] == plain[1], "stdout"
    if program.values.get("stderr") != "any":
        assert under[2] == plain[2], "stderr"
    assert under[0] == plain[0], f"status {under[0]} instead of {plain[0]}"
    if "abrupt" not in program:
        assert plain[0] == program.exit_status()
    assert under[3] == plain[3], "files"
    assert set(program.words["side"]) <= set(plain[3])
    model = analyse.Model(str(directory))
    info = model.info()
    visits, resumed = check_profile(program, model, str(program.path))
    check_places(program, info)
    if foreign.OTF2_PRINT and "otf2" in {w[0] for w in analyse.writers()}:
        check_trace(program, model, directory, visits, resumed)
