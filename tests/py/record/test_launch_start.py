# SPDX-License-Identifier: BSD-3-Clause
"""`spartito run` changes nothing for the program it starts: exit status, signals, standard input and environment."""

import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from commandline import run, wait_for
from terminal import on_terminal

PYTHON = sys.executable
QUOTED = shlex.quote(PYTHON)


@pytest.mark.parametrize("status", [0, 1, 3, 255])
def test_exit_status(spartito, tmp_path, status):
    done = run(spartito, "run", "-q", "--", PYTHON, "-c", f"import sys; sys.exit({status})", cwd=tmp_path)
    assert done.returncode == status
    assert done.stderr == ""


@pytest.mark.parametrize("name", ["SIGKILL", "SIGSEGV", "SIGTERM", "SIGABRT", "SIGHUP", "SIGPIPE", "SIGUSR1"])
def test_death_by_signal(spartito, tmp_path, name):
    code = f"import os, signal; signal.signal(signal.{name}, 0) if {name != 'SIGKILL'} else 0; "
    code += f"os.kill(os.getpid(), signal.{name})"
    done = run(spartito, "run", "-q", "-o", "x", "--", PYTHON, "-c", code, cwd=tmp_path)
    assert done.returncode == -getattr(signal, name)
    assert not list(tmp_path.glob("core*"))


def test_standard_input_and_output(spartito, tmp_path):
    code = "import sys; print(sys.stdin.read()[::-1], end='')"
    done = run(spartito, "run", "-q", "--", PYTHON, "-c", code, cwd=tmp_path, input="abc")
    assert done.stdout == "cba"


def signal_state(prefix, cwd, **keywords):
    """Lines SigIgn and SigBlk of /proc/self/status in a program that is not Python."""
    command = [*prefix, "grep", "-E", "SigIgn|SigBlk", "/proc/self/status"]
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, **keywords)
    assert done.returncode == 0
    return done.stdout


@pytest.mark.parametrize("ignored", ["", "SIGINT", "SIGCHLD", "SIGHUP", "SIGTERM"])
def test_signals_are_handed_over(spartito, tmp_path, ignored):
    def before():
        if ignored:
            signal.signal(getattr(signal, ignored), signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR2])

    plain = signal_state([], tmp_path, preexec_fn=before)
    assert signal_state([*spartito, "run", "-q", "--"], tmp_path, preexec_fn=before) == plain


def test_status_where_the_parent_ignores_the_end_of_children(spartito, tmp_path):
    done = run(
        spartito, "run", "-q", "--", PYTHON, "-c", "raise SystemExit(7)", cwd=tmp_path,
        preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN),
    )  # fmt: skip
    assert done.returncode == 7
    done = run(
        spartito, "run", "--", "/no/such/command", cwd=tmp_path,
        preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN),
    )  # fmt: skip
    assert done.returncode == 127


WAITING = """
import os, signal, sys, time
def caught(number, frame):
    print(signal.Signals(number).name, flush=True)
    sys.exit(5)
for n in (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2, signal.SIGINT):
    signal.signal(n, caught)
open("ready", "w").close()
for _ in range(4000):
    time.sleep(0.05)  # a signal just before it sleeps is handled after the sleep
"""


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2", "SIGINT"])
def test_signals_to_the_launcher_reach_the_program(spartito, tmp_path, name):
    command = [*spartito, "run", "-q", "--", PYTHON, "-c", WAITING]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True) as p:
        wait_for(tmp_path / "ready")
        p.send_signal(getattr(signal, name))
        assert p.communicate(timeout=150)[0] == name + "\n"
    assert p.returncode == 5


def test_unhandled_signal_to_the_launcher(spartito, tmp_path):
    code = "import time; open('ready', 'w').close(); time.sleep(200)"
    with subprocess.Popen([*spartito, "run", "-q", "--", PYTHON, "-c", code], cwd=tmp_path) as p:
        wait_for(tmp_path / "ready")
        p.send_signal(signal.SIGTERM)
        assert p.wait(150) == -signal.SIGTERM


# The kernel merges two pending signals of the same number, so the next one is sent when no process of the group has one pending.
SETTLED = """
import os, re, signal, time
from pathlib import Path
def waits(pid):
    try:
        words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        text = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False
    pending = [int(mask, 16) for mask in re.findall(r"(?:Sig|Shd)Pnd:\\s*(\\w+)", text)]
    return int(words[2]) == group and any(mask >> signal.SIGUSR1 - 1 & 1 for mask in pending)
def settle(number):
    end = time.monotonic() + 100
    while not os.path.exists(f"caught{number}") or any(waits(name) for name in os.listdir("/proc") if name.isdigit()):
        assert time.monotonic() < end, os.listdir()
        time.sleep(0.01)
"""
COUNTING = (
    SETTLED
    + """
import sys
caught, group = [], os.getpgrp()
def catch(number, frame):
    caught.append(signal.Signals(number).name)
    open(f"caught{len(caught)}", "w").close()
for n in (signal.SIGTERM, signal.SIGUSR1):
    signal.signal(n, catch)
open("ready", "w").close()
if sys.argv[1] == "itself":
    for i in range(5):
        os.killpg(0, signal.SIGUSR1)
        settle(i + 1)
    open("sent", "w").close()
while "SIGTERM" not in caught:
    time.sleep(0.05)
print(*caught)
"""
)


def test_many_open_descriptors(spartito, tmp_path):
    """The second process of the launcher's group ends with the launcher, however many descriptors the launcher inherited."""
    null = os.open(os.devnull, os.O_RDONLY)
    many = [null, *(os.dup(null) for _ in range(300))]
    command = [*spartito, "run", "-q", "--", PYTHON, "-c", "print('ran')"]
    try:
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, pass_fds=many, timeout=60)
    finally:
        for fd in many:
            os.close(fd)
    assert (done.returncode, done.stdout, done.stderr) == (0, "ran\n", "")


@pytest.mark.parametrize("who", ["another", "itself"])
def test_signals_to_the_group_come_once(spartito, tmp_path, monkeypatch, who):
    """A signal to the process group reaches the program once, although the launcher gets it, too. A signal to the launcher alone is
    forwarded to the program."""
    command = [*spartito, "run", "-q", "--", PYTHON, "-c", COUNTING, who]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True, start_new_session=True) as p:
        wait_for(tmp_path / "ready")
        if who == "another":
            monkeypatch.chdir(tmp_path)
            known = {"group": p.pid}
            exec(SETTLED, known)
            for n in range(5):
                (p.send_signal if n == 2 else lambda number: os.killpg(p.pid, number))(signal.SIGUSR1)
                known["settle"](n + 1)
        else:
            settled = time.monotonic() + 150
            while not (tmp_path / "sent").exists():
                assert time.monotonic() < settled and p.poll() is None
                time.sleep(0.02)
        p.send_signal(signal.SIGTERM)
        assert p.communicate(timeout=150)[0].split() == ["SIGUSR1"] * 5 + ["SIGTERM"]
    assert p.returncode == 0


def test_interrupt_from_the_terminal_comes_once(spartito, tmp_path):
    """Ctrl-C signals the whole foreground group: the program handles it, and the launcher continues to print the summary."""
    code = (
        "import signal, time\ncaught = []\nsignal.signal(signal.SIGINT, lambda *a: caught.append(1))\n"
        "open('ready', 'w').close()\nend = time.time() + 100\nwhile not caught and time.time() < end: time.sleep(0.05)\n"
        "end = time.time() + 1\nwhile time.time() < end: time.sleep(0.05)\n"
        "open('caught', 'w').write(str(len(caught)))\nraise SystemExit(4)"
    )
    with on_terminal([*spartito, "run", "-q", "--", PYTHON, "-c", code], cwd=tmp_path) as (p, terminal):
        wait_for(tmp_path / "ready")
        terminal.type(b"\x03")
        terminal.rest()
        assert p.wait() == 4
    assert (tmp_path / "caught").read_text() == "1"


def test_stop_from_the_terminal_and_go_on(spartito, tmp_path):
    code = (
        "import os, time\nopen('ready', 'w').close()\nend = time.time() + 100\n"
        "while not os.path.exists('stopped') and time.time() < end: time.sleep(0.01)\nraise SystemExit(6)"
    )
    shell = f'set -m; {shlex.join(spartito)} run -q -- {QUOTED} -c "{code}"; echo stopped $? > stopped; fg; echo $? > end'
    with on_terminal(["bash", "-c", shell], cwd=tmp_path) as (_, terminal):
        wait_for(tmp_path / "ready")
        terminal.type(b"\x1a")
        terminal.rest()
    assert (tmp_path / "stopped").read_text() == f"stopped {128 + signal.SIGTSTP}\n" or "stopped 147" in (
        tmp_path / "stopped"
    ).read_text()
    assert (tmp_path / "end").read_text() == "6\n"


def test_a_program_that_stops_itself_is_continued_by_another(spartito, tmp_path):
    """The launcher does not stop with the program: nobody would send SIGCONT to the launcher."""
    code = "import os, signal; open('pid', 'w').write(str(os.getpid())); os.kill(os.getpid(), signal.SIGSTOP)"
    with subprocess.Popen([*spartito, "run", "-q", "--", PYTHON, "-c", code], cwd=tmp_path) as p:
        wait_for(tmp_path / "pid")
        pid = int((tmp_path / "pid").read_text())
        for _ in range(5000):
            if ") T " in Path(f"/proc/{pid}/stat").read_text():
                break
            time.sleep(0.02)
        os.kill(pid, signal.SIGCONT)
        assert p.wait(150) == 0


def test_a_helper_of_multiprocessing_that_ends_late(spartito, tmp_path):
    """The resource tracker exits after the program; its recording is part of the experiment."""
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "sitecustomize.py").write_text(
        "import atexit, time\nif 'resource_tracker' in open('/proc/self/cmdline').read(): atexit.register(time.sleep, 2)\n"
    )
    (tmp_path / "program.py").write_text(
        "import multiprocessing, os\nif __name__ == '__main__':\n"
        "    p = multiprocessing.get_context('spawn').Process(target=os.getpid)\n    p.start()\n    p.join()\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "site")}
    done = run(spartito, "run", "--compress", "-o", "x", "--", PYTHON, "program.py", cwd=tmp_path, env=environment)
    assert done.returncode == 0 and "3 processes" in done.stderr and "still run" not in done.stderr, done.stderr


def test_environment_is_the_plain_one(spartito, tmp_path):
    code = "import os; print(sorted((k, v) for k, v in os.environ.items() if k != 'SPARTITO_EXPERIMENT'))"
    plain = subprocess.run([PYTHON, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    done = run(spartito, "run", "-q", "--", PYTHON, "-c", code, cwd=tmp_path)
    assert done.stdout == plain.stdout


def test_open_files_are_the_plain_ones(spartito, tmp_path):
    command = ["ls", "/proc/self/fd"]
    plain = subprocess.run(command, capture_output=True, text=True)
    assert run(spartito, "run", "-q", "--", *command, cwd=tmp_path).stdout == plain.stdout


def test_closed_standard_streams(spartito, tmp_path):
    line = f"{shlex.join(spartito)} run -o x -- {QUOTED} -c 'raise SystemExit(9)' <&- >&- 2>&-; echo $?"
    done = subprocess.run(["bash", "-c", line], cwd=tmp_path, capture_output=True, text=True)
    assert done.stdout == "9\n"


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        (["script.py", "a", "--x"], "['script.py', 'a', '--x']"),
        (["-m", "script", "b"], "'b']"),
        (["-c", "import sys; print(sys.argv)", "c"], "['-c', 'c']"),
        (["-O", "script.py"], "['script.py']"),
        ([PYTHON, "-u", "script.py"], "['script.py']"),
        (["./runs.py", "d"], "['./runs.py', 'd']"),
        (["sh", "-c", f"{QUOTED} script.py e"], "['script.py', 'e']"),
        (["./plain", "f"], "f\n"),
    ],
)
def test_kinds_of_command_lines(spartito, tmp_path, words, shown):
    (tmp_path / "script.py").write_text("import sys\nprint(sys.argv)\n")
    (tmp_path / "runs.py").write_text("#!/usr/bin/env python\nimport sys\nprint(sys.argv)\n")
    (tmp_path / "plain").write_text('echo "$1"\n')  # without a #! line a shell runs it
    for name in ("runs.py", "plain"):
        (tmp_path / name).chmod(0o755)
    # A #! line cannot name an interpreter whose path has a space. PATH can.
    environment = {**os.environ, "PATH": os.path.dirname(PYTHON) + os.pathsep + os.environ["PATH"]}
    done = run(spartito, "run", "-q", "--", *words, cwd=tmp_path, env=environment)
    assert done.returncode == 0
    assert shown in done.stdout


def test_files_here_are_not_taken_for_modules(spartito, tmp_path):
    for name in ("json", "errno", "signal", "resource", "textwrap"):
        (tmp_path / f"{name}.py").write_text("raise RuntimeError('wrong module')\n")
    done = run(spartito, "run", "-q", "-o", "x", "--", PYTHON, "-I", "-c", "print(1)", cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "1\n", "")


@pytest.mark.parametrize(
    ("name", "status", "message"),
    [("no-such-command", 127, "no-such-command: command not found"), ("./denied", 126, "./denied: cannot be started"),
     ("./lost", 127, "first line"), ("/", 126, "/: cannot be started")],
)  # fmt: skip
def test_commands_that_cannot_be_started(spartito, tmp_path, name, status, message):
    (tmp_path / "denied").write_text("x")
    (tmp_path / "lost").write_text("#!/no/such/interpreter\n")
    (tmp_path / "lost").chmod(0o755)
    done = run(spartito, "run", "--", name, cwd=tmp_path)
    assert done.returncode == status
    assert message in done.stderr and done.stderr.count("\n") == 1
    assert sorted(p.name for p in tmp_path.iterdir()) == ["denied", "lost"]


def test_scripts_of_ipython_are_measured(tmp_path):
    pytest.importorskip("IPython")
    source = "%time x = 1\ndef sq(n):\n    return n * n\n!echo shell\nprint(sum(sq(i) for i in range(10)))\n"
    (tmp_path / "a.ipy").write_text(source)
    env = {**os.environ, "IPYTHONDIR": str(tmp_path / "profile")}
    command = [sys.executable, "-m", "spartito", "run", "-q", "a.ipy"]
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True)
    # what the shell prints may come before what IPython printed earlier
    assert done.returncode == 0 and "shell" in done.stdout.split("\n") and done.stdout.endswith("\n285\n"), done.stderr
    (experiment,) = tmp_path.glob("spartito-a-*")
    from spartito._analyse import Model

    assert [(r["visits"], r["file"][:1]) for r in Model(str(experiment)).flat() if r["name"] == "__main__:sq"] == [(10, "<")]
