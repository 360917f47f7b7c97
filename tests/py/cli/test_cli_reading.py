# SPDX-License-Identifier: BSD-3-Clause
"""report, info, convert and the summary, on measured experiments."""

import json
import os
import pstats
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time

import pytest
from commandline import run, wait_for
from terminal import on_terminal

PROGRAM = """
import threading
def leaf(): pass
def branch(n):
    for _ in range(n): leaf()
def work(): branch(5)
threads = [threading.Thread(target=work, name="worker") for _ in range(2)]
for t in threads: t.start()
for t in threads: t.join()
branch(10)
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    path = tmp_path_factory.mktemp("made")
    (path / "program.py").write_text(PROGRAM)
    for name, options in (("profile", []), ("trace", ["--trace"])):
        command = [
            sys.executable,
            "-m",
            "spartito",
            "run",
            "-q",
            *options,
            "-o",
            name,
            "--",
            sys.executable,
            "program.py",
        ]
        subprocess.run(command, cwd=path, check=True)
    return path


def test_flat_report_in_a_pipe(spartito, made):
    done = run(spartito, "report", "--limit", "0", made / "profile")
    assert (done.returncode, done.stderr) == (0, "")
    (line,) = [text for text in done.stdout.splitlines() if "__main__:leaf" in text]
    assert "  20  " in line and line.endswith("program.py:3")
    assert "\x1b" not in done.stdout
    assert "measuring took about" in done.stdout


def test_report_limits_and_orders(spartito, made):
    done = run(spartito, "report", "--json", "--limit", "3", "--sort", "visits", made / "profile")
    found = json.loads(done.stdout)
    visits = [row["visits"] for row in found["rows"]]
    assert len(visits) == 3 and visits == sorted(visits, reverse=True)
    assert (found["report"], found["unit"], found["compensated"]) == ("flat", "s", False)


def test_tree(spartito, made):
    done = run(spartito, "report", "tree", "--threshold", "0", made / "profile")
    lines = done.stdout.splitlines()
    place = {}
    for text in lines:
        for name in ("<module>", "branch", "leaf", "work"):
            if text.endswith("__main__:" + name):
                place.setdefault(name, []).append(text.index("__main__"))
    # branch of the main thread is below the module, branch of the other threads is below work
    assert min(place["branch"]) - min(place["<module>"]) == 2
    assert min(place["leaf"]) - min(place["branch"]) == 2
    assert place["work"][0] + 2 in place["branch"]
    assert "<root>" not in done.stdout
    hidden = run(spartito, "report", "tree", "--threshold", "50", made / "profile").stdout
    assert "below the threshold" in hidden and len(hidden.splitlines()) < len(lines)
    words = ("report", "tree", "--threshold", "0")
    hidden = run(spartito, *words, "--depth", "1", made / "profile").stdout
    assert "deeper path" in hidden and "threshold" not in hidden
    hidden = run(spartito, *words, "--limit", "2", made / "profile").stdout
    assert "not shown" in hidden and "threshold" not in hidden


def test_callers(spartito, made):
    done = run(spartito, "report", "callers", "--match", "__main__:branch", made / "profile")
    assert done.returncode == 0
    assert "called by  __main__:work" in done.stdout and "calls      __main__:leaf" in done.stdout
    done = run(spartito, "report", "callers", "--match", "no_such", made / "profile")
    assert done.returncode == 1 and "no recorded function matches 'no_such'" in done.stderr
    done = run(spartito, "report", "--match", "no_such", made / "profile")
    assert (done.returncode, done.stdout) == (1, "") and "no recorded function matches 'no_such'" in done.stderr
    done = run(spartito, "report", "tree", "--match", "no_such", made / "profile")
    assert (done.returncode, done.stdout) == (1, "") and "no recorded function matches 'no_such'" in done.stderr
    done = run(spartito, "report", "imports", "--match", "leaf", made / "profile")
    assert done.returncode == 2
    assert "--match is not for the report imports; it is for flat or tree or callers or lines or balance" in done.stderr


def test_a_script_matches_by_its_module_name(spartito, made):
    """A pattern selects a script's functions as in filters of `run`."""
    def functions(*words):
        done = run(spartito, "report", "--json", *words, made / "profile")
        return {row["name"] for row in json.loads(done.stdout)["rows"]}

    for pattern in ("program:leaf", "program:l*"):
        assert functions("--match", pattern) == {"__main__:leaf"}, pattern
    # a pattern without a colon is a function name
    assert run(spartito, "report", "--match", "program", made / "profile").returncode == 1
    done = run(spartito, "report", "callers", "--match", "program:branch", made / "profile")
    assert "called by  __main__:work" in done.stdout
    done = run(spartito, "diff", "--match", "program:*", made / "profile", made / "trace")
    assert done.returncode == 0, done.stderr
    for command in (("plot", "--kind", "graph", "-o", made / "x.dot"), ("plot", "--kind", "flame", "-o", made / "x.svg")):
        assert run(spartito, *command, "--match", "program:*", made / "profile").returncode == 0


def test_threads_and_processes(spartito, made):
    done = run(spartito, "report", "--threads", "--match", "leaf", made / "profile")
    assert done.stdout.count("thread worker (") == 2 and done.stdout.count("thread MainThread (") == 1
    found = json.loads(run(spartito, "report", "--json", "--processes", "--limit", "0", made / "profile").stdout)
    assert [{r["name"]: r["visits"] for r in part["rows"]}["__main__:leaf"] for part in found["parts"]] == [20]


def test_compensate(spartito, made):
    plain = json.loads(run(spartito, "report", "--json", "--limit", "0", made / "profile").stdout)
    less = json.loads(run(spartito, "report", "--json", "--limit", "0", "--compensate", made / "profile").stdout)
    assert less["compensated"] and less["busy"] <= plain["busy"]


def test_a_run_without_calls(spartito, tmp_path):
    """Without calls, the report does not mention the cost of measuring."""
    (tmp_path / "prog.py").write_text("def f(): pass\nf()\n")
    assert run(spartito, "run", "-q", "--exclude", "*", "-o", tmp_path / "x", "--", tmp_path / "prog.py").returncode == 0
    lines = run(spartito, "report", tmp_path / "x").stdout.splitlines()
    assert "no calls were recorded" in lines
    assert lines[-1].startswith("1 process, 1 thread, ") and lines[-1].endswith(" from first to last")


@pytest.mark.parametrize("columns", ["60", "80", "200"])
def test_report_in_a_terminal(spartito, made, columns):
    pytest.importorskip("rich")
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": columns}
    command = [*spartito, "report", "--match", "__main__", made / "profile"]
    with on_terminal(command, env=environment) as (p, terminal):
        out = terminal.rest()
        assert p.wait() == 0
    assert b"\x1b[" in out and b"__main__:leaf" in out
    assert (b"defined at" in out) == (columns == "200")


def test_report_into_a_closed_pipe(spartito, made):
    line = f"{shlex.join(spartito)} report --limit 0 {shlex.quote(str(made / 'profile'))} | head -1"
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True)
    assert done.stderr == ""


def test_info(spartito, made):
    found = json.loads(run(spartito, "info", "--json", made / "trace").stdout)
    assert found["traced"] and len(found["locations"]) == 3 and found["launcher"]["status"] == 0
    text = run(spartito, "info", made / "trace").stdout
    assert "exit status 0" in text and "profile and trace" in text and "worker" in text


def test_a_program_that_measures_itself(spartito, tmp_path):
    (tmp_path / "program.py").write_text("import spartito\nwith spartito.measure('x'):\n    print()\n")
    assert run([sys.executable], "program.py", cwd=tmp_path).returncode == 0
    assert "the program measured itself" in run(spartito, "info", tmp_path / "x").stdout
    done = run([sys.executable], "program.py", cwd=tmp_path)
    assert "x already exists and is not empty; name another directory" in done.stderr


def test_convert(spartito, made, tmp_path):
    path = tmp_path / "a.prof"
    for _ in range(2):  # the second time replaces the file
        done = run(spartito, "convert", made / "profile", "--to", "pstats", "-o", path)
        assert (done.returncode, done.stderr) == (0, "")
        assert str(path) in done.stdout
    stats = pstats.Stats(str(path)).stats
    assert {name: calls[1] for (_, _, name), calls in stats.items()}["leaf"] == 20
    copy = tmp_path / "copy"
    shutil.copytree(made / "profile", copy)
    assert run(spartito, "convert", f"{copy}/", "--to", "folded").returncode == 0
    assert (tmp_path / "copy.folded").exists()


def test_convert_refuses(spartito, made, tmp_path):
    (tmp_path / "there").mkdir()
    for words, message in (
        ([made / "profile", "--to", "speedscope", "-o", tmp_path / "there"], "is a directory"),
        ([made / "profile", "--to", "folded", "-o", tmp_path / "no" / "x"], "No such file"),
        ([made / "profile", "--to", "folded", "--process", "7"], "--process 7"),
        ([tmp_path / "missing", "--to", "folded"], "there is no such experiment"),
        ([made / "program.py", "--to", "folded"], "is not the directory of an experiment"),
        ([tmp_path / "there", "--to", "folded"], "there"),
    ):
        done = run(spartito, "convert", *words)
        assert done.returncode in (1, 2) and done.stdout == ""
        assert message in done.stderr and done.stderr.count("\n") == 1, done.stderr
    assert sorted(p.name for p in tmp_path.iterdir()) == ["there"]


def test_otf2_needs_the_trace(spartito, made, tmp_path):
    done = run(spartito, "convert", made / "profile", "--to", "otf2", "-o", tmp_path / "x")
    assert done.returncode == 1 and "measure with --trace" in done.stderr and done.stderr.count("\n") == 1
    (tmp_path / "there").mkdir()
    done = run(spartito, "convert", made / "trace", "--to", "otf2", "-o", tmp_path / "there")
    assert done.returncode == 1 and "already exists" in done.stderr


def test_newer_and_damaged_experiments(spartito, made, tmp_path):
    for name, offset, value in (("newer", 12, b"\x63"), ("foreign", 0, b"XX")):
        shutil.copytree(made / "profile", tmp_path / name)
        (raw,) = (tmp_path / name / "raw").glob("*.raw")
        data = bytearray(raw.read_bytes())
        data[offset : offset + len(value)] = value
        raw.write_bytes(data)
        for words in (["report"], ["info"], ["convert", "--to", "folded"]):
            done = run(spartito, *words, tmp_path / name)
            assert done.returncode == 1 and raw.name in done.stderr and done.stderr.count("\n") == 1
    shutil.copytree(made / "trace", tmp_path / "cut")
    (raw,) = (tmp_path / "cut/raw").glob("*.raw")
    raw.write_bytes(raw.read_bytes()[:-5000])
    done = run(spartito, "report", tmp_path / "cut")
    assert "Traceback" not in done.stderr


def test_a_killed_program_is_reported(spartito, tmp_path):
    code = "def leaf(): pass\nfor i in range(1000): leaf()\nimport os; os.kill(os.getpid(), 9)"
    assert run(spartito, "run", "-q", "-o", "x", "--", sys.executable, "-c", code, cwd=tmp_path).returncode == -9
    for words in (["report", "--limit", "0"], ["info"], ["convert", "--to", "folded"]):
        done = run(spartito, *words, "x", cwd=tmp_path)
        assert done.returncode == 0
        assert "ended abruptly" in done.stderr and "SIGKILL" in done.stderr
    found = json.loads(run(spartito, "report", "--json", "--match", "leaf", "x", cwd=tmp_path).stdout)
    assert [row["visits"] for row in found["rows"]] == [1000]


def test_losses_are_reported(spartito, tmp_path):
    (tmp_path / "program.py").write_text("def leaf(): pass\nfor i in range(300000): leaf()")
    words = ["--trace", "--trace-memory", "256K", "--when-full", "stop", "-o", "x"]
    done = run(spartito, "run", *words, "--", "program.py", cwd=tmp_path)
    assert done.returncode == 0 and "lost" in done.stderr
    for verb in (["report"], ["info"], ["convert", "--to", "folded"]):
        done = run(spartito, *verb, "x", cwd=tmp_path)
        assert done.returncode == (0 if verb == ["info"] else 4) and "lost" in done.stderr and "not recorded" in done.stderr


def test_summary(spartito, tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    done = run(spartito, "run", "-o", "x y", "--to", "pstats,folded", "--", "program.py", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "")
    for text in (
        "spartito: program took",
        "2 × thread of __main__:work: balance",
        "measuring took about",
        " running ",
    ):
        assert text in done.stderr
    assert re.search("next: spartito report (tree|waits|findings) 'x y'\n", done.stderr)
    assert (tmp_path / "x y.prof").exists() and (tmp_path / "x y.folded").exists()
    assert run(spartito, "run", "-q", "-o", "z", "--to", "otf2", "--", "program.py", cwd=tmp_path).stderr == ""
    assert (tmp_path / "z-otf2").is_dir()


def test_conversion_that_fails_keeps_the_status(spartito, tmp_path):
    (tmp_path / "x.prof").mkdir()
    done = run(
        spartito,
        "run",
        "-q",
        "-o",
        "x",
        "--to",
        "pstats",
        "--",
        sys.executable,
        "-c",
        "raise SystemExit(3)",
        cwd=tmp_path,
    )
    assert done.returncode == 3
    assert "--to pstats" in done.stderr and "is a directory" in done.stderr


def interrupt_conversion(spartito, tmp_path, count):
    """Status and standard error of a conversion interrupted by Ctrl-C while it writes, or None if it had ended before."""
    (tmp_path / "program.py").write_text(f"def leaf(): pass\nfor i in range({count}): leaf()")
    shutil.rmtree(tmp_path / "x", ignore_errors=True)
    run(spartito, "run", "-q", "--trace", "-o", "x", "--", "program.py", cwd=tmp_path)
    before = sorted(p.name for p in tmp_path.iterdir())
    command = [*spartito, "convert", "x", "--to", "speedscope", "-o", "y.json"]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as p:
        end = time.monotonic() + 200
        while p.poll() is None and sorted(q.name for q in tmp_path.iterdir()) == before:
            assert time.monotonic() < end
            time.sleep(0.005)
        p.send_signal(signal.SIGINT)
        message = p.communicate(timeout=200)[1]
    if (tmp_path / "y.json").exists():  # complete: the file was written before the signal
        json.loads((tmp_path / "y.json").read_bytes())
        (tmp_path / "y.json").unlink()
        return None
    assert sorted(q.name for q in tmp_path.iterdir()) == before
    return p.returncode, message


def test_interrupted_conversion_leaves_nothing(spartito, tmp_path):
    done = None
    for count in (3000000, 12000000, 24000000):
        done = done or interrupt_conversion(spartito, tmp_path, count)
    assert done == (130, "spartito: interrupted\n")


def test_doctor(spartito, tmp_path):
    done = run(spartito, "doctor", cwd=tmp_path)
    assert done.returncode == 0, done.stdout
    for text in ("start-up hook: ", "(default)", "clock: ", "format pstats", "libotf2", "zstd", "rich", "greenlet", "viewer: "):
        assert text in done.stdout
    assert "pstats" in run(spartito, "doctor", "--formats").stdout.split()


def test_doctor_names_what_the_build_lacks(monkeypatch, capsys):
    from spartito import _build
    from spartito.cli import doctor

    names = {name for name, *_ in _build.SUPPORT}
    assert {"libotf2", "zstd", "zlib", "libdw", "viewer", "Open MPI", "MPICH", "MPI ABI"} == names
    monkeypatch.setattr(_build, "SUPPORT", [(name, True, *rest) for name, _, *rest in _build.SUPPORT])
    doctor.main({}, [])
    output = capsys.readouterr().out
    assert "this build lacks nothing\n" in output and "was not there" not in output
    monkeypatch.setattr(_build, "SUPPORT", [(name, name == "zlib", *rest) for name, _, *rest in _build.SUPPORT])
    doctor.main({}, [])
    output = capsys.readouterr().out
    for package in ("libotf2-trace-dev", "libzstd-dev", "libdw-dev"):
        assert f"(apt install {package}, then build it again)" in output
    assert "(leave out -Dviewer=disabled, then build it again)" in output and "ok   zlib: " in output
    assert "not in this build, see libotf2" in output and "ok   format otf2" not in output
    lacks = output.rpartition("this build is without ")[2].splitlines()[0].split(", ")
    assert set(lacks) == names - {"zlib"}
    monkeypatch.setattr(_build, "SUPPORT", [("MPICH", True, "calls", "apt install it", "renamed.so")])
    assert doctor.main({}, []) == 1 and "bad  MPICH: " in capsys.readouterr().out


def test_doctor_says_that_the_start_up_hook_is_not_read(tmp_path):
    """Spartito is found through PYTHONPATH alone, in whose directories Python reads no .pth file."""
    from spartito.base import package

    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "venv"], check=True)
    environment = {**os.environ, "PYTHONPATH": package.SITE}
    done = run([tmp_path / "venv/bin/python", "-m", "spartito"], "doctor", cwd=tmp_path, env=environment)
    assert done.returncode == 1
    assert f"bad  start-up hook: Python does not read {package.SITE}/spartito.pth, " in done.stdout


def test_doctor_finds_a_tool_that_is_part_of_another(monkeypatch, tmp_path):
    from spartito.cli import doctor

    monkeypatch.setenv("PATH", str(tmp_path))
    assert not doctor._there("go tool pprof") and doctor._there("python -m json.tool")
    (tmp_path / "go").touch(0o755)
    assert doctor._there("go tool pprof")


def test_process_that_could_not_be_measured_is_named(spartito, made, tmp_path):
    shutil.copytree(made / "trace", tmp_path / "run")
    for pid in (8, 9):
        (tmp_path / "run" / "raw" / f"host-{pid}.error").write_text("no room left\nsecond line\n")
    line = "2 processes were not recorded: no room left"
    for verb in (["report"], ["info"], ["convert", "--to", "json", "-o", tmp_path / "out.json"]):
        done = run(spartito, *verb, tmp_path / "run")
        assert done.returncode == (0 if verb == ["info"] else 4) and done.stderr.count(line) == 1 and "damaged" not in done.stderr
    info = json.loads(run(spartito, "info", "--json", tmp_path / "run").stdout)
    assert sum("no room left" in text for text in info["problems"]) == 2


def test_cost_counts_resumptions():
    from spartito.experiments.cost import measuring_cost

    process, thread = {"cost_in": 2.0, "cost_out": 1.0}, {"process": 0, "visits": 4, "resumed": 6}
    assert measuring_cost({"processes": [process], "locations": [thread]}) == 30


def test_functions_of_start_up_are_not_counted(spartito, made):
    """Functions defined during interpreter start-up, and those of the calibration, are not counted as regions."""
    for name in ("profile", "trace"):
        info = json.loads(run(spartito, "info", "--json", made / name).stdout)
        rows = json.loads(run(spartito, "report", "--json", "--limit", "0", made / name).stdout)["rows"]
        assert info["regions"] == len(rows)


def test_functions_that_a_damaged_file_has_lost_are_not_counted(spartito, made, tmp_path):
    for name in ("profile", "trace"):
        shutil.copytree(made / name, tmp_path / name)
        for raw in (tmp_path / name / "raw").iterdir():
            os.truncate(raw, raw.stat().st_size // 2)
        info = json.loads(run(spartito, "info", "--json", tmp_path / name).stdout)
        rows = json.loads(run(spartito, "report", "--json", "tree", "--threshold", "0", tmp_path / name).stdout)["rows"]
        assert any("cut short" in text for text in info["problems"])
        assert info["regions"] == len({(r["name"], r["file"], r["line"]) for r in rows if r["kind"] != "root"})


@pytest.mark.parametrize("column, key", [("self", "excl"), ("total", "incl"), ("calls", "visits")])
def test_sort_takes_titles_of_columns(spartito, made, column, key):
    rows = [json.loads(run(spartito, "report", "--json", "--sort", by, "profile", cwd=made).stdout)["rows"] for by in (column, key)]
    values = [row[key] + (row["resumed"] if key == "visits" else 0) for row in rows[0]]
    assert rows[0] == rows[1] and values == sorted(values, reverse=True)


def test_a_table_says_that_it_has_a_limit(spartito, made):
    done = run(spartito, "report", "--limit", "2", "profile", cwd=made)
    assert done.returncode == 0 and re.search(r"^shown: 2 of \d+ functions \(--limit\)$", done.stdout, re.M)
    assert "(--limit)" not in run(spartito, "report", "--limit", "0", "profile", cwd=made).stdout


def test_a_process_is_chosen_by_its_pid(spartito, made):
    info = json.loads(run(spartito, "info", "--json", "profile", cwd=made).stdout)
    pid = info["processes"][0]["pid"]
    by_pid = run(spartito, "report", "--process", pid, "profile", cwd=made)
    assert by_pid.returncode == 0 and by_pid.stdout == run(spartito, "report", "--process", "0", "profile", cwd=made).stdout


def test_the_process_of_a_launcher(spartito, tmp_path):
    """doctor of the process of `spartito run` shows the program; info says how long it has run, not when its last event was."""
    (tmp_path / "waits.py").write_text("import time\nopen('ready', 'w').close()\ndef inner(): time.sleep(300)\ninner()\n")
    launcher = subprocess.Popen([*spartito, "run", "-o", "out", "waits.py"], cwd=tmp_path, stderr=subprocess.DEVNULL)
    try:
        wait_for(tmp_path / "ready")
        began = time.monotonic()
        done = run(spartito, "doctor", launcher.pid)
        assert done.returncode == 0 and re.search(
            rf"^spartito: process {launcher.pid} is `spartito run`; its program is process \d+$", done.stderr, re.M
        )
        assert "__main__:inner" in done.stdout
        time.sleep(1)
        least = time.monotonic() - began
        shown = run(spartito, "info", "out", cwd=tmp_path).stdout
        assert float(re.search(r"([\d.]+) s so far", shown)[1]) >= least - 0.1
    finally:
        launcher.send_signal(signal.SIGINT)
        launcher.wait()
