# SPDX-License-Identifier: BSD-3-Clause
"""Callgrind files, read by callgrind_annotate and by gprof2dot. The experiment's times are split: the events are Time, Running and
Waiting."""

import re
import shutil
import sys

import pytest
import written
from commandline import run
from conftest import ROOT
from spartito._analyse import Model

ROW = re.compile(r"^ *([\d,]+) \( ?[\d.]+%\)  (.*)$")


def annotated(*options, event="Time", path=None):
    """(nanoseconds of an event by "file:function", the total)"""
    shown = (f"--show={event}", f"--sort={event}", "--threshold=100", "--auto=no")
    text = written.run("callgrind_annotate", *shown, *options, path or written.written("callgrind"))
    assert "malformed" not in text and "WARNING" not in text
    found = {}
    for line in text.splitlines():
        match = ROW.match(line)
        if match:
            found[match[2]] = int(match[1].replace(",", ""))
    return found, found.pop("PROGRAM TOTALS")


def name_of(row):
    return f"{row['file'] or '???'}:{row['name']}"


def test_exclusive():
    found, total = annotated("--inclusive=no")
    own = [row for row in written.model().flat() if row["kind"] != "root"]
    assert total == pytest.approx(sum(row["excl"] for row in own) * 1e9, abs=len(own) + 1)
    for row in written.rows().values():
        assert found.get(name_of(row), 0) == pytest.approx(row["excl"] * 1e9, abs=1)


def test_inclusive_counts_recursion_once():
    found, _ = annotated("--inclusive=yes")
    for row in written.rows().values():
        assert found.get(name_of(row), 0) == pytest.approx(row["incl"] * 1e9, abs=20), row["name"]


WAITS = """\
import threading, time
def burn():
    end = time.thread_time() + 0.1
    while time.thread_time() < end:
        sum(range(1000))
def nap(n):
    time.sleep(0.1)
    if n:
        nap(n - 1)
def both():
    burn()
    nap(1)
thread = threading.Thread(target=both)
thread.start()
both()
thread.join()
"""


def test_split(tmp_path, spartito):
    """Self times are those of the tables. Inclusive times contain those of callees, recursion once."""
    (tmp_path / "waits.py").write_text(WAITS, encoding="utf-8")
    done = run(spartito, "run", "-q", "-o", tmp_path / "run", "--", sys.executable, tmp_path / "waits.py")
    assert done.returncode == 0, done.stderr
    model = Model(str(tmp_path / "run"))
    model.convert("callgrind", str(tmp_path / "out"))
    rows = [row for row in model.flat() if row["kind"] != "root"]
    mine = [row for row in rows if row["module"] == "__main__" and row["qualname"] != "<module>"]
    assert len(mine) == 3
    for event in ("running", "waiting"):
        own, total = annotated("--inclusive=no", event=event.title(), path=tmp_path / "out")
        assert total == pytest.approx(sum(row[event] for row in rows) * 1e9, abs=len(rows) + 1) and total > 1e8
        below, _ = annotated("--inclusive=yes", event=event.title(), path=tmp_path / "out")
        for row in mine:
            assert own.get(name_of(row), 0) == pytest.approx(row[event] * 1e9, abs=1)
            assert below.get(name_of(row), 0) == pytest.approx(row["metrics"][event]["incl"], rel=1e-3, abs=50), row["name"]
    model.convert("callgrind", str(tmp_path / "first"), process=0)
    assert (tmp_path / "first").read_bytes() == (tmp_path / "out").read_bytes()


def test_not_split(tmp_path):
    """An experiment without off-CPU time has one event."""
    (tmp_path / "run" / "raw").mkdir(parents=True)
    shutil.copy(ROOT / "tests/old-raw/v1-profile.raw", tmp_path / "run" / "raw")
    Model(str(tmp_path / "run")).convert("callgrind", str(tmp_path / "out"))
    text = (tmp_path / "out").read_text(encoding="utf-8")
    assert "\nevents: Time\n" in text and "Running" not in text
    assert re.search(r"^summary: \d+$", text, re.MULTILINE) and not re.search(r"^\d+ \d+ \d+", text, re.MULTILINE)


def test_calls():
    import gprof2dot

    with open(written.written("callgrind"), encoding="utf-8") as lines:
        profile = gprof2dot.CallgrindParser(lines).parse()
    by_name = {f.name: f for f in profile.functions.values()}
    rows = written.rows()
    leaf = by_name[rows["leaf"]["name"]].id
    assert leaf in by_name[rows["caught"]["name"]].calls
    for name, visits in written.VISITS.items():
        assert by_name[rows[name]["name"]].called == visits, name


def test_lines():
    text = written.written("callgrind").read_text(encoding="utf-8")
    fib = written.rows()["fib"]
    assert re.search(rf"^fn=\(\d+\)( {re.escape(fib['name'])})?\n{fib['line']} \d+ \d+ \d+$", text, re.MULTILINE)
