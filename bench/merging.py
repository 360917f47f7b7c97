# SPDX-License-Identifier: BSD-3-Clause
"""Time and memory of `spartito finalize`: merging.py [RANKS…], by default 1,024 2,048 4,096 ranks with 10,000 call paths, made from
a real run by ranks.py. 4,096 ranks need 9 GB of disk in TMPDIR."""

import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time

import ranks

# 10,000 call paths: 10 roots, each calling 20 functions, each of which calls 50 leaves; other ones in each process
PROGRAM = """
import sys
shift, space = int(sys.argv[1]), {}
exec("\\n".join(
    [f"def f{n}(k): return k" for n in range(40, 1000)]
    + [f"def f{n}(k):\\n    for g in leaves[k:k + 50]: g(1)" for n in range(20, 40)]
    + [f"def f{n}(k):\\n    for i, g in enumerate(middles): g((k * 20 + i + shift) * 7 % 910)" for n in range(20)]), space)
space["leaves"] = [space[f"f{n}"] for n in range(40, 1000)]
space["middles"] = [space[f"f{n}"] for n in range(20, 40)]
space["shift"] = 0
for repeat in range(5):
    for k in range(10):
        space["shift"] = shift if k == 0 else 0
        space[f"f{k}"](k)
"""
PROCESSES = 4  # each with other call paths; the ranks are copies of them


def source(python, directory):
    """Records a real experiment of a few processes."""
    script = directory + ".py"
    with open(script, "w") as f:
        f.write(PROGRAM)
    each = "; ".join(f"{python} {script} {n}" for n in range(PROCESSES))
    subprocess.run([python, "-m", "spartito", "run", "-q", "-o", directory, "--", "sh", "-c", each], check=True)


def peaks(pid):
    """{process: peak memory in KiB} of a process and its children, including mapped files."""
    found = {}
    waiting = [pid]
    while waiting:
        one = waiting.pop()
        try:
            with open(f"/proc/{one}/status") as f:
                found[one] = int(next(line for line in f if line.startswith("VmHWM")).split()[1])
            with open(f"/proc/{one}/task/{one}/children") as f:
                waiting += map(int, f.read().split())
        except (OSError, StopIteration):
            pass
    return found


def merge(python, directory):
    """(seconds, processor seconds, MiB of all its processes together, call paths)"""
    begin, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    p = subprocess.Popen([python, "-m", "spartito", "finalize", "--force", directory], stdout=subprocess.PIPE, text=True)
    most = {}
    while p.poll() is None:
        for one, kib in peaks(p.pid).items():
            most[one] = max(most.get(one, 0), kib)
        time.sleep(0.02)
    seconds = time.perf_counter() - begin
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    busy = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    output = p.stdout.read()
    p.stdout.close()
    if p.returncode:
        sys.exit(f"spartito finalize {directory}: status {p.returncode}")
    words = output.replace(",", "").split()
    return seconds, busy, sum(most.values()) / 1024, int(words[words.index("call") - 1])


def measure(python, work, sizes):
    """[(ranks, seconds, processor seconds, MiB, call paths in total)]"""
    real = os.path.join(work, "real")
    source(python, real)
    found = []
    for n in sizes:
        directory = os.path.join(work, f"ranks-{n}")
        ranks.make(real, directory, n)
        found.append((n, *merge(python, directory)))
        shutil.rmtree(directory)
    shutil.rmtree(real)
    return found


def main():
    sizes = [int(word) for word in sys.argv[1:]] or [1024, 2048, 4096]
    work = tempfile.mkdtemp(prefix="spartito-merging-")
    print(f"{'ranks':>8} {'s':>8} {'ms a rank':>10} {'s of processors':>16} {'MiB':>8} {'call paths':>11}")
    try:
        for n in sizes:
            for _, seconds, busy, mib, paths in measure(sys.executable, work, [n]):
                print(f"{n:8,} {seconds:8.1f} {seconds * 1e3 / n:10.2f} {busy:16.1f} {mib:8.0f} {paths:11,}", flush=True)
    finally:
        shutil.rmtree(work, ignore_errors=True)


if __name__ == "__main__":
    main()
