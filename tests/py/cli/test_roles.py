# SPDX-License-Identifier: BSD-3-Clause
"""Roles of processes and threads. The rules are tested with functions that have the names of the frameworks' functions, the most
common frameworks themselves with real programs."""

import collections
import json
import re
import subprocess
import sys
import tarfile
from xml.etree import ElementTree

import pytest
from commandline import run
from conftest import ROOT
from spartito._analyse import Model, merge
from spartito.experiments import roles

RULE = re.compile(r'^    \{"([^"]+)", (?:NULL|"([^"]+)"), (?:NULL|"([^"]+)"), (true|false)\},$', re.MULTILINE)
# command lines for the rules that have only a pattern: the words behind the interpreter
COMMANDS = {
    "ray worker": ["ray/_private/workers/default_worker.py", "--node"],
    "ray log monitor": ["ray/_private/log_monitor.py", "--dir"],
    "ray monitor": ["ray/autoscaler/_private/monitor.py", "--dir"],
    "ray dashboard": ["ray/dashboard/dashboard.py", "--host"],
    "ray agent": ["ray/dashboard/agent.py", "--host"],
    "loky worker": ["-m", "loky.backend.popen_loky_posix", "--process-name"],
    "resource tracker": ["-c", "pass  # from multiprocessing.resource_tracker import main;main(3)"],
    "forkserver": ["-c", "pass  # from multiprocessing.forkserver import main; main(3)"],
    "multiprocessing process": ["-c", "pass  # from multiprocessing.spawn import spawn_main; spawn_main(3)"],
}
# Calls functions with given names: each for a process in a child process that is a copy, each for a thread in a thread.
PROGRAM = """
import json, os, subprocess, sys, threading

def function(named):
    # module:qualname, a function that calls its argument
    module, name = named.split(":")
    parts = name.replace(".<locals>", "()").split(".")  # a function that returns the next one ends with ()
    source, end = "", ""
    for depth, part in enumerate(parts):
        last = depth == len(parts) - 1
        source += "    " * depth + (f"def {part[:-2]}():" if part.endswith("()") else
                                    f"def {part}(inner=None):" if last else f"class {part}:") + "\\n"
        if part.endswith("()"):
            end = "    " * (depth + 1) + f"return {parts[-1]}\\n"
    names = {"__name__": module}
    exec(source + "    " * len(parts) + "return inner and inner()\\n" + end, names)
    for depth, part in enumerate(parts):
        made = getattr(made, part.rstrip("()")) if depth else names[part.rstrip("()")]
        if part.endswith("()"):
            return made()
    return made

given = json.load(open("rules.json"))
for named in given["processes"]:
    pid = os.fork()
    if pid == 0:
        function(named)(None)
        os._exit(0)
    os.waitpid(pid, 0)
functions = []
def make():  # in a thread, because some of the functions are made by functions that a rule for processes names
    functions.extend(function(named or "own:work") for named, _ in given["threads"])
def run(target, *args, **keywords):
    t = threading.Thread(target=target, args=args, **keywords)
    t.start()
    t.join()
run(make)
for target, (named, name) in zip(functions, given["threads"]):
    run(target, None, name=name or named)
for words in given["commands"]:
    subprocess.run([sys.executable, *words], check=True)

def fork():  # the child of the child has its parent's open calls, and not its role
    if os.fork() == 0:
        function("own:work")(None)
        os._exit(0)
    os.wait()
if os.fork() == 0:  # of two rules that of the inner function applies
    function("multiprocessing.process:BaseProcess._bootstrap")(lambda: function("multiprocessing.pool:worker")(fork))
    os._exit(0)
os.wait()
"""
MULTIPROCESSING = """
import multiprocessing, threading, time
from concurrent.futures import ThreadPoolExecutor
def work(n): return sum(range(n))
def work_of_both(n):  # otherwise one worker may do all, and the other one may be ended before it begins
    both_workers.wait()
    return work(n)
def feed(q): q.put(work(10))
if __name__ == "__main__":
    both_workers = multiprocessing.get_context("fork").Barrier(2)
    with multiprocessing.get_context("fork").Pool(2) as pool:
        pool.map(work_of_both, [1000] * 4, chunksize=1)
    q = multiprocessing.get_context("spawn").Queue()
    p = multiprocessing.get_context("spawn").Process(target=feed, args=(q,), name="<loader>")
    p.start()
    q.get()
    p.join()
    with ThreadPoolExecutor(2) as threads:
        both = threading.Barrier(2)
        list(threads.map(lambda n: (both.wait(), work(n)), [1000, 1000]))
"""
XDIST = "import pytest\n@pytest.mark.parametrize('i', range(4))\ndef test(i): assert sum(range(1000 * i)) >= 0\n"


def rules(table):
    """The rows of a table in src/model/parts/roles.c: (role, function or "", pattern or "", helper)."""
    text = (ROOT / "src/model/parts/roles.c").read_text(encoding="utf-8")
    part = text[text.index(f"sp_{table}_roles[]") :]
    found = RULE.findall(part[: part.index("{NULL")])
    assert part[: part.index("{NULL")].count("{") == len(found) + 1
    return [(role, function, pattern, helper == "true") for role, function, pattern, helper in found]


def measured(path, *words, options=()):
    command = [sys.executable, "-m", "spartito", "run", "-q", *options, "-o", "exp", "--", sys.executable, *words]
    done = subprocess.run(command, cwd=path, capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stderr
    return path / "exp"


@pytest.fixture(scope="module")
def ruled(tmp_path_factory):
    """A run of PROGRAM with everything in the tables, and what it was given."""
    path = tmp_path_factory.mktemp("ruled")
    (path / "program.py").write_text(PROGRAM)
    for words in COMMANDS.values():
        if words[0].endswith(".py"):
            (path / words[0]).parent.mkdir(parents=True, exist_ok=True)
            (path / words[0]).write_text("pass\n")
    (path / "loky/backend").mkdir(parents=True)
    (path / "loky/backend/popen_loky_posix.py").write_text("pass\n")
    processes = [rule for rule in rules("process") if rule[1] and not rule[2]]
    commands = [[str(path / words[0]) if words[0].endswith(".py") else words[0], *words[1:]] for words in COMMANDS.values()]
    threads = [(function, pattern.replace("*", "1")) for _, function, pattern, _ in rules("thread")]
    given = {"processes": [rule[1] for rule in processes], "threads": threads, "commands": commands}
    (path / "rules.json").write_text(json.dumps(given))
    return measured(path, "program.py"), processes


def test_each_rule_for_a_process(ruled):
    directory, expected = ruled
    info = Model(str(directory)).info()
    found = [(p["role"], p["helper"]) for p in info["processes"]]
    assert found[0] == ("", False)
    assert found[1 : 1 + len(expected)] == [(role, helper) for role, _, _, helper in expected]
    patterns = {(role, helper) for role, function, _, helper in rules("process") if not function}
    commands = found[1 + len(expected) :][: len(COMMANDS)]
    assert [role for role, _ in commands] == list(COMMANDS) and set(commands) == patterns
    assert found[1 + len(expected) + len(COMMANDS) :] == [("Pool worker", False), ("", False)]
    helpers = {i for i, p in enumerate(info["processes"]) if p["helper"]}
    assert all(loc["helper"] for loc in info["locations"] if loc["process"] in helpers)


def test_each_rule_for_a_thread(ruled):
    info = Model(str(ruled[0])).info()
    threads = [loc for loc in info["locations"] if loc["process"] == 0]
    assert (threads[0]["role"], threads[0]["helper"], threads[0]["runs"]) == ("main thread", False, "")
    assert (threads[1]["role"], threads[1]["helper"], threads[1]["runs"]) == ("", False, "__main__:make")
    expected = rules("thread")
    assert [(loc["role"], loc["helper"]) for loc in threads[2:]] == [(role, helper) for role, _, _, helper in expected]
    assert [loc["runs"] for loc in threads[2:]] == [function or "own:work" for _, function, _, _ in expected]


def test_the_merged_file_has_the_roles(ruled):
    before = Model(str(ruled[0])).info()
    merge(str(ruled[0]))
    after = Model(str(ruled[0])).info()
    for what in ("processes", "locations"):
        for key in ("role", "helper", "name"):
            assert [unit[key] for unit in after[what]] == [unit[key] for unit in before[what]]
    assert [loc["runs"] for loc in after["locations"]] == [loc["runs"] for loc in before["locations"]]


@pytest.fixture(scope="module")
def pooled(tmp_path_factory):
    path = tmp_path_factory.mktemp("pooled")
    (path / "program.py").write_text(MULTIPROCESSING)
    return measured(path, "program.py", options=["--trace"])


def test_multiprocessing(spartito, pooled):
    info = Model(str(pooled)).info()
    workers = ["Pool worker ForkPoolWorker-1", "Pool worker ForkPoolWorker-2"]
    assert sorted(p["label"] for p in info["processes"]) == ["", *workers, "multiprocessing process <loader>", "resource tracker"]
    threads = {loc["role"] for loc in info["locations"] if loc["process"] == 0}
    pool = {f"Pool's {what}" for what in ("worker watcher", "task feeder", "result reader")}
    assert threads >= {"main thread", "ThreadPoolExecutor worker", *pool}
    table = json.loads(run(spartito, "report", "--roles", "--limit", "0", "--json", pooled).stdout)
    titles = [part["title"] for part in table["parts"]]
    assert "main thread in Pool worker ×2" in titles
    assert titles[-1].startswith("idle helpers: Pool's worker watcher in program.py, ")
    assert sorted(i for part in table["parts"] for i in part["locations"]) == list(range(len(info["locations"])))
    visits = collections.Counter()
    for row in (row for part in table["parts"] for row in part["rows"]):
        visits[row["name"], row["file"], row["line"]] += row["visits"]
    assert visits == {(row["name"], row["file"], row["line"]): row["visits"] for row in Model(str(pooled)).flat()}
    (part,) = (part for part in table["parts"] if part["title"].startswith("main thread in Pool worker"))
    assert [row["visits"] for row in part["rows"] if row["name"] == "__main__:work"] == [4]
    tree = run(spartito, "report", "tree", "--roles", pooled).stdout
    assert "main thread in Pool worker ×2: " in tree
    both = run(spartito, "report", "--roles", "--threads", pooled)
    assert both.returncode == 2 and "--threads and --roles exclude each other" in both.stderr
    text = run(spartito, "info", pooled).stdout
    assert "Pool worker ForkPoolWorker-1" in text and "Pool's task feeder (helper)" in text
    assert "Pool worker ForkPoolWorker-1, process " in run(spartito, "report", "--processes", "--limit", "1", pooled).stdout
    (worker,) = [i for i, p in enumerate(info["processes"]) if p["name"] == "ForkPoolWorker-1"]
    assert roles.role_of(info, worker) == "Pool worker" and roles.role_of(info, location=0) == "main thread"
    assert roles.process_titles(info)[worker] == f"Pool worker ForkPoolWorker-1 ({info['processes'][worker]['pid']})"


def test_balance_compares_equal_roles(spartito, pooled):
    done = run(spartito, "report", "balance", "--json", "--limit", "0", pooled)
    found = json.loads(done.stdout)
    info = found["info"]
    (group,) = found["groups"]
    assert group["role"] == "Pool worker" and [info["processes"][i]["role"] for i in group["units"]] == ["Pool worker"] * 2
    assert "__main__:work" in {row["name"] for row in group["rows"]}
    assert [info["processes"][i]["role"] for i in found["helpers"]] == ["resource tracker"]
    assert sorted(info["processes"][i]["label"] for i in found["single"]) == ["", "multiprocessing process <loader>"]
    text = run(spartito, "report", "balance", pooled).stdout
    assert text.startswith("Pool worker ×2\n")
    assert "not compared, idle helpers: resource tracker\n" in text
    assert "not compared, the only one with its role: program.py, multiprocessing process\n" in text
    text = run(spartito, "report", "balance", "--threads", pooled).stdout
    assert "ThreadPoolExecutor worker in program.py ×2\n" in text and "main thread in Pool worker ×2\n" in text


def test_the_summary_compares_equal_roles(pooled):
    from spartito.report.summary import balance

    info = Model(str(pooled)).info()
    for loc in info["locations"]:  # which process ran most is up to the machine
        loc["running"] += 10.0 if loc["process"] == 0 else 0.0
    lines = balance(info)
    assert lines[0].startswith("2 × Pool worker: balance ") and lines[0].endswith("; left out: resource tracker")
    assert "maximum" in lines[0] and "Pool worker ForkPoolWorker-" in lines[0]
    assert any(line.startswith("2 × ThreadPoolExecutor worker of process ") for line in lines[1:])


def test_no_two_equals_is_an_error(spartito, tmp_path):
    (tmp_path / "program.py").write_text("import threading\nt = threading.Thread(target=print)\nt.start()\nt.join()\n")
    done = run(spartito, "report", "balance", measured(tmp_path, "program.py"))
    assert done.returncode != 0 and len(done.stderr.splitlines()) == 1
    assert "balance compares threads with the same role, and here no two have one: main thread, " in done.stderr
    with pytest.raises(ValueError, match="there is no unit 2"):
        Model(str(tmp_path / "exp")).balance(over="threads", units=[2])


def test_exports_have_the_roles(spartito, pooled, tmp_path):
    for form, file in (("perfetto", "x.pftrace"), ("json", "x.json"), ("cube", "x.cubex")):
        done = run(spartito, "convert", "--to", form, "-o", tmp_path / file, pooled)
        assert done.returncode == 0, done.stderr
    exported = json.loads((tmp_path / "x.json").read_text())
    pids = {p["name"]: p["pid"] for p in exported["processes"] if p["name"]}
    assert set(pids) == {"ForkPoolWorker-1", "ForkPoolWorker-2", "<loader>"}
    assert {p["role"] for p in exported["processes"] if p["helper"]} == {"resource tracker"}
    assert "queue feeder" in {loc["role"] for loc in exported["locations"] if loc["helper"]}
    with tarfile.open(tmp_path / "x.cubex") as archive:
        groups = ElementTree.parse(archive.extractfile("anchor.xml")).getroot().iter("locationgroup")
    names = {group.findtext("name") for group in groups}
    assert names >= {f"Process {pids['ForkPoolWorker-1']}, Pool worker ForkPoolWorker-1"}
    assert names >= {f"Process {pids['<loader>']}, multiprocessing process <loader>"}
    assert b"Pool worker ForkPoolWorker-1: " in (tmp_path / "x.pftrace").read_bytes()


def test_a_pool_of_which_only_the_program_is_recorded(tmp_path):
    (tmp_path / "program.py").write_text(MULTIPROCESSING)
    info = Model(str(measured(tmp_path, "program.py", options=["--only-mine"]))).info()
    assert sum(p["label"].startswith("Pool worker ForkPoolWorker-") for p in info["processes"]) == 2


def test_xdist(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # importing the other plugins takes most of the time
    (tmp_path / "test_it.py").write_text(XDIST)
    words = ("-m", "pytest", "-p", "xdist.plugin", "-n", "2", "-q", "-p", "no:cacheprovider", "test_it.py")
    info = Model(str(measured(tmp_path, *words))).info()
    by_label = {p["label"]: i for i, p in enumerate(info["processes"])}
    assert set(by_label) >= {"pytest controller", "pytest worker gw0", "pytest worker gw1"}
    receivers = [loc for loc in info["locations"] if loc["role"] == "execnet receiver"]
    assert len(receivers) == 4 and all(loc["helper"] and loc["name"] == "execnet receiver" for loc in receivers)
