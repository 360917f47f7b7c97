# SPDX-License-Identifier: BSD-3-Clause
"""The text table is what Python's own pstats prints of the pstats file."""

import io
import pstats
import subprocess
import sys

import written
from spartito._analyse import Model


def printed(path):
    stream = io.StringIO()
    stats = pstats.Stats(str(path), stream=stream)
    stats.files = []  # the table of cProfile.Profile.print_stats() has no file name on top
    stats.strip_dirs().sort_stats("time").print_stats()
    return stream.getvalue()



def test_same_as_pstats():
    mine = written.written("text").read_text(encoding="utf-8").splitlines()
    theirs = printed(written.written("pstats")).splitlines()
    assert mine[:6] == theirs[:6]
    assert "fib" in "".join(mine) and len(mine) == len(theirs)
    # functions that took equally long may change places; those that have one name without directories are one row in both
    assert sorted(mine) == sorted(theirs)
    times = [float(line.split()[1]) for line in mine[6:] if line]
    assert times == sorted(times, reverse=True)


def test_nothing_was_measured(tmp_path):
    program = tmp_path / "empty.py"
    program.write_text("pass\n", encoding="utf-8")
    run = [sys.executable, "-m", "spartito", "run", "-q", "--only-mine", "-o", tmp_path / "run", "--", sys.executable, program]
    subprocess.run(list(map(str, run)), check=True)
    model = Model(str(tmp_path / "run"))
    for name in ("text", "pstats"):
        model.convert(name, str(tmp_path / name))
    assert (tmp_path / "text").read_text(encoding="utf-8") == printed(tmp_path / "pstats")
