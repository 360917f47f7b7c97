# SPDX-License-Identifier: BSD-3-Clause
"""Samples of processes that cannot report their end, and of samplers that cannot report theirs."""

import json
import os
import re
import signal
import subprocess
import sys
import time

import pytest
from spartito._analyse import Error, Model
from spartito._sample import check
from spartito.sample.attaching import children
from test_sample_run import WORK, gone, model, of, rows, run

pytestmark = pytest.mark.skipif(check() is not None, reason=f"other processes cannot be sampled here: {check()}")

CRASHES = {
    "SIGKILL": "os.kill(os.getpid(), 9)",
    "SIGSEGV": "import ctypes; ctypes.string_at(0)",
}


@pytest.mark.parametrize("how", CRASHES)
@pytest.mark.parametrize("options", [(), ("--calls",)], ids=["samples", "calls"])
def test_the_end_of_a_process_that_crashes_is_that_of_its_samples(tmp_path, how, options):
    program = f"def last():\n    work(0, 5)\n    work(0.5)\n    {CRASHES[how]}\nlast()\n"
    run(tmp_path, program, *options, status=-getattr(signal, how))
    for merged in (False, True):
        if merged:
            command = [sys.executable, "-m", "spartito", "finalize", "--force", str(tmp_path / "run")]
            subprocess.run(command, check=True, capture_output=True)
        info = model(tmp_path).info()
        (process,) = info["processes"]
        (thread,) = info["locations"]
        assert process["end"] == "abrupt" and "sample_ended" not in process["meta"]
        took = process["stop"] - process["begin"]
        assert took >= thread["end"] - thread["begin"] >= 0.5  # the program worked at least 0.5 s
        assert info["end"] - info["begin"] == pytest.approx(took, abs=1e-5)
        # sampled time is within the process's time, except for the difference of two clocks
        assert 1.01 * took >= of(rows(model(tmp_path))["__main__:last"], "sampled_running") / 1e9
    assert gone(tmp_path)


def sampler_of(launcher):
    """The process that samples: a child of the process that starts it."""
    (sampler,) = (inner for child in children(launcher) for inner in children(child))
    return sampler


def test_a_sampler_that_is_killed_is_missed(tmp_path):
    (tmp_path / "program.py").write_text(
        WORK + "print('seen', flush=True)\nwork(0.5)\nprint('go on', flush=True)\ninput()\nwork(0.3, 0)\n"
    )
    command = [sys.executable, "-m", "spartito", "run", "--sample", "-o", "run", "--", sys.executable, "program.py"]
    with subprocess.Popen(
        command, cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as launcher:
        assert [launcher.stdout.readline(), launcher.stdout.readline()] == ["seen\n", "go on\n"]
        os.kill(sampler_of(launcher.pid), signal.SIGKILL)
        _, message = launcher.communicate("\n", timeout=60)
    assert launcher.returncode == 0, message
    m = model(tmp_path)
    (process,) = m.info()["processes"]
    meta = process["meta"]
    found = round(sum(row["metrics"]["samples"]["excl"] for row in m.flat()))
    assert found > 5 and meta["sample_count"] == str(found) and f"times are those of samples: {found:,} at 100 Hz" in message
    ended, unseen = float(meta["sample_ended"]), float(meta["sample_unseen"])
    assert unseen >= 0.3 and ended + unseen == pytest.approx(process["stop"] - process["begin"], abs=1e-5)
    assert process["end"] == "normal"
    sentence = rf"the sampler of process {process['pid']} ended after [\d.]+ \S?s; [\d.]+ \S?s were not sampled"
    assert re.search(sentence, message)
    for verb, status in (("report", 4), ("info", 0)):
        done = subprocess.run([sys.executable, "-m", "spartito", verb, "run"], cwd=tmp_path, capture_output=True, text=True)
        assert re.search(sentence, done.stderr) and done.returncode == status
    assert gone(tmp_path)


def test_samples_so_far_are_counted(tmp_path):
    (tmp_path / "program.py").write_text(WORK + "work(0.5)\nprint('go on', flush=True)\ninput()\n")
    command = [sys.executable, "-m", "spartito", "run", "-q", "--sample", "-o", "run", "--", sys.executable, "program.py"]
    with subprocess.Popen(command, cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as launcher:
        assert launcher.stdout.readline() == "go on\n"
        (process,) = model(tmp_path).info()["processes"]
        launcher.communicate("\n", timeout=60)
    assert int(process["meta"]["sample_count"]) > 5 and "sample_ended" not in process["meta"]


def seen(directory):
    """Whether the experiment has samples; its file may be incomplete."""
    try:
        return rows(Model(str(directory))).get("__main__:work")
    except Error as e:
        if not str(e).endswith(("no process was measured", "just beginning to record")):
            raise


def attach(tmp_path, how):
    """Attaches to a process and calls `how` with the process and its sampler. Returns experiment.json, the output of `info`, the
    process's information and the messages."""
    with subprocess.Popen([sys.executable, "-c", WORK + "print(flush=True)\nwork(1000)"], stdout=subprocess.PIPE) as p:
        try:
            p.stdout.readline()
            command = [sys.executable, "-m", "spartito", "attach", "-o", "run", str(p.pid)]
            with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as attached:
                attached.stderr.readline()
                try:
                    while not seen(tmp_path / "run"):
                        time.sleep(0.05)
                    how(p, attached)
                    message = attached.communicate(timeout=60)[1]
                finally:
                    attached.kill()
            assert attached.returncode == 0, message
        finally:
            p.kill()
    info = subprocess.run([sys.executable, "-m", "spartito", "info", "run"], cwd=tmp_path, capture_output=True, text=True)
    (process,) = model(tmp_path).info()["processes"]
    return json.loads((tmp_path / "run" / "experiment.json").read_text()), info, process, message


def test_attached_to_a_process_that_is_killed(tmp_path):
    known, info, process, _ = attach(tmp_path, lambda p, attached: p.kill())
    assert (known["attached"], known["status"]) == ("ended", None) and known["end"] >= known["start"]
    assert "ended with  not recorded: only the parent process knows how it ended\n" in info.stdout
    assert process["end"] == "normal" and "sample_ended" not in process["meta"]


def test_attached_to_a_process_that_runs_on(tmp_path):
    known, info, process, _ = attach(tmp_path, lambda p, attached: attached.send_signal(signal.SIGINT))
    assert known["attached"] == "runs" and "ended with  nothing: the process still ran when sampling ended\n" in info.stdout
    assert "sample_ended" not in process["meta"]


def test_attached_by_a_sampler_that_is_killed(tmp_path):
    known, info, process, message = attach(tmp_path, lambda p, attached: os.kill(*children(attached.pid), signal.SIGKILL))
    sentence = rf"the sampler of process {process['pid']} ended after [\d.]+ \S?s; the time after that was not sampled"
    assert re.search(sentence, message) and re.search(sentence, info.stderr)
    # the end of the process is unknown, and the process still runs
    assert process["end"] == "stopped" and "abruptly" not in message + info.stderr
    assert known["attached"] == "runs" and int(process["meta"]["sample_count"]) > 0
