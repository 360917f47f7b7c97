# SPDX-License-Identifier: BSD-3-Clause
"""Cost of `spartito run --sample`: the slowdown of programs sampled 100 times a second by Spartito and by other samplers, in turns;
and the differences between sampled and exact shares of functions. Rows as in figures.py.

Alone: sampling.py [--rounds N] [PROGRAM…] prints the table, with the processor time of the programs."""

import json
import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
MAX_SLOWDOWN, MAX_SLOWDOWN_NATIVE, MAX_SHARE_ERROR = 1.02, 1.04, 0.02
WORK = 1.0  # seconds of work in a program
TRIES = 3  # for other samplers: austin sometimes takes a starting process for one without Python
WORKER = """
import json, sys, time
sys.path.insert(0, sys.argv[1])
import programs
body, _ = programs.make(sys.argv[2])
begin = time.perf_counter()
body()
body()
times = max(1, round(float(sys.argv[3]) / (time.perf_counter() - begin) * 2))
wall, own = time.perf_counter(), time.process_time()
for _ in range(times):
    body()
result = json.dumps([(time.perf_counter() - wall) / times, (time.process_time() - own) / times])
open(sys.argv[4], "w").write(result)
"""
SHARES = """
import time
def work(seconds):
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        pass
def a(): work(0.0037)
def b(): work(0.0021)
def c(): work(0.0009)
def d(): time.sleep(0.0013)
for i in range(ROUNDS):
    a(); b(); c(); d()
"""
OURS = ("spartito --sample", "spartito --sample-native")
TOOLS = ("none", *OURS, "py-spy", "py-spy --nonblocking", "austin", "pyinstrument", "scalene")


def command(python, tool, script, directory):
    """The command line without the script's arguments."""
    near = os.path.dirname(python)
    out = os.path.join(directory, "out")
    ours = [os.path.join(near, "spartito"), "run", "-q", "-o", out, "--sample"]
    spy = [os.path.join(near, "py-spy"), "record", "-r", "100", "-f", "raw", "-o", out]
    return {
        "none": [python, script],
        "spartito --sample": [*ours, "--", python, script],
        "spartito --sample-native": [*ours, "--sample-native", "--", python, script],
        "py-spy": [*spy, "--", python, script],
        "py-spy --nonblocking": [*spy, "--nonblocking", "--", python, script],
        "austin": [os.path.join(near, "austin"), "-i", "10000", "-o", out, python, script],
        "pyinstrument": [python, "-m", "pyinstrument", "-i", "0.01", "-o", out, script],
        "scalene": [python, "-m", "scalene", "run", "--cpu-only", "-o", out, script],
    }[tool]


def there(python, tool):
    near = os.path.dirname(python)
    name = tool.split()[0]
    if name in ("py-spy", "austin"):
        path = os.path.join(near, name)
        return os.path.exists(path) and subprocess.run([path, "--version"], capture_output=True).returncode == 0
    return name in ("none", "spartito") or subprocess.run([python, "-c", "import " + name], capture_output=True).returncode == 0


def once(python, tool, program, work):
    """(seconds, processor seconds) of one run, or None, with a message, if another sampler fails."""
    peer = tool != "none" and tool not in OURS
    for _ in range(TRIES if peer else 1):
        with tempfile.TemporaryDirectory(dir=work) as directory:
            script, result = os.path.join(directory, "worker.py"), os.path.join(directory, "result")
            with open(script, "w") as f:
                f.write(WORKER)
            words = [*command(python, tool, script, directory), HERE, program, str(WORK), result]
            if tool == "scalene":
                words.insert(words.index(HERE), "---")
            environment = {**os.environ, "PYTHONHASHSEED": "0"}
            p = subprocess.run(words, capture_output=True, text=True, env=environment, cwd=directory)
            if os.path.exists(result):
                with open(result) as f:
                    return tuple(json.load(f))
    message = f"{' '.join(words)}\n{p.stdout}{p.stderr}"
    if not peer:
        sys.exit(message)
    print(message, file=sys.stderr, flush=True)
    return None


def measure(python, work, names, rounds):
    """{(tool, program): (seconds, processor seconds)}: minima over rounds of new processes; the tools run one after the other. A
    sampler that fails for one program is left out."""
    best, tools = {}, [tool for tool in TOOLS if there(python, tool)]
    for _ in range(rounds):
        for program in names:
            for tool in tuple(tools):
                now, before = once(python, tool, program, work), best.get((tool, program), (float("inf"),) * 2)
                if now:
                    best[tool, program] = min(now[0], before[0]), min(now[1], before[1])
                else:
                    tools.remove(tool)
    return {key: value for key, value in best.items() if key[0] in tools}


def ratio(best, tool, names, which):
    """The geometric mean of the slowdowns; which: 0 for time, 1 for processor time."""
    product = 1.0
    for program in names:
        product *= best[tool, program][which] / best["none", program][which]
    return product ** (1 / len(names))


def shares(python, work, rounds):
    """The largest difference between a function's share of samples and its share of the exact times, in one run."""
    directory = tempfile.mkdtemp(dir=work)
    script, out = os.path.join(directory, "shares.py"), os.path.join(directory, "x")
    with open(script, "w") as f:
        f.write(SHARES.replace("ROUNDS", str(rounds)))
    run = [os.path.join(os.path.dirname(python), "spartito"), "run", "-q", "--sample", "--calls", "-o", out, "--", python, script]
    subprocess.run(run, check=True)
    code = f"from spartito._analyse import Model; import json; print(json.dumps(Model({out!r}).flat()))"
    rows = json.loads(subprocess.run([python, "-c", code], check=True, capture_output=True, text=True).stdout)
    by_name = {row["qualname"]: row for row in rows}
    whole = by_name["<module>"]

    def seen(row):
        return sum(row["metrics"]["sampled_" + state]["incl"] for state in ("running", "gil", "syscall", "idle"))

    return max(abs(seen(by_name[n]) / seen(whole) - by_name[n]["incl"] / whole["incl"]) for n in "abcd")


def collect(bench, work, quick):
    import programs

    place = os.path.join(work, "sampling")
    os.makedirs(place)
    names = list(programs.PROGRAMS)
    print(f"sampling, Python {bench.version} …", file=sys.stderr, flush=True)
    best = measure(bench.python, place, names, 1 if quick else 2)
    far = shares(bench.python, place, 250 if quick else 2500)
    shutil.rmtree(place)
    rows = []
    for tool in TOOLS[1:]:
        if (tool, names[0]) not in best:
            print(f"{tool} does not run here and is not measured", file=sys.stderr)
            continue
        r = ratio(best, tool, names, 0)
        most = dict(zip(OURS, (MAX_SLOWDOWN, MAX_SLOWDOWN_NATIVE))).get(tool)
        title = f"12 programs while {tool} samples them 100 times a second, Python {bench.version}, relative to plain Python"
        rows.append((title, f"{r:.3f}", f"at most {most}" if most else "", r <= most if most else None))
    title = "largest error of a function's share of the time, sampled at 100 Hz, against its calls"
    rows.append((title, f"{100 * far:.1f} points", f"at most {100 * MAX_SHARE_ERROR:.0f}", far <= MAX_SHARE_ERROR))
    return rows


def main():
    import programs

    words, rounds = sys.argv[1:], 3
    if words[:1] == ["--rounds"]:
        rounds, words = int(words[1]), words[2:]
    names = words or list(programs.PROGRAMS)
    with tempfile.TemporaryDirectory(prefix="spartito-bench-") as work:
        best = measure(sys.executable, work, names, rounds)
        print("| | time | processor time |\n|---|---:|---:|")
        for tool in TOOLS[1:]:
            if (tool, names[0]) in best:
                print(f"| {tool} | {ratio(best, tool, names, 0):.3f} | {ratio(best, tool, names, 1):.3f} |")
        print(f"\nlargest error of a share: {100 * shares(sys.executable, work, 1000):.2f} points")


if __name__ == "__main__":
    sys.path.insert(0, HERE)
    main()
