# SPDX-License-Identifier: BSD-3-Clause
"""`spartito attach`: records an experiment of a process that runs already, and does not disturb it."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import textwrap

import pytest
from commandline import run
from spartito._analyse import Error, Model
from spartito._sample import check
from spartito.sample.attaching import until
from terminal import on_terminal
from test_sample_run import late
from test_sample_stacks import running

pytestmark = pytest.mark.skipif(check() is not None, reason=f"other processes cannot be sampled here: {check()}")

BUSY = """
    import sys, threading, time
    def busy(seconds):
        end = time.thread_time() + seconds
        while time.thread_time() < end:
            pass
    def much():
        busy(0.03)
    def little():
        busy(0.01)
    def work():
        print("ready", flush=True)
        while not asked:
            much()
            little()
    asked = []
    thread = threading.Thread(target=work)
    thread.start()
    asked.append(sys.stdin.readline())
    thread.join()
    print("answered", asked)
    sys.exit(3)
    """


@contextlib.contextmanager
def attaching(spartito, path, *words, out="out", **keywords):
    """Runs `spartito attach` for a with-block. It is killed at the end, also after a failure: it would sample as long as the
    process runs."""
    command = [*spartito, "attach", "-o", out, *map(str, words)]
    with subprocess.Popen(command, cwd=path, stderr=subprocess.PIPE, text=True, **keywords) as attach:
        try:
            yield attach
        finally:
            attach.kill()


def rows(path):
    return {row["name"]: row for row in Model(str(path)).flat()}


def so_far(path):
    """{process: names of its functions} of an experiment whose files may be incomplete."""
    try:
        model = Model(str(path))
        return {p["pid"]: {row["name"] for row in model.flat(process=i)} for i, p in enumerate(model.info()["processes"])}
    except Error:
        return {}


def sees(attach, path, pid, function):
    """Waits until the experiment has a sample of the function in that process."""
    while f"__main__:{function}" not in so_far(path).get(pid, ()):
        assert attach.poll() is None, attach.stderr and attach.stderr.read()


def until_seen(spartito, path, pid, *words, out="out", **keywords):
    """Attaches until a sample of busy() exists; returns the messages of `spartito attach`."""
    with attaching(spartito, path, *words, pid, out=out, **keywords) as attach:
        sees(attach, path / out, pid, "busy")
        attach.send_signal(signal.SIGINT)
        message = attach.communicate()[1]
    assert attach.returncode == 0, message
    return message


def test_a_process_that_runs_on(tmp_path, spartito):
    with running(BUSY) as p:
        done = run(spartito, "attach", "--duration", "4", "--sample-rate", "500", "-o", "out", p.pid, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert done.stderr.splitlines()[0] == f"spartito: sampling process {p.pid} into out"
        assert "times are those of samples" in done.stderr and "__main__:busy" in done.stderr
        assert p.communicate("go on\n") == ("answered ['go on\\n']\n", None) and p.wait() == 3
    found = rows(tmp_path / "out")
    cpu = {name: found[f"__main__:{name}"]["metrics"]["sampled_cpu"]["incl"] for name in ("work", "much", "little")}
    missed = late(Model(str(tmp_path / "out"))) * 1e9
    for name, share in (("much", 0.75), ("little", 0.25)):
        assert cpu[name] == pytest.approx(share * cpu["work"], abs=0.15 * cpu["work"] + missed) and cpu["work"] > 0
    assert found["__main__:<module>"]["metrics"]["sampled_idle"]["incl"] > 1e9  # it reads a pipe
    described = json.loads((tmp_path / "out" / "experiment.json").read_text())
    assert described["end"] > described["start"] and described["status"] is None and described["command"][1] == "-c"
    info = Model(str(tmp_path / "out")).info()
    assert [process["pid"] for process in info["processes"]] == [p.pid] and not info["problems"]


def test_the_duration_begins_with_the_samples():
    class Slow:
        """Samplers that need longer than the duration until they begin."""

        turns, stopped = 0, False

        def find(self):
            self.turns += 1

        def begun(self):
            return self.turns > 20

        def over(self):
            return False

        def stop(self):
            self.stopped = True

    slow = Slow()
    until(slow, 0.001, [])
    assert slow.turns > 20 and slow.stopped


def test_children_that_it_has_and_starts(tmp_path, spartito):
    source = """
        import subprocess, sys, time
        child = "import time\\ndef waits(): time.sleep(1000)\\nprint('ready', flush=True); waits()"
        def start():
            p = subprocess.Popen([sys.executable, "-c", child], stdout=subprocess.PIPE, text=True)
            p.stdout.readline()
            return p
        had = start()
        print("ready", flush=True)
        sys.stdin.readline()
        others = [subprocess.Popen(["sleep", "1000"]), start()]
        print(had.pid, *(p.pid for p in others), flush=True)
        sys.stdin.readline()
        for p in [had, *others]:
            p.kill()
            p.wait()
        """
    with running(source) as p, attaching(spartito, tmp_path, p.pid) as attach:
        assert "sampling process" in attach.stderr.readline()
        while not any("__main__:waits" in names for names in so_far(tmp_path / "out").values()):
            assert attach.poll() is None
        p.stdin.write("\n")
        p.stdin.flush()
        had, sleep, started = map(int, p.stdout.readline().split())
        for child in (had, started):
            sees(attach, tmp_path / "out", child, "waits")
        sees(attach, tmp_path / "out", p.pid, "<module>")
        p.stdin.write("\n")
        p.stdin.flush()
        assert p.wait() == 0
        assert attach.wait() == 0, attach.stderr.read()
    # The order in which samplers begin is arbitrary. A child may have been sampled as a Python process, before it executed another
    # program.
    found = {process["pid"] for process in Model(str(tmp_path / "out")).info()["processes"]}
    assert {p.pid, had, started} <= found <= {p.pid, had, started, sleep}


def test_a_process_that_becomes_another_program(tmp_path, spartito):
    source = """
        import os, sys
        def before():
            sys.stdin.readline()
            after = "import sys\\ndef after(): print('after', flush=True); sys.stdin.readline()\\nafter(); sys.exit(4)"
            os.execv(sys.executable, [sys.executable, "-c", after])
        print("ready", flush=True)
        before()
        """
    with running(source) as p, attaching(spartito, tmp_path, p.pid) as attach:
        attach.stderr.readline()
        for function, line in (("before", "after\n"), ("after", "")):
            while not any(f"__main__:{function}" in names for names in so_far(tmp_path / "out").values()):
                assert attach.poll() is None
            p.stdin.write("\n")
            p.stdin.flush()
            assert p.stdout.readline() == line
        assert p.wait() == 4
        assert attach.wait() == 0, attach.stderr.read()
    assert {"__main__:before", "__main__:after"} <= set(rows(tmp_path / "out"))


def test_a_process_that_becomes_another_program_as_its_sampler_begins(tmp_path):
    source = """
        import os, signal, sys, time
        after = "import time\\ndef after(): time.sleep(1000)\\nafter()"
        signal.signal(signal.SIGUSR1, lambda *_: os.execv(sys.executable, [sys.executable, "-c", after]))
        print("ready", flush=True)
        time.sleep(1000)
        """
    words = """
        import os, signal, sys, time
        from spartito.cli.main import main
        from spartito.sample import attaching
        def sample(directory, settings, rate, native, pid):
            attaching._sample.sample = begin
            before, begun = attaching.image(pid), begin(directory, settings, rate, native, pid)
            while not os.listdir(os.path.join(directory, "raw")):
                time.sleep(0.01)
            os.kill(pid, signal.SIGUSR1)
            while attaching.image(pid) in (before, b""):
                time.sleep(0.01)
            return begun
        begin, attaching._sample.sample = attaching._sample.sample, sample
        sys.exit(main())
        """
    with running(source) as p, attaching([sys.executable, "-c", textwrap.dedent(words)], tmp_path, "-q", p.pid) as attach:
        sees(attach, tmp_path / "out", p.pid, "after")
        attach.send_signal(signal.SIGINT)
        assert (attach.wait(), attach.stderr.read()) == (0, "")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_the_user_ends_it(tmp_path, spartito, number):
    if signal.getsignal(number) is signal.SIG_IGN:
        pytest.skip("it is ignored here, and so is it in what starts here")
    with running(BUSY) as p:
        with attaching(spartito, tmp_path, p.pid) as attach:
            assert attach.stderr.readline() == f"spartito: sampling process {p.pid} into out; Ctrl-C ends it\n"
            sees(attach, tmp_path / "out", p.pid, "busy")
            attach.send_signal(number)
            err = attach.stderr.read()
            assert attach.wait() == 0 and "spartito report" in err
        assert p.poll() is None
        p.communicate("\n")
        assert p.returncode == 3


def test_the_terminal_is_closed(tmp_path, spartito):
    """The terminal is closed while `spartito attach` runs: its messages are lost, but the experiment is complete."""
    with running(BUSY) as p:
        with on_terminal([*spartito, "attach", "-o", "out", p.pid], cwd=tmp_path) as (attach, terminal):
            sees(attach, tmp_path / "out", p.pid, "busy")
            terminal.close()
            assert attach.wait() == 0
        assert p.poll() is None
    assert json.loads((tmp_path / "out" / "experiment.json").read_text())["end"]
    assert not Model(str(tmp_path / "out")).info()["problems"]


def test_what_is_done_at_the_end_of_a_run_is_done_here(tmp_path, spartito, monkeypatch):
    words = ["--to", "folded", "--trace"]
    with running(BUSY) as p:
        monkeypatch.setenv("SPARTITO_FINALIZE", "0")
        assert "next: spartito finalize later" in until_seen(spartito, tmp_path, p.pid, *words, out="later")
        monkeypatch.delenv("SPARTITO_FINALIZE")
        assert until_seen(spartito, tmp_path, p.pid, *words, out="now").rstrip().endswith("now.folded (open with flamegraph.pl)")
    assert not (tmp_path / "later.folded").exists() and (tmp_path / "now.folded").exists()
    assert run(spartito, "finalize", "-q", "later", cwd=tmp_path).returncode == 0
    assert (tmp_path / "later.folded").exists()


def test_processes_that_cannot_be_sampled(tmp_path, spartito):
    with subprocess.Popen(["sleep", "1000"]) as p:
        while True:  # until the child has executed sleep
            done = run(spartito, "attach", "--duration", "0.01", "-q", "-o", tmp_path / "o", p.pid)
            if "sleep" in done.stderr:
                break
        p.kill()
    assert done.returncode == 1 and done.stderr.startswith(f"spartito: process {p.pid} runs no Python (/")
    done = run(spartito, "attach", p.pid, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (1, f"spartito: there is no process {p.pid}\n")
    done = run(spartito, "attach", cwd=tmp_path)
    assert done.returncode == 2 and "no process given: spartito attach PID" in done.stderr
    assert not [path for path in tmp_path.iterdir() if path.name != "o"]


def test_functions_are_left_out_as_the_filter_has_it(tmp_path, spartito):
    environment = {**os.environ, "SPARTITO_FILTER": "-much"}
    with running(BUSY) as p:
        until_seen(spartito, tmp_path, p.pid, "-q", env=environment)
    assert {"__main__:work", "__main__:busy"} <= set(rows(tmp_path / "out"))
    assert "__main__:much" not in rows(tmp_path / "out")
    assert sys.executable in json.loads((tmp_path / "out" / "experiment.json").read_text())["command"]
