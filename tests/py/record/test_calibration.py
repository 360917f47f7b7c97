# SPDX-License-Identifier: BSD-3-Clause
"""The cost of an event, which is measured at the start: its uncertainty, and what processes of a user share of it."""

import os
import pathlib
import shutil
import subprocess
import sys

import pytest
from spartito._analyse import Model, take_cost
from spartito.experiments.cost import cost_sentence, error_per_call, measuring_cost, measuring_error

PROGRAM = """
import os, sys, threading
import spartito

done = threading.Event()
if "thread" in sys.argv:
    threading.Thread(target=done.wait).start()
with spartito.measure("run"):
    if "fork" in sys.argv and not os.fork():
        os._exit(0)
done.set()
"""


def measured(tmp_path, runtime="", *arguments):
    """The processes of a run with this directory of the user's runtime files."""
    command = [sys.executable, "-W", "ignore", "-c", PROGRAM, *arguments]
    subprocess.run(command, cwd=tmp_path, env={**os.environ, "XDG_RUNTIME_DIR": str(runtime)}, timeout=100, check=True)
    info = Model(str(tmp_path / "run")).info()
    subprocess.run(["rm", "-r", tmp_path / "run"], check=True)
    return info["processes"]


def costs(process):
    """Picoseconds inside and outside of a call's interval."""
    return [round(process[key] * 1e12) for key in ("cost_in", "cost_out")]


@pytest.fixture
def runtime(tmp_path):
    path = tmp_path / "runtime"
    path.mkdir(mode=0o700)
    return path


def stored(runtime):
    (file,) = runtime.iterdir()
    return file


def write(file, results):
    """Replaces the results in the file, which has the host in its first line. Results are pairs of picoseconds."""
    host = file.read_text().split("\n")[0]
    file.write_text("".join(f"{line}\n" for line in [host, *(f"{a} {b}" for a, b in results)]))


def read(file):
    return [list(map(int, line.split())) for line in file.read_text().splitlines()[1:]]


def median(results):
    return sorted(results, key=sum)[(len(results) - 1) // 2]


def spread(results):
    """The largest difference to the median in seconds, without the lowest and the highest result."""
    middle = sum(median(results))
    return max(abs(middle - sum(each)) for each in sorted(results, key=sum)[1:-1]) * 1e-12


def test_the_median_of_the_latest_costs_is_shared(tmp_path, runtime):
    (process,) = measured(tmp_path, runtime)
    file = stored(runtime)
    assert read(file) == [costs(process)] and sum(costs(process)) > 0
    # neither a result that is much too low lasts, nor one that is much too high
    earlier = [[1000, 1], [500, 600], [2000, 3000], [2000, 2000], [2000, 2500], [9000000000, 9000000000], [9000000000, 8000000000]]
    for given in (earlier[:2], earlier[:3], earlier, earlier[:1] * 2 + earlier):
        write(file, given)
        (process,) = measured(tmp_path, runtime)
        after = read(file)
        assert after[:-1] == given[-8:] and len(after) == min(len(given) + 1, 9)
        assert costs(process) == median(after)
        if len(after) >= 5:  # the uncertainty is that of these results, otherwise of the batches
            assert error_per_call(process) == pytest.approx(spread(after))
        assert error_per_call(process) >= 0
    assert stored(runtime) == file


DAMAGED = {
    "empty": "",
    "no results": "HOST\n",
    "a number": "HOST\n1000\n",
    "no end of a line": "HOST\n1000 2000",
    "noise": "HOST\n1000 2000\n400 500\n",  # no event costs less than a nanosecond
    "three numbers": "HOST\n1000 2000 3000\n",
    "a negative number": "HOST\n-1000 2000\n",
    "too many": "HOST\n" + "1000 2000\n" * 10,
    "long": "HOST\n" + "1000 2000\n" * 999,
    "a large number": "HOST\n99999999999 0\n",
    "zeros": "HOST\n0001000 2000\n",
    "another start of the host": "another\n1000 2000\n",
    "no host": "1000 2000\n",
}


@pytest.mark.parametrize("text", DAMAGED.values(), ids=DAMAGED)
def test_a_damaged_file_is_replaced(tmp_path, runtime, text):
    measured(tmp_path, runtime)
    file = stored(runtime)
    file.write_text(text.replace("HOST", file.read_text().split("\n")[0]))
    (process,) = measured(tmp_path, runtime)
    assert read(stored(runtime)) == [costs(process)] and sum(costs(process)) >= 1000


def test_only_a_directory_of_the_user_alone_is_used(tmp_path, runtime):
    measured(tmp_path, runtime)
    file = stored(runtime)
    file.write_text("1 2\n")
    for prepare in (
        lambda: runtime.chmod(0o750),
        lambda: (runtime.chmod(0o700), file.rename(tmp_path / "else"), file.symlink_to(tmp_path / "else")),
        lambda: (file.unlink(), file.mkdir()),
    ):
        prepare()
        (process,) = measured(tmp_path, runtime)
        assert sum(costs(process)) > 3
    for nothing in ("", "runtime", tmp_path / "else", tmp_path / "missing"):
        assert sum(costs(measured(tmp_path, nothing)[0])) > 3
    assert (tmp_path / "else").read_text() == "1 2\n"


def test_without_a_directory_of_the_session(tmp_path):
    place = pathlib.Path(f"/dev/shm/spartito-{os.geteuid()}")
    for runtime in ("", "relative"):
        measured(tmp_path, runtime)
        assert place.stat().st_mode & 0o777 == 0o700 and place.stat().st_uid == os.geteuid()
        assert any(read(file) for file in place.glob("spartito-cost-*") if "." not in file.name)  # not one that is being written
    assert not (tmp_path / "relative").exists()


def test_uncertainty(tmp_path, runtime):
    for process in measured(tmp_path, "", "fork"):
        assert error_per_call(process) >= 0
    measured(tmp_path, runtime)
    before = read(stored(runtime))
    # the hook cannot be removed while another thread runs: there is one batch, for which the results of others are used
    (process,) = measured(tmp_path, runtime, "thread")
    assert error_per_call(process) is None and [costs(process)] == before == read(stored(runtime))
    write(stored(runtime), 5 * [[2000, 3000]])
    (process,) = measured(tmp_path, runtime, "thread")
    assert costs(process) == [2000, 3000] and error_per_call(process) == 0


FORKS = "import os\nif os.fork():\n    os.wait()\nfor i in range(10):\n    (lambda: i)()\n"


def launched(tmp_path, runtime, *options):
    """The processes of a program that forks once, run by the launcher."""
    (tmp_path / "forks.py").write_text(FORKS)
    command = [sys.executable, "-m", "spartito", "run", "-o", "run", *options, "forks.py"]
    environment = {**os.environ, "XDG_RUNTIME_DIR": str(runtime), "TMPDIR": str(tmp_path / "tmp")}
    (tmp_path / "tmp").mkdir(exist_ok=True)
    done = subprocess.run(command, cwd=tmp_path, env=environment, timeout=100, check=True, capture_output=True, encoding="utf-8")
    assert not os.listdir(tmp_path / "tmp")
    info = Model(str(tmp_path / "run")).info()
    assert len(info["processes"]) == 2 and not info["problems"], done.stderr
    return info["processes"]


@pytest.mark.parametrize("options", [(), ("--trace",), ("--trace", "--compress"), ("-q",), ("--no-finalize",)], ids=str)
def test_the_launcher_measures_again(tmp_path, runtime, options):
    processes = launched(tmp_path, runtime, *options)
    results = read(stored(runtime))  # of the first process, at its start, and of the launcher
    assert len(results) == 2 and {tuple(costs(process)) for process in processes} == {tuple(median(results))}
    shutil.rmtree(tmp_path / "run")
    write(stored(runtime), 7 * [[2000, 3000]])
    processes = launched(tmp_path, runtime, *options)
    results = read(stored(runtime))
    for process in processes:
        assert costs(process) == median(results) == [2000, 3000] and error_per_call(process) == pytest.approx(spread(results))


def test_the_launcher_does_not_measure_metrics(tmp_path, runtime):
    assert all(sum(costs(process)) for process in launched(tmp_path, runtime, "--metric", "rusage:ru_minflt"))
    assert not list(runtime.iterdir())  # the cost includes that of reading the metric


def test_only_the_cost_of_a_process_alike_is_replaced(tmp_path, runtime):
    launched(tmp_path, runtime)
    plain = tmp_path / "plain.raw"
    source, other = sorted((tmp_path / "run/raw").glob("*.raw"))
    before = source.read_bytes()
    assert take_cost(str(other), str(source)) and take_cost(str(source), str(source)) and source.read_bytes() == before
    head, chunk, prefix = 150, 4096 + 8, before.index(sys.prefix.encode())
    for at in (0, head, 128, chunk, prefix):  # magic, header, a cost, the first chunk's header, META prefix
        changed = bytearray(before)
        changed[at] ^= 1
        other.write_bytes(changed)
        assert not take_cost(str(other), str(source)) and other.read_bytes() == changed
        assert not take_cost(str(source), str(other)) and source.read_bytes() == before
    for size in (0, 100, 4096, 4200):
        other.write_bytes(before[:size])
        assert not take_cost(str(other), str(source)) and other.read_bytes() == before[:size]
    plain.write_bytes(before)
    shutil.rmtree(tmp_path / "run")
    launched(tmp_path, runtime, "--trace")
    traced = next((tmp_path / "run/raw").glob("*.raw"))
    assert not take_cost(str(traced), str(plain))
    assert not take_cost(str(tmp_path / "missing"), str(plain)) and not take_cost(str(plain), str(tmp_path))


def test_sentence():
    process = {"cost_in": 2e-9, "cost_out": 1e-9, "meta": {"cost_error": "500"}}
    threads = [{"process": 0, "visits": 4000, "resumed": 6000}, {"process": 1, "visits": 0, "resumed": 0}]
    info = {"processes": [process, {**process, "meta": {}}], "locations": threads, "metrics": []}
    assert measuring_cost(info) == pytest.approx(30e-6) and measuring_error(info) == pytest.approx(5e-6)
    assert cost_sentence(info) == "measuring took about 30.00 µs ± 5.000 µs"
    threads[1]["visits"] = 1
    assert measuring_error(info) is None and cost_sentence(info) == "measuring took about 30.00 µs"
    assert error_per_call({"meta": {"cost_error": "-1"}}) is error_per_call({"meta": {"cost_error": "²"}}) is None


TRACED = """
import sys
files = set()
def trace(frame, event, arg):
    files.add(frame.f_code.co_filename)
    return trace
import spartito
sys.settrace(trace)
spartito.start("run")
spartito.stop()
sys.settrace(None)
print(*sorted(files), sep="\\n")
"""


def test_the_loop_has_no_file_for_a_trace_function(tmp_path):
    """Coverage reports files that it cannot find as an error."""
    done = subprocess.run([sys.executable, "-c", TRACED], cwd=tmp_path, capture_output=True, encoding="utf-8", timeout=60)
    assert done.returncode == 0, done.stderr
    assert "<calibration>" in done.stdout.split("\n")
    assert all(name.startswith("<") or os.path.exists(name) for name in done.stdout.splitlines())
