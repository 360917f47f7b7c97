# SPDX-License-Identifier: BSD-3-Clause
"""The viewer's answers (spartito.view.kinds, Model.view): every number equals that of the model's reports."""

import json
import math
import shutil
import struct
import sys
import threading

import pytest
from commandline import run
from conftest import ROOT
from spartito.analysis import Error, Model
from spartito.base.messages import Refused
from spartito.view import facts, kinds, payload, words
from viewing import WithoutPreemption

NONE = payload.NONE
PROGRAM = """
import threading, spartito
def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)
def numbers():
    for i in range(5):
        yield sorted([i, -i])
def case(n):
    spartito.parameter("n", n)
    return fib(n)
def work():
    for n in (3, 9):
        case(n)
    return list(numbers())
thread = threading.Thread(target=work, name="helper")
thread.start()
work()
fib(13)
thread.join()
"""


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    place = tmp_path_factory.mktemp("view")
    (place / "program.py").write_text(PROGRAM)
    command = [sys.executable, "-m", "spartito"]
    done = run(command, "run", "--trace", "--metric", "rusage:ru_minflt", "-o", place / "x", "--", sys.executable,
               place / "program.py", "with words")
    assert done.returncode == 0, done.stderr
    return place / "x"


@pytest.fixture(scope="module")
def ranks(tmp_path_factory):
    place = tmp_path_factory.mktemp("ranks")
    (place / "raw").mkdir()
    for rank in range(4):
        shutil.copy(ROOT / f"tests/old-raw/v3-mpi-{rank}.raw", place / "raw")
    return place


def view(model, kind, **parameters):
    return payload.unpack(model.view(kind, **parameters))


def close(a, b):
    return math.isclose(a, b, rel_tol=1e-12, abs_tol=1e-15)


SELECTIONS = ({}, {"process": 0}, {"location": 1})


@pytest.mark.parametrize("selection", SELECTIONS, ids=str)
def test_flat_has_the_numbers_of_the_report(recorded, selection):
    model = Model(recorded)
    meta, columns = view(model, "flat", **selection)
    names = view(model, "regions")[0]["names"]
    rows = model.flat(sort="running", **selection)
    assert [names[i] for i in columns["region"]] == [row["name"] for row in rows]
    for key in ("visits", "incl", "excl", "mean", "min", "max", "std", "resumed"):
        assert all(close(a, row[key]) for a, row in zip(columns[key], rows)), key
    for which in ("incl", "excl"):
        assert list(columns[f"metric:ru_minflt:{which}"]) == [row["metrics"]["ru_minflt"][which] for row in rows]
    busy = [loc["busy"] for i, loc in enumerate(model.info()["locations"]) if selection.get("location", i) == i]
    assert close(meta["total"], sum(busy)) and close(sum(columns["excl"]), meta["total"])
    few = view(model, "flat", limit=3, **selection)[1]
    assert list(few["region"]) == list(columns["region"][:3]) and list(few["incl"]) == list(columns["incl"][:3])


@pytest.mark.parametrize("selection", SELECTIONS, ids=str)
def test_tree_has_the_numbers_of_the_report(recorded, selection):
    model = Model(recorded)
    meta, columns = view(model, "tree", **selection)
    names = view(model, "regions")[0]["names"]
    rows = {row["path"]: row for row in model.tree(**selection)}
    assert list(columns["path"]) == list(rows)  # in the same order
    assert meta["paths"] == meta["shown"] == len(rows) and not any(columns["hidden"])
    for i, row in enumerate(rows.values()):
        above = columns["parent"][i]
        assert above == NONE if row["depth"] == 0 else columns["path"][above] == row["parent"] and above < i
        assert names[columns["region"][i]] == row["name"]
        assert columns["visits"][i] == row["visits"] and columns["resumed"][i] == row["resumed"]
        assert close(columns["incl"][i], row["incl"]) and close(columns["excl"][i], row["excl"])
        label = columns["label"][i]
        expected = "" if label == NONE else meta["labels"][label]
        assert expected == ", ".join(f"{p['name']}={p['value']}" for p in row.get("parameters", ()))
    assert {"n=3", "n=9"} == set(meta["labels"])
    assert close(sum(columns["excl"]), meta["total"])


def below(columns):
    """For each row the number of rows below it, including itself."""
    n = [1] * len(columns["parent"])
    for i in range(len(n) - 1, -1, -1):
        if columns["parent"][i] != NONE:
            n[columns["parent"][i]] += n[i]
    return n


@pytest.mark.parametrize("limit", [1, 2, 7, 40])
def test_omitted_rows_are_reported(recorded, limit):
    model = Model(recorded)
    whole, all_rows = view(model, "tree")
    meta, columns = view(model, "tree", limit=limit)
    assert meta["shown"] == limit and meta["paths"] == whole["paths"]
    assert sum(columns["hidden"]) == whole["paths"] - limit
    assert close(sum(columns["excl"]), whole["total"])
    full = {path: i for i, path in enumerate(all_rows["path"])}
    children, sizes = {}, below(all_rows)
    for i, above in enumerate(all_rows["parent"]):
        children.setdefault(above, []).append(i)
    shown = {path for path in columns["path"] if path != NONE}
    least = min(all_rows["incl"][full[path]] for path in shown)
    assert all(incl <= least for path, incl in zip(all_rows["path"], all_rows["incl"]) if path not in shown)
    for i, path in enumerate(columns["path"]):
        above = columns["parent"][i]
        if path != NONE:
            assert columns["incl"][i] == all_rows["incl"][full[path]] and columns["hidden"][i] == 0
            continue
        left = [k for k in children[NONE if above == NONE else full[columns["path"][above]]] if all_rows["path"][k] not in shown]
        assert left and columns["region"][i] == NONE and columns["label"][i] == NONE
        assert columns["hidden"][i] == sum(sizes[k] for k in left)
        assert columns["visits"][i] == sum(all_rows["visits"][k] for k in left)
        assert close(columns["incl"][i], sum(all_rows["incl"][k] for k in left)) and columns["excl"][i] == columns["incl"][i]


@pytest.mark.parametrize("limit", [None, 6])
def test_tree_has_a_metric_on_demand(recorded, limit):
    model = Model(recorded)
    _, columns = view(model, "tree", metric="ru_minflt", limit=limit)
    rows = {row["path"]: row["metrics"]["ru_minflt"] for row in model.tree()}
    incl, excl = columns["metric:ru_minflt:incl"], columns["metric:ru_minflt:excl"]
    for i, path in enumerate(columns["path"]):
        if path != NONE:
            assert (incl[i], excl[i]) == (rows[path]["incl"], rows[path]["excl"])
    assert sum(excl) == sum(row["excl"] for row in rows.values())
    # inclusive time decides which rows are shown, and their order
    shown = [i for i, path in enumerate(columns["path"]) if path != NONE]
    siblings = {}
    for i in shown:
        siblings.setdefault(columns["parent"][i], []).append(incl[i])
    assert all(values == sorted(values, reverse=True) for values in siblings.values())
    left = [row["incl"] for path, row in rows.items() if path not in {columns["path"][i] for i in shown}]
    assert len(left) == (len(rows) - limit if limit else 0) and max(left, default=0) <= min(incl[i] for i in shown)
    with pytest.raises(Error, match="no metric speed was counted"):
        model.view("tree", metric="speed")


def test_lines_say_that_they_are_of_the_whole_run(recorded):
    experiment = kinds.open_experiment(str(recorded))
    assert payload.unpack(experiment.get("lines", {}))[0] == {"functions": []}
    assert "whole run" in payload.unpack(experiment.get("lines", {"begin": "0", "end": "1"}))[0]["unclipped"]


def test_regions_tell_where_functions_are(recorded):
    model = Model(recorded)
    meta, columns = view(model, "regions")
    indices = zip(*(columns[c] for c in ("module", "file", "line", "kind")))
    found = {
        (name, qualname, meta["modules"][m], meta["files"][f], line, meta["kinds"][k])
        for name, qualname, (m, f, line, k) in zip(meta["names"], meta["qualnames"], indices)
    }
    keys = ("name", "qualname", "module", "file", "line", "kind")
    assert {tuple(row[key] for key in keys) for row in model.flat()} <= found
    assert meta["names"][0] == "<root>" and len(set(meta["modules"])) == len(meta["modules"])


def test_layout_is_what_columns_h_says(recorded):
    data = Model(recorded).view("tree", limit=3)
    magic, n = struct.unpack_from("<II", data)
    assert data[:4] == b"SPCO" and magic == 0x4F435053 and n % 8 == 0
    header = json.loads(data[8 : 8 + n])
    for column in header["columns"].values():
        assert column["at"] % 8 == 0 and 8 + n + column["at"] <= len(data)
    last = max(header["columns"].values(), key=lambda c: c["at"])
    assert len(data) % 8 == 0 and last["n"] > 0


def test_python_packs_the_same_layout():
    data = payload.pack({"a": "ä\udcff"}, {"x": ("f64", [1.5, -2]), "y": ("u8", [1, 2, 3]), "z": ("u32", [NONE])})
    meta, columns = payload.unpack(data)
    assert meta == {"a": "ä\udcff"} and len(data) % 8 == 0
    assert [list(columns[c]) for c in "xyz"] == [[1.5, -2], [1, 2, 3], [NONE]]
    for bad in (b"", b"SPCO", data[:-8], b"x" * 16):
        with pytest.raises(ValueError, match="not a payload"):
            payload.unpack(bad)


@pytest.mark.parametrize(
    ("times", "colour"), [([8.5, 1, 0.5], "function"), ([5, 2, 3], "module"), ([0, 0, 0], "module"), ([], "module")]
)
def test_colours_are_those_of_functions_if_one_package_has_nearly_all_time(times, colour):
    modules = ("solver.core", "solver.grid", "json")
    top = [(0, {"module": module, "running": time}) for module, time in zip(modules, times)]
    assert facts._colour(top) == colour


def test_facts_of_a_run(recorded):
    experiment = kinds.open_experiment(str(recorded))
    meta, columns = payload.unpack(experiment.get("facts", {}))
    info = experiment.model.info()
    assert not columns and meta["title"] == "program.py 'with words'" and meta["command"][-1] == "with words"
    assert meta["duration"] == info["end"] - info["begin"] and meta["traced"] is True
    assert close(meta["busy"], sum(loc["busy"] for loc in info["locations"]))
    assert [loc["name"] for loc in meta["locations"]] == ["MainThread", "helper"]
    assert meta["settings"]["c_calls"] == "0" and meta["settings"]["metrics"] == "rusage:ru_minflt" and meta["settings"]["hook"]
    assert meta["python"] == sys.version.split()[0]
    absent = ("states", "counters", "lines", "mpi", "io", "tasks", "messages", "waits", "memory", "locks")
    has = {"trace": True, "time": True, "metrics": True, "off_cpu": True, **dict.fromkeys(absent, False)}
    assert meta["has"] == {**has, "source": True, "compare": False}
    assert [m["name"] for m in meta["metrics"]] == ["ru_minflt", "running", "waiting", "preempted"]
    calls = sum(loc["visits"] + loc["resumed"] for loc in info["locations"])
    assert close(meta["cost"]["total"], calls * (meta["cost"]["in"] + meta["cost"]["out"]))
    first = experiment.model.flat(sort="running", limit=1, imports=False)[0]
    running = words.share(first["running"], sum(loc["running"] for loc in info["locations"]))
    # behind a sentence about waiting, if the threads hardly got a processor on a busy machine
    at = next(i for i, text in enumerate(meta["sentences"]) if first["name"] in text and running in text)
    assert at <= 1
    names = view(experiment.model, "regions")[0]["names"]
    assert names[meta["about"][at]] == first["name"] and len(meta["about"]) == len(meta["sentences"])


def test_words_of_pages(ranks):
    experiment = kinds.open_experiment(str(ranks))
    model = experiment.model
    assert payload.unpack(experiment.get("waits", {}))[0] == json.loads(json.dumps(model.waits()))
    assert payload.unpack(experiment.get("critical", {"share": "0.2"}))[0] == json.loads(json.dumps(model.critical_path(share=0.2)))
    assert payload.unpack(experiment.get("tasks", {"limit": "5"}))[0] == json.loads(json.dumps(model.tasks(limit=5)))
    meta = facts.facts(model, str(ranks), {"source": False})
    assert [p["name"] for p in meta["processes"]] == [f"Rank {i}" for i in range(4)]
    assert meta["has"]["mpi"] and meta["has"]["waits"] and not meta["has"]["source"]


def test_questions_that_have_no_answer(recorded):
    experiment = kinds.open_experiment(str(recorded))
    for kind, parameters, why in (
        ("nothing", {}, "nothing to view of the kind nothing"),
        ("tree", {"sideways": "1"}, "tree takes no sideways"),
        ("regions", {"process": "0"}, "regions takes no process"),
        ("facts", {"process": "0"}, "facts takes no process"),
        ("flat", {"limit": "many"}, "limit cannot be 'many': a number is needed"),
        ("flat", {"limit": "0"}, "limit cannot be 0"),
        ("flat", {"process": "-1"}, "process cannot be -1"),
        ("flat", {"process": str(2**70)}, "process cannot be"),
        ("flat", {"begin": "inf"}, "begin cannot be inf"),
        ("flat", {"begin": "nan"}, "begin cannot be nan"),
        ("balance", {"over": "hours"}, "over cannot be hours; one of auto, ranks, processes, threads"),
        ("balance", {"over": "ranks", "process": "0"}, "one process has threads alone"),
        ("balance", {"region": "99999"}, "there is no region 99999"),
        ("matrix", {}, "no MPI was recorded"),
        ("compare", {}, "nothing to compare with"),
        ("facts", {"of": "base"}, "nothing to compare with"),
        ("facts", {"of": "me"}, "of cannot be 'me'"),
        ("source", {}, "source needs a file"),
        ("source", {"file": "99999"}, "there is no file 99999"),
        ("source", {"file": "1", "line": "1"}, "source takes no line"),
        ("lines", {"process": "9"}, "there is no process 9; the last is 0"),
    ):
        with pytest.raises((Refused, Error), match=why):
            experiment.get(kind, parameters)
    for kind in ("flat", "tree"):
        with pytest.raises(Error, match="there is no location 2"):
            experiment.get(kind, {"location": "2"})


@pytest.mark.parametrize("over", ["auto", "ranks", "threads"])
def test_balance_has_the_numbers_of_the_report(ranks, over):
    model = Model(ranks)
    meta, columns = view(model, "balance", over=over)
    names = view(model, "regions")[0]["names"]
    reported = model.balance(over=over)
    assert meta["over"] == reported["over"] and meta["units"] == reported["units"]
    found = {}
    for unit, region, incl, excl in zip(*(columns[c] for c in ("unit", "region", "incl", "excl"))):
        found.setdefault(names[region], {})[unit] = (incl, excl)
    assert {row["name"] for row in reported["rows"]} == set(found)
    for row in reported["rows"]:
        for k, key in enumerate(("incl", "excl")):
            numbers = [found[row["name"]].get(u, (0, 0))[k] for u in range(len(meta["units"]))]
            assert close(max(numbers), row[key]["max"]) and close(min(numbers), row[key]["min"])
            assert math.isclose(sum(numbers) / len(numbers), row[key]["mean"], rel_tol=1e-9)
    assert "running" not in columns  # these files are of a version that did not measure it
    assert close(meta["total"], sum(loc["busy"] for loc in model.info()["locations"]))


def test_balance_tells_fewer_regions_apart(ranks, recorded):
    model = Model(ranks)
    whole_meta, whole = view(model, "balance")
    meta, few = view(model, "balance", regions=2)
    assert meta["regions"] == 2 and close(meta["total"], whole_meta["total"])
    assert close(sum(few["excl"]), sum(whole["excl"])) and sum(few["visits"]) == sum(whole["visits"])
    kept = set(few["region"]) - {NONE}
    assert NONE in few["region"] and len(kept) == 2
    rows = {(u, r): (i, e) for u, r, i, e in zip(*(whole[c] for c in ("unit", "region", "incl", "excl")))}
    for u, r, i, e in zip(few["unit"], few["region"], few["incl"], few["excl"]):
        assert i == e if r == NONE else rows[u, r] == (i, e)
    one = next(iter(kept))
    _, alone = view(model, "balance", region=one)
    assert set(alone["region"]) == {one}
    assert [rows[u, one] for u in alone["unit"]] == list(zip(alone["incl"], alone["excl"]))
    assert view(Model(recorded), "balance", process=0)[0]["units"] == [0, 1]
    one_meta, one_thread = view(Model(recorded), "balance", location=1)
    assert one_meta["units"] == [1] and close(sum(one_thread["excl"]), sum(view(Model(recorded), "flat", location=1)[1]["excl"]))


def test_balance_of_a_range_is_what_flat_says_of_it(recorded):
    model = Model(recorded)
    meta, calls = view(model, "timeline", location=0, levels=1)
    # on a busy machine the first call may begin late in the run
    end, first, last = meta["end"], min(calls["begin"]), max(calls["end"])
    part = {"begin": first + (last - first) * 0.3, "end": first + (last - first) * 0.9}
    meta, columns = view(model, "balance", over="threads", **part)
    assert set(meta["units"]) <= {0, 1} and 0 in meta["units"]
    whole_meta, whole = view(model, "balance", over="threads", begin=0.0, end=end)
    # times are rounded to ns
    outermost = sum(calls["calls"]) + sum(view(model, "timeline", location=1, levels=1)[1]["calls"])
    assert math.isclose(whole_meta["total"], view(model, "balance")[0]["total"], rel_tol=1e-6, abs_tol=1e-9 * outermost)
    assert meta["total"] < whole_meta["total"] and close(sum(whole["excl"]), whole_meta["total"])
    for unit in (0, 1):
        _, flat = view(model, "flat", location=unit, **part)
        numbers = {r: n for r, *n in zip(*(flat[c] for c in ("region", "visits", "incl", "excl", "metric:running:excl")))}
        numbers = {r: (*n, running * 1e-9) for r, (*n, running) in numbers.items()}
        rows = zip(*(columns[c] for c in ("unit", "region", "visits", "incl", "excl", "running")))
        found = {r: n for u, r, *n in rows if meta["units"][u] == unit}
        assert set(numbers) == set(found)
        assert all(close(a, b) for r in numbers for a, b in zip(numbers[r], found[r]))


def test_balance_compares_running_time(recorded):
    model = Model(recorded)
    names = view(model, "regions")[0]["names"]
    meta, columns = view(model, "balance", over="threads")
    running = dict.fromkeys(names, 0.0)
    for region, time in zip(columns["region"], columns["running"]):
        running[names[region]] += time
    means = dict.fromkeys(names, 0.0)
    for row in model.balance(over="threads", time="running")["rows"]:
        means[row["name"]] += row["running"]["mean"]
    assert {name: pytest.approx(mean * len(meta["units"]), abs=1e-12) for name, mean in means.items()} == running
    assert sum(columns["running"]) < sum(columns["excl"])


def test_matrix_has_the_numbers_of_the_report(ranks):
    model = Model(ranks)
    meta, columns = view(model, "matrix")
    reported = model.messages()
    keys = ("from", "to", "messages", "bytes", "received", "time")
    assert [dict(zip(keys, row)) for row in zip(*(columns[key] for key in keys))] == reported["rows"]["pair"]
    assert meta == {key: reported[key] for key in meta} and meta["messages"] == 8

    def pairs(**selection):
        _, columns = view(model, "matrix", **selection)
        return {(a, b): n for a, b, n in zip(*(columns[c] for c in ("from", "to", "messages")))}

    assert pairs(process=1) == {(0, 1): 2, (1, 2): 2}
    assert pairs(location=1) == {(0, 1): 2, (1, 2): 2}  # each rank has one thread
    end = model.info()["end"]
    assert pairs(begin=0.0, end=end) == {(i, (i + 1) % 4): 2 for i in range(4)} and pairs(begin=end) == {}


def test_source_is_of_functions_files_alone(recorded, tmp_path):
    experiment = kinds.open_experiment(str(recorded))
    files = view(experiment.model, "regions")[0]["files"]

    def source(file, of=experiment):
        return payload.unpack(of.get("source", {"file": str(files.index(file))}))[0]

    program = recorded.parent / "program.py"
    assert source(str(program)) == {"file": str(program), "text": PROGRAM, "remark": ""}
    assert source("") == {"file": "", "missing": "no source: the file is not known"}
    assert "is no file" in source("<frozen importlib._bootstrap>")["missing"]
    closed = kinds.open_experiment(str(recorded), source=False)
    assert source(str(program), closed)["missing"] == "no source: it is left out of this page"
    sources = kinds.Sources(str(recorded), 0)
    (tmp_path / "secret").write_text("key")
    (tmp_path / "tool").write_text("#!/usr/bin/env python3\n")
    (tmp_path / "large.py").write_text("x = 1\n" * 100)
    assert [sources.readable(str(tmp_path / name), 500) for name in ("secret", "tool", "large.py")] == [False, True, False]


def test_a_damaged_description_is_reported(recorded, tmp_path):
    shutil.copytree(recorded, tmp_path / "x")
    (tmp_path / "x/experiment.json").write_text("{")
    reported, _ = payload.unpack(kinds.open_experiment(str(tmp_path / "x")).get("facts", {}))
    assert any(text.startswith("experiment.json is damaged") for text in reported["lost"])
    assert any("damaged" in text for text in reported["sentences"])
    whole, _ = payload.unpack(kinds.open_experiment(str(recorded)).get("facts", {}))
    assert not any("damaged" in text for text in (*whole["lost"], *whole["sentences"]))


@pytest.mark.parametrize("selected", [*SELECTIONS, {"limit": 3}, "a range"], ids=str)
def test_the_running_time_of_call_paths(recorded, selected):
    model = Model(recorded)
    if selected == "a range":
        _, calls = view(model, "timeline", location=0, levels=1)
        first, last = min(calls["begin"]), max(calls["end"])
        selected = {"begin": first, "end": (first + last) / 2}
    _, tree = view(model, "tree", **selected)
    _, flat = view(model, "flat", **{key: value for key, value in selected.items() if key != "limit"})
    outermost = sum(ran for ran, above in zip(tree["running"], tree["parent"]) if above == NONE)
    assert all(0 <= ran <= incl for ran, incl in zip(tree["running"], tree["incl"])) and any(tree["incl"])
    if "end" not in selected:  # within a range, off-CPU time is cut at its ends, for each path by itself
        assert nearly(outermost, sum(flat["running"])) and outermost > 0


def nearly(a, b):
    """Equal but for the rounding of sums of the parts of times."""
    return math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-6)


def test_two_runs_are_compared(recorded, tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM.replace("fib(13)", "fib(11)").replace("case", "example"))
    done = run([sys.executable, "-m", "spartito"], "run", "-o", tmp_path / "y", "--", sys.executable, tmp_path / "program.py")
    assert done.returncode == 0, done.stderr
    experiment = kinds.open_experiment(str(tmp_path / "y"), compare=str(recorded))
    here, there = WithoutPreemption(tmp_path / "y"), WithoutPreemption(recorded)
    regions, _ = view(experiment.model, "regions")
    names = regions["names"]
    renamed = {"before": str(recorded.parent / "program.py"), "after": str(tmp_path / "program.py")}
    assert renamed.items() <= regions["renamed"][0].items()
    meta, flat = view(experiment.model, "flat")
    now, before = ({row["name"]: row for row in model.flat()} for model in (here, there))
    assert set(now) | set(before) == {names[i] for i in flat["region"]}
    assert ("__main__:case" in now, "__main__:case" in before) == (False, True)
    nothing = {"visits": 0, "incl": 0, "excl": 0, "mean": 0}
    for i, region in enumerate(flat["region"]):
        for key in ("visits", "incl", "excl"):
            assert nearly(flat[key][i], now.get(names[region], nothing)[key])
            assert nearly(flat[f"base_{key}"][i], before.get(names[region], nothing)[key])
    larger = [max(pair) for pair in zip(flat["excl"], flat["base_excl"])]
    assert larger == sorted(larger, reverse=True)
    for key, model in (("", here), ("base_", there)):
        busy = sum(loc["busy"] for loc in model.info()["locations"])
        assert nearly(meta[f"{key}total"] + meta.get(f"{key}preempted", 0), busy)

    def paths(model):
        found, stack = {}, []
        for row in model.tree():
            label = ",".join(f"{p['name']}={p['value']}" for p in row.get("parameters", ()))
            stack[row["depth"] :] = [(row["name"], label)]
            found[tuple(stack)] = row
        return found

    meta, tree = view(experiment.model, "tree")
    assert nearly(sum(tree["excl"]), meta["total"]) and nearly(sum(tree["base_excl"]), meta["base_total"])
    now, before, seen = paths(here), paths(there), []
    for i, above in enumerate(tree["parent"]):
        label = "" if tree["label"][i] == NONE else meta["labels"][tree["label"][i]].replace(", ", ",")
        seen.append((*(seen[above] if above != NONE else ()), (names[tree["region"][i]], label)))
        for key in ("visits", "incl", "excl"):
            assert nearly(tree[key][i], now.get(seen[i], nothing)[key])
            assert nearly(tree[f"base_{key}"][i], before.get(seen[i], nothing)[key])
    assert set(seen) == set(now) | set(before) and len(seen) == len(set(seen))
    _, few = view(experiment.model, "tree", limit=5)
    assert nearly(sum(few["excl"]), meta["total"]) and nearly(sum(few["base_excl"]), meta["base_total"])
    reported, _ = payload.unpack(experiment.get("compare", {}))
    assert reported["base"]["title"] == "program.py 'with words'" and reported["sentences"][0].startswith("This run took ")
    assert any("is now" in text for text in reported["sentences"]) and any("alone" in text for text in reported["sentences"])
    assert payload.unpack(experiment.get("facts", {}))[0]["has"]["compare"] is True
    about, selected = view(experiment.model, "flat", location=1)
    _, helper = view(there, "flat", location=1)
    assert nearly(sum(selected["base_excl"]) + about.get("base_preempted", 0), sum(helper["excl"]))
    for wrong in (experiment.model, there.model):
        with pytest.raises(ValueError, match="once"):
            experiment.model.view_against(wrong)


def test_compensated(recorded):
    """With compensation, all sums over calls are those of the compensated model, and the facts report it."""
    experiment, model = kinds.open_experiment(str(recorded), compensate=True), Model(recorded, compensate=True)
    plain = kinds.open_experiment(str(recorded))
    for kind, asked in (("flat", {}), ("tree", {"limit": "1000"}), ("balance", {}), ("flat", {"begin": "0.0", "end": "1.0"})):
        numbers = payload.unpack(experiment.get(kind, asked))[1]
        values = {name: float(text) if "." in text else int(text) for name, text in asked.items()}
        expected = payload.unpack(model.view(kind, **values))[1]
        assert {name: list(column) for name, column in numbers.items()} == {name: list(column) for name, column in expected.items()}
        assert numbers.keys() and any(list(numbers[n]) != list(c) for n, c in payload.unpack(plain.get(kind, asked))[1].items())
    facts = payload.unpack(experiment.get("facts", {}))[0]
    before = payload.unpack(plain.get("facts", {}))[0]
    assert (facts["compensated"], before["compensated"]) == (True, False)
    assert facts["busy"] < before["busy"] and facts["cost"]["total"] == before["cost"]["total"]
    running = sum(loc["running"] for loc in model.info()["locations"])
    assert close(facts["cost"]["share"], facts["cost"]["total"] / (running + facts["cost"]["total"]))


def test_both_runs_are_compensated(recorded, tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    command = [sys.executable, tmp_path / "program.py"]
    done = run([sys.executable, "-m", "spartito"], "run", "--c-calls", "-o", tmp_path / "y", "--", *command)
    assert done.returncode == 0, done.stderr
    experiment = kinds.open_experiment(str(tmp_path / "y"), compare=str(recorded), compensate=True)
    names, (_, flat) = view(experiment.model, "regions")[0]["names"], view(experiment.model, "flat")
    for key, directory in (("excl", tmp_path / "y"), ("base_excl", recorded)):
        times = {row["name"]: row["excl"] for row in WithoutPreemption(directory, compensate=True).flat()}
        assert all(nearly(time, times.get(names[region], 0)) for region, time in zip(flat["region"], flat[key]))
    reported, _ = payload.unpack(experiment.get("compare", {}))
    assert reported["base"]["directory"] == str(recorded) and reported["base"]["start"] == Model(recorded).info()["begin"]
    assert "this run with --c-calls" in reported["unlike"][0] and reported["headline"] == "not recorded alike"
    assert reported["costs"][0].startswith("Measuring took about ") and reported["costs"][0].endswith("taken out of the times.")


def test_many_threads_ask_at_once(recorded):
    experiment = kinds.open_experiment(str(recorded))
    questions = [(kind, {"limit": str(n)}) for kind in ("tree", "flat") for n in (1, 5, 50)] + [("facts", {}), ("regions", {})]
    expected = [experiment.get(*q) for q in questions]
    wrong = []

    def ask():
        for _ in range(20):
            wrong.extend(q for q, data in zip(questions, expected) if experiment.get(*q) != data)

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
