# SPDX-License-Identifier: BSD-3-Clause
"""The text table equals the table that Python's pstats prints for the pstats file."""

import io
import pstats
import subprocess
import sys

import written
from spartito._analyse import Model


def printed(path):
    stream = io.StringIO()
    stats = pstats.Stats(str(path), stream=stream)
    stats.files = []  # cProfile.Profile.print_stats() prints no file name above the table
    stats.strip_dirs().sort_stats("time").print_stats()
    return stream.getvalue()



def test_same_as_pstats():
    of_spartito = written.written("text").read_text(encoding="utf-8").splitlines()
    of_pstats = printed(written.written("pstats")).splitlines()
    assert of_spartito[:6] == of_pstats[:6]
    assert "fib" in "".join(of_spartito) and len(of_spartito) == len(of_pstats)
    # functions with equal times may change places; both tables merge functions with the same name and file
    assert sorted(of_spartito) == sorted(of_pstats)
    times = [float(line.split()[1]) for line in of_spartito[6:] if line]
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
