# SPDX-License-Identifier: BSD-3-Clause
"""Every process of a program is in the experiment: its command, its parent, its calls and how it ended."""

import json
import os
import signal
import subprocess
import sys
import textwrap
import time

import pytest
import spartito._analyse as analyse
from commandline import run
from spartito.experiments import losses

METHODS = ("fork", "spawn", "forkserver")
HEAD = "import os, signal, subprocess, sys, threading, time\ndef leaf(): return 1\n"


class Experiment:
    """The experiment of a program run with `spartito run`, its output and its status."""

    def __init__(self, path, spartito, source, *options, environment=None):
        (path / "p.py").write_text(HEAD + textwrap.dedent(source))
        self.path = path / "x"
        words = ["run", "-q", *options, "-o", "x", "--", sys.executable, "p.py"]
        done = run(spartito, *words, cwd=path, env={**os.environ, **(environment or {})})
        self.stdout, self.stderr, self.status = done.stdout, done.stderr, done.returncode
        self.read()

    def read(self):
        self.model = analyse.Model(str(self.path))
        self.info = self.model.info()
        self.processes, self.children = self.info["processes"], self.info["children"]
        assert not self.info["problems"]

    def visits(self, name, process=-1):
        rows = self.model.flat(match=name, process=process)
        return sum(row["visits"] for row in rows if row["name"].split(":")[-1] == name)

    def unmeasured(self):
        return [c for c in self.children if c["process"] is None]


@pytest.fixture
def experiment(tmp_path, spartito):
    return lambda *words, **more: Experiment(tmp_path, spartito, *words, **more)


@pytest.mark.parametrize("method", METHODS)
def test_pool_that_is_terminated(experiment, method):
    x = experiment(f"""
        import multiprocessing
        def begun(both): both.wait()
        def task(n): return leaf() + leaf()
        def stuck(ready): leaf(); ready.set(); time.sleep(300)
        if __name__ == "__main__":
            context = multiprocessing.get_context("{method}")
            ready = context.Manager().Event()
            # none is ended before it is recorded
            with context.Pool(2, begun, (context.Barrier(2),)) as pool:
                print(sum(pool.map(task, range(50))), leaf())
                pool.apply_async(stuck, (ready,))
                ready.wait()
        """)
    assert (x.status, x.stdout, x.stderr) == (0, "100 1\n", "")
    assert x.visits("task") == 50 and x.visits("leaf") == 102
    assert x.visits("task", 0) == 0 and x.visits("leaf", 0) == 1
    killed = [p for p in x.processes if p["ended_by"] is not None]
    assert killed and all((p["end"], p["ended_by"], p["signal"]) == ("abrupt", 0, signal.SIGTERM) for p in killed)
    assert not [p for p in x.processes if p["end"] == "abrupt" and p not in killed]
    (message,) = losses.sentences(x.info)
    assert losses.ABRUPT not in message and "nothing is lost" in message
    assert "SIGTERM" in message and str(x.processes[0]["pid"]) in message
    assert ("parent" in message) == (method != "forkserver")


@pytest.mark.parametrize("method", METHODS)
def test_executor(experiment, method):
    x = experiment(f"""
        import multiprocessing
        from concurrent.futures import ProcessPoolExecutor
        def task(n): return leaf()
        if __name__ == "__main__":
            with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("{method}")) as pool:
                print(sum(pool.map(task, range(30))))
        """)
    assert (x.status, x.stdout, x.stderr) == (0, "30\n", "")
    assert x.visits("task") == x.visits("leaf") == 30 and x.visits("task", 0) == 0
    assert losses.sentences(x.info) == []
    workers = [p for i, p in enumerate(x.processes) if x.visits("task", i)]
    assert workers and all((p["end"], p["status"]) == ("exited", 0) for p in workers if method != "spawn")
    assert all(p["begin"] < p["stop"] for p in x.processes)
    above = x.processes[workers[0]["parent"]]
    assert above is x.processes[0] or (method == "forkserver" and "forkserver" in above["command"])


def test_other_programs(experiment, spartito):
    x = experiment("""
        python = [sys.executable, "-c", "def f(): pass\\nf()"]
        subprocess.run(python)
        subprocess.run(["sh", "-c", "exit 3"])
        subprocess.run(["sh", "-c", '"$0" "$@"; true', *python])
        os.system("true 'a  b'")
        os.posix_spawn("/bin/true", ["true", b"\\xff", ""], os.environ)
        os.wait()
        os.waitid(os.P_PID, os.posix_spawnp("sh", ["sh", "-c", "kill -9 $$"], os.environ), os.WEXITED)
        os.spawnv(os.P_WAIT, "/bin/sh", ["sh", "-c", "exit 5"])
        p = subprocess.Popen(["sleep", "60"])
        p.terminate()
        p.wait()
        """)
    assert (x.status, x.stdout, x.stderr) == (0, "", "")
    assert x.visits("f") == 2 and losses.sentences(x.info) == []
    main, one, two, spawnv = x.processes
    assert [p["parent"] for p in x.processes] == [None, 0, 0, 0]
    assert "def f" in one["command"] and one["status"] == 0 and one["end"] == two["end"] == main["end"] == "normal"
    assert (spawnv["end"], spawnv["forked"], spawnv["meta"]["exec"]) == ("exec", True, "sh -c 'exit 5'")
    children = [(c["command"], c["status"], c["signal"], c["exec"]) for c in x.unmeasured() if '"$@"' not in c["command"]]
    assert children == [
        ("sh -c 'exit 3'", 3, None, False),
        ("true 'a  b'", 0, None, False),
        ("true \\udcff ''", 0, None, False),
        ("sh -c 'kill -9 $$'", None, 9, False),
        ("sleep 60", None, 15, False),
        ("sh -c 'exit 5'", 5, None, True),
    ]
    assert all(c["end"] >= c["begin"] for c in x.children)
    assert run(spartito, "finalize", "--force", x.path).returncode == 0
    merged = analyse.Model(str(x.path)).info()
    assert (x.path / "merged").exists()
    assert (merged["processes"], merged["children"]) == (x.processes, x.children)


def test_words_that_are_no_text(experiment):
    x = experiment("""
        import pathlib
        looked = []
        class Meta(type):
            def __getattribute__(cls, name):
                looked.append(name)
                return super().__getattribute__(name)
        class Own(metaclass=Meta):
            def __fspath__(self):
                return "c"
        subprocess.run([pathlib.Path("/bin/true"), pathlib.Path("a b"), Own()])
        print(looked)
        """)
    assert (x.status, x.stdout) == (0, "[]\n"), "code of the program ran"
    assert [c["command"] for c in x.unmeasured()] == ["/bin/true 'a b' <Own>"]


def test_exec(experiment):
    x = experiment("""
        try:
            os.execv("/nowhere/program", ["program"])
        except FileNotFoundError:
            leaf()
        if os.fork() == 0:
            leaf()
            os.execlp("sh", "sh", "-c", "exit 4")
        if os.fork() == 0:
            os.execve("/bin/sh", argv=["sh", "-c", "exit 6"], env={})
        os.wait(), os.wait()
        sys.stdout.flush()
        os.execv(sys.executable, [sys.executable, "-c", "def after(): pass\\nafter()"])
        """)
    assert (x.status, x.stderr) == (0, "")
    assert x.visits("leaf") == 2 and x.visits("after") == 1
    first, fork, other, last = x.processes
    assert [p["end"] for p in x.processes] == ["exec", "exec", "exec", "normal"]
    assert (last["continues"], last["pid"], last["parent"]) == (0, first["pid"], first["parent"])
    assert sorted((c["command"], c["status"]) for c in x.unmeasured()) == [("sh -c 'exit 4'", 4), ("sh -c 'exit 6'", 6)]
    assert fork["parent"] == other["parent"] == 0 and losses.sentences(x.info) == []


def test_preexec(experiment):
    """preexec_fn runs in the child between fork and exec: this child is a process of the experiment, and counts as ended by
    exec."""
    x = experiment("""
        subprocess.run(["sh", "-c", "exit 7"], preexec_fn=leaf)
        subprocess.run([sys.executable, "-c", "def f(): pass\\nf()"], preexec_fn=leaf)
        """)
    assert x.visits("leaf") == 2 and x.visits("f") == 1 and losses.sentences(x.info) == []
    assert [p["end"] for p in x.processes] == ["normal", "exec", "exec", "normal"]
    assert [p["continues"] for p in x.processes] == [None, None, None, 2]
    assert [(c["command"], c["status"], c["parent"]) for c in x.unmeasured()] == [("sh -c 'exit 7'", 7, 1)]


def test_ends(experiment):
    x = experiment("""
        for n in range(3):
            pid = os.fork()
            if pid == 0:
                leaf()
                if n == 0:
                    os.kill(os.getpid(), signal.SIGKILL)
                os._exit(**({"status": 3} if n == 1 else {"status": 259}))
            os.waitpid(pid, 0)
        """)
    assert [(p["end"], p["status"], p["signal"]) for p in x.processes[1:]] == [
        ("abrupt", None, 9), ("exited", 3, None), ("exited", 3, None)]
    assert x.visits("leaf") == 3
    (message,) = losses.sentences(x.info)
    assert losses.ABRUPT in message and "SIGKILL" in message and str(x.processes[1]["pid"]) in message


def test_daemon_goes_on(experiment, spartito):
    """A daemon made by a double fork outlives the program and its launcher; its recording is complete."""
    x = experiment("""
        read, write = os.pipe()
        if os.fork() == 0:
            leaf()
            os.setsid()
            if os.fork() == 0:
                leaf()
                os.write(write, b"x")
                os.close(1), os.close(2)
                while not os.path.exists("end"):
                    time.sleep(0.02)
                for _ in range(5): leaf()
                sys.exit(0)
            os._exit(0)
        os.wait()
        os.read(read, 1)
        """)
    main, between, daemon = x.processes
    assert (main["end"], between["end"], daemon["end"]) == ("normal", "exited", "running")
    assert (between["parent"], daemon["parent"]) == (0, 1)
    (message,) = losses.sentences(x.info)
    assert str(daemon["pid"]) in message and "still runs" in message
    (x.path.parent / "end").touch()
    until = time.monotonic() + 100
    while x.processes[2]["end"] == "running" and time.monotonic() < until:
        time.sleep(0.05)
        x.read()
    assert x.processes[2]["end"] == "normal" and x.visits("leaf") == 7 and losses.sentences(x.info) == []


def test_fork_while_threads_record(experiment):
    x = experiment("""
        import warnings
        warnings.simplefilter("ignore")  # of forks beside threads, since 3.12
        done = threading.Event()
        def busy(counts, n):
            while not done.is_set():
                leaf()
                counts[n] += 1
                if counts[n] > 100_000: time.sleep(0.001)  # forks may take long
        def child():
            for _ in range(100): mine()
        def mine(): pass
        counts = [0, 0, 0]
        threads = [threading.Thread(target=busy, args=(counts, n)) for n in range(3)]
        for t in threads: t.start()
        for _ in range(20):
            pid = os.fork()
            if pid == 0:
                child()
                os._exit(0)
            os.waitpid(pid, 0)
        done.set()
        for t in threads: t.join()
        print(sum(counts))
        """, "--trace")
    assert (x.status, x.stderr) == (0, "")
    assert x.visits("mine") == 2000 and x.visits("leaf") == x.visits("leaf", 0) == int(x.stdout)
    assert [p["end"] for p in x.processes] == ["normal"] + ["exited"] * 20
    assert len(x.info["locations"]) == 24 and losses.sentences(x.info) == []


def test_time_of_frames_open_at_a_fork_is_in_no_mean(experiment):
    x = experiment("""
        def parent():
            pids = [os.fork()]
            if pids == [0]:
                time.sleep(0.2)
                return
            os.wait()
        parent()
        """)
    for rows in (x.model.flat(), x.model.tree(), x.model.flat(process=0), x.model.flat(process=1)):
        assert all(row["mean"] <= row["max"] * 1.000001 for row in rows if row["kind"] != "root")
    (row,) = x.model.flat(match="__main__:parent")
    assert row["visits"] == 1 and row["incl"] >= row["mean"] + 0.2
    for workers in (1, 2):
        analyse.merge(str(x.path), force=True, workers=workers)
        assert analyse.Model(str(x.path)).flat() == x.model.flat()


def test_the_functions_look_as_without(tmp_path, spartito):
    source = """
import inspect, os, pickle, posix, sys
import _posixsubprocess, subprocess
for name in ("fork", "waitpid", "execve", "_exit", "kill", "system", "wait3"):
    f = getattr(os, name)
    print(f, f.__name__, f.__qualname__, f.__module__, f.__doc__, inspect.signature(f), f is getattr(posix, name), type(f),
          pickle.loads(pickle.dumps(f)) is f, f.__self__)
print(_posixsubprocess.fork_exec, _posixsubprocess.fork_exec.__doc__)
for call in (lambda: os.kill(), lambda: os._exit("x"), lambda: os.execv("a", []), lambda: os.waitpid(10**9, 0)):
    try:
        call()
    except Exception as e:
        print(type(e), e)
"""
    (tmp_path / "p.py").write_text(source)
    plain = subprocess.run([sys.executable, "p.py"], cwd=tmp_path, capture_output=True, text=True)
    under = run(spartito, "run", "-q", "--", sys.executable, "p.py", cwd=tmp_path)
    assert plain.returncode == 0 and (under.returncode, under.stderr) == (0, "")
    assert under.stdout == plain.stdout


def test_info_shows_the_family(experiment, spartito):
    x = experiment("""
        subprocess.run([sys.executable, "-c", "import os; os.system('exit 2')"])
        if os.fork() == 0:
            leaf()
            os._exit(1)
        os.wait()
        """, environment={"SLURM_JOB_ID": "4711"})
    lines = run(spartito, "info", x.path).stdout.splitlines()
    assert any(line.split() == ["job", "4711"] for line in lines)
    (first,) = [i for i, line in enumerate(lines) if "cost/call" in line]
    at = lines[first].index("command")
    assert [line[at:].rstrip() for line in lines[first + 1 : first + 5]] == [
        f"{sys.executable} p.py",
        f"  {sys.executable} -c \"import os; os.system('exit 2')\"",
        "    exit 2",
        "  (copy of its parent)",
    ]
    assert "exit 2" in lines[first + 3] and "exited 1" in lines[first + 4]
    titles = [line for line in run(spartito, "report", "--processes", x.path).stdout.splitlines() if "process " in line]
    main, python, copy = (p["pid"] for p in x.processes)
    for pid, origin in ((main, f"{sys.executable} p.py"), (python, f"started by process {main}: {x.processes[1]['command']}"),
                        (copy, f"a copy of process {main}")):
        assert any(f"process {pid} on {os.uname().nodename}, {origin}" in line for line in titles), titles
    reported = json.loads(run(spartito, "info", "--json", x.path).stdout)
    assert [p["parent"] for p in reported["processes"]] == [None, 0, 0] and reported["launcher"]["job"] == "4711"
    assert all(p["meta"]["job"] == "4711" and p["host"] == os.uname().nodename for p in reported["processes"])
    assert [(c["parent"], c["process"]) for c in reported["children"]] == [(0, 1), (0, 2), (1, None)]


def forks(before):
    """The text of a program that forks three children, each of which forks one; every child calls leaf() once."""
    return f"""
        import resource
        {before}
        for i in range(3):
            if os.fork() == 0:
                leaf()
                if os.fork() == 0:
                    leaf()
                    os._exit(0)
                os.wait()
                os._exit(0)
            os.wait()
        """


def test_fork_without_a_descriptor(experiment):
    x = experiment(forks("resource.setrlimit(resource.RLIMIT_NOFILE, (16, 16)); full = []\n"
                         "        try:\n"
                         "            while True: full.append(os.dup(0))\n"
                         "        except OSError: pass"))
    assert (x.status, x.stderr) == (0, "")
    assert x.visits("leaf") == 6 and len(x.processes) == 7 and losses.sentences(x.info) == []


@pytest.mark.parametrize("before, why", [
    ("os.chroot('.')", "No such file or directory"),
    ("os.setuid(65534)", "Permission denied"),
    ("resource.setrlimit(resource.RLIMIT_FSIZE, (2048, 2048))", "File too large"),
], ids=["chroot", "setuid", "file size"])
def test_children_without_a_file_are_counted(experiment, spartito, before, why):
    if "FSIZE" not in before and os.geteuid():
        pytest.skip("only root may do that")
    x = experiment(forks(before))
    assert x.status == 0 and len(x.processes) == 1
    *parents, children = losses.sentences(x.info)
    assert children == f"6 child processes not recorded: {why}"
    # the parent's file may reach its limit, too, and cannot grow then
    for text in parents:
        assert text.startswith(f"lost in process {x.processes[0]['pid']} ") and text.endswith(f" (the file could not grow: {why})")
    for verb, status in (("report", losses.INCOMPLETE), ("info", 0)):
        done = run(spartito, verb, x.path)
        assert done.returncode == status and children in done.stderr + done.stdout
    assert run(spartito, "finalize", "--force", x.path).returncode == 0
    assert analyse.Model(str(x.path)).info()["processes"] == x.processes
    run(spartito, "convert", "--to", "json", "-o", x.path.parent / "x.json", x.path)
    lost = json.loads((x.path.parent / "x.json").read_text())["processes"][0]
    assert (lost["lost"]["children"], lost["lost_children_reason"]) == (6, why)


def test_a_program_without_room_for_a_file_is_named_once(spartito, tmp_path):
    """The process cannot write why it is not recorded. It is reported once, without a guessed reason."""
    program = ("import resource, subprocess, sys\n"
               "resource.setrlimit(resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))\n"
               "status = subprocess.run([sys.executable, '-c', 'pass']).returncode\n"
               "resource.setrlimit(resource.RLIMIT_FSIZE, 2 * (resource.RLIM_INFINITY,))\n"
               "print(status)\n")
    done = run(spartito, "run", "-q", "-o", "x", "--", sys.executable, "-c", program, cwd=tmp_path)
    message = "a process was not recorded: it had no space to write the reason"
    assert (done.returncode, done.stdout, done.stderr) == (0, "0\n", f"spartito: {message}\n")
    info = analyse.Model(str(tmp_path / "x")).info()
    (pid,) = (p["pid"] for p in info["processes"])
    assert [text for text in losses.sentences(info) if not text.startswith(f"lost in process {pid} ")] == [message]


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="the number of the system call")
@pytest.mark.parametrize("how", ["--trace", "--no-trace"])
def test_raw_clone_leaves_the_parent_alone(experiment, how):
    x = experiment("""
        import ctypes
        def work():
            for i in range(20000): leaf()
        def main():
            for k in range(3):
                pid = ctypes.CDLL(None).syscall(56, signal.SIGCHLD, 0, 0, 0, 0)
                for i in range(5): work()
                if pid == 0:
                    os._exit(7)
                print(os.WEXITSTATUS(os.waitpid(pid, 0)[1]))
        main()
        """, how)
    assert (x.status, x.stdout, x.stderr) == (0, "7\n" * 3, "")
    assert len(x.processes) == 1 and x.processes[0]["end"] == "normal"
    message = "3 child processes not recorded: begun by a system call (clone)"
    assert any(text.startswith(message) for text in losses.sentences(x.info))
    assert x.visits("leaf") > 299000  # child and parent may both count until the recorder detects the child


@pytest.mark.parametrize("words, why", [
    (["-S"], "-S skips the start-up hook"),
    (["-I"], "-I ignores PYTHONPATH and the like, by which spartito is found"),
    ([], "an interpreter without spartito, or another user, root directory, environment or limit"),
], ids=["-S", "-I", "bare"])
def test_python_that_is_not_followed_is_named(experiment, spartito, tmp_path, words, why):
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "bare"], check=True)
    python = sys.executable if words == ["-S"] else str(tmp_path / "bare" / "bin" / "python")
    x = experiment(f"""
        bare = [{python!r}, *{words!r}, "-c"]
        for i in range(5):
            subprocess.run([*bare, "pass"])
        subprocess.run([*bare, "1/0"], stderr=subprocess.DEVNULL)
        # these are no loss: measured, no Python, or nothing of it ran
        subprocess.run([sys.executable, "-c", "pass"])
        subprocess.run(["sh", "-c", '"$0" -c pass; true', sys.executable])
        os.system(sys.executable + " -c pass")
        subprocess.run([sys.executable, "--version"])
        subprocess.run(["sleep", "0"])
        p = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
        p.kill()
        p.wait()
        """)
    assert x.status == 0
    (message,) = losses.sentences(x.info)
    assert message.startswith(f"6 child processes that ran Python not recorded: {why} (")
    done = run(spartito, "report", x.path)
    assert "6 child processes that ran Python not recorded" in done.stderr


# Commands that run Python without the start-up hook. Each one is a child process, except those of os.system().
STARTED = {
    "shell": 'subprocess.run(bare + " -c pass; true", shell=True)',
    "shell's argument": 'subprocess.run(["sh", "-ec", "cd /; X=1 exec " + bare + " -c pass"])',
    "system": 'os.system("cd / && " + bare + " -c pass; true")',
    "popen": 'os.popen("if " + bare + " -c pass; then :; fi").close()',
    "cluster": 'subprocess.run([python, "-uSB", "-c", "pass"])',
    "options": 'subprocess.run([python, "--check-hash-based-pycs", "default", "-W", "ignore", "-X", "dev", "-S", "-c", "pass"])',
    "script": 'subprocess.run(["./script"])',
    "spawn": 'os.waitpid(os.posix_spawn(python, [python, "-S", "-c", "pass"], os.environ), 0)',
    "killed": 'p = subprocess.Popen([python, "-S", "-c", "input()"], stdin=subprocess.PIPE); time.sleep(11); p.kill(); p.wait()',
    "exec": 'os.execv(python, [python, "-S", "-c", "pass"])',
}


@pytest.mark.parametrize("how", STARTED)
def test_however_python_was_started_it_is_named(experiment, tmp_path, how):
    (tmp_path / "script").write_text(f"#!{sys.executable} -S\npass\n")
    (tmp_path / "script").chmod(0o755)
    x = experiment(f"""
        import time
        python = {sys.executable!r}
        bare = python + " -S"
        {STARTED[how]}
        """)
    assert x.status == 0
    (message,) = losses.sentences(x.info)
    assert message.startswith("1 child process that ran Python not recorded: -S skips the start-up hook (")


@pytest.mark.parametrize("text", [
    'subprocess.run("echo python -S; : " + sys.executable, shell=True)',
    'subprocess.run([sys.executable, "-Wdefault::SyntaxWarning", "-c", "pass"])',
    'subprocess.run([sys.executable, "-c", "pass", "-S"])',
    'subprocess.run([sys.executable, "-S", "--version"])',
])  # fmt: skip
def test_what_runs_no_python_or_is_measured_is_not_named(experiment, text):
    assert losses.sentences(experiment(text).info) == []


def test_a_run_within_a_run_is_named(spartito, tmp_path):
    inner = [*map(str, spartito), "run", "-q", "-o", "inner", "--", sys.executable, "-c", "pass"]
    done = run(spartito, "run", "-o", "outer", "--", *inner, cwd=tmp_path)
    assert done.returncode == 0
    message = "is another `spartito run`: the program that it started is not recorded here, but in its own experiment, in inner"
    assert message in done.stderr
    assert analyse.Model(str(tmp_path / "inner")).info()["processes"]
