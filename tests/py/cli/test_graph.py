# SPDX-License-Identifier: BSD-3-Clause
"""`spartito plot --kind graph`: Graphviz reads the graph, and its numbers equal the model's."""

import json
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ET

import pytest
import written
from commandline import run
from spartito._analyse import Error, Model

SVG = "{http://www.w3.org/2000/svg}"
ODD = 'a "b" \\N {x|y} <c> & &amp; \u00fc \U0001f3bc'


def read(path):
    """Nodes and edges by names of functions, and the clusters, as Graphviz parses them."""
    graph = json.loads(written.run("dot", "-Tjson", path))
    objects = graph["objects"]
    names = [o["tooltip"].split("\\n")[0] for o in objects]
    nodes = {names[i]: o for i, o in enumerate(objects) if "nodes" not in o}
    edges = {(names[e["tail"]], names[e["head"]]): e for e in graph.get("edges", ())}
    clusters = {o["label"]: {names[i] for i in o["nodes"]} for o in objects if "nodes" in o}
    return nodes, edges, clusters


def everything(tmp_path, **how):
    path = tmp_path / "all.dot"
    done = written.model().graph(str(path), **{"node_share": 0, "edge_share": 0, **how})
    return (*read(path), done)


def share(text):
    return float(re.search(r"[\d.]+", text)[0]) / 100


def contrast(one, other):
    def luminance(colour):
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        parts = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
        return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]

    a, b = sorted((luminance(one), luminance(other)))
    return (b + 0.05) / (a + 0.05)


def test_numbers_of_functions(tmp_path):
    nodes, _, _, done = everything(tmp_path)
    rows = [row for row in written.model().flat() if row["kind"] != "root"]
    total = sum(row["excl"] for row in rows)
    assert done["nodes"] == len(nodes) == len(rows) and not done["hidden_nodes"] and not done["hidden_edges"]
    for row in rows:
        *_, inclusive, exclusive, calls = nodes[row["name"]]["label"].split("\\n")
        assert share(inclusive) == pytest.approx(row["incl"] / total, abs=6e-4), row["name"]
        assert share(exclusive) == pytest.approx(row["excl"] / total, abs=6e-4), row["name"]
        assert exclusive.startswith("(") and calls == f"{row['visits']}×"


def test_numbers_of_calls(tmp_path):
    _, edges, _, _ = everything(tmp_path)
    calls = {}
    for row, caller in written.tree():
        if caller:
            pair = (caller["name"], row["name"])
            calls[pair] = calls.get(pair, 0) + row["visits"]
    assert {pair: int(e["label"].split("\\n")[1][:-1]) for pair, e in edges.items()} == calls


def test_labels_can_be_read_in_every_theme(tmp_path):
    for theme in ("light", "dark", "grey"):
        nodes, _, _, _ = everything(tmp_path, theme=theme)
        assert len({n["fillcolor"] for n in nodes.values()}) > 2
        for node in nodes.values():
            assert contrast(node["fillcolor"], node["fontcolor"]) >= 4.5


def test_own_modules_have_frames(tmp_path):
    _, _, clusters, _ = everything(tmp_path)
    assert list(clusters) == ["__main__"]
    assert clusters["__main__"] == {row["name"] for row in written.rows().values()}


def test_thresholds_and_limit(tmp_path):
    all_nodes, all_edges, _, _ = everything(tmp_path)
    rows = sorted((r for r in written.model().flat() if r["kind"] != "root"), key=lambda r: -r["incl"])
    total = sum(row["excl"] for row in rows)
    nodes, edges, _, done = everything(tmp_path, node_share=0.02)
    assert set(nodes) == {row["name"] for row in rows if row["incl"] >= 0.02 * total}
    assert done["nodes"] + done["hidden_nodes"] == len(all_nodes) and done["hidden_nodes"] > 0
    assert done["edges"] + done["hidden_edges"] == len(all_edges)
    assert all(set(pair) <= set(nodes) for pair in edges)
    nodes, _, _, done = everything(tmp_path, limit=3)
    assert sorted(nodes) == sorted(row["name"] for row in rows[:3]) and done["hidden_nodes"] == len(all_nodes) - 3
    _, edges, _, _ = everything(tmp_path, edge_share=0.05)
    assert edges and all(share(e["label"]) >= 0.0495 for e in edges.values())


def test_match_is_the_root(tmp_path):
    nodes, _, _, _ = everything(tmp_path, match="__main__:caught")
    assert set(nodes) == {"__main__:caught", "__main__:thrown", "__main__:leaf"} & set(nodes) and len(nodes) >= 2
    with pytest.raises(Exception, match="no recorded function matches 'nothing'"):
        everything(tmp_path, match="nothing")


def test_thread_and_process(tmp_path):
    info = written.model().info()
    for i in range(len(info["locations"])):
        nodes, _, _, _ = everything(tmp_path, location=i)
        assert set(nodes) == {row["name"] for row in written.model().flat(location=i) if row["kind"] != "root"}
    assert everything(tmp_path, process=0)[0].keys() == everything(tmp_path)[0].keys()


def test_names_of_any_characters(spartito, tmp_path):
    code = f"import spartito as u\nwith u.region({ODD!r}):\n    with u.region('x' * 30000): sum(range(1000))"
    done = run(spartito, "run", "-q", "-o", "exp", "--", sys.executable, "-c", code, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    done = run(spartito, "plot", "--kind", "graph", "exp", "-o", "g.svg", "--nodes", "0", "--title", ODD, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    texts = {"".join(t.itertext()) for t in ET.parse(tmp_path / "g.svg").iter(SVG + "text")}
    assert ODD in texts and any("x…x" in t for t in texts)


def test_a_picture_of_each_kind_that_is_no_strip(spartito, tmp_path):
    begins = {"svg": b"<?xml", "png": b"\x89PNG", "pdf": b"%PDF", "dot": b"digraph"}
    code = "import email.mime.multipart, http.client, unittest, xml.dom.minidom, ctypes, logging.config"
    done = run(spartito, "run", "-q", "-o", "exp", "--", sys.executable, "-c", code, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    for suffix, begin in begins.items():
        done = run(spartito, "plot", "--kind", "graph", "exp", "-o", f"g.{suffix}", cwd=tmp_path)
        assert (done.returncode, done.stderr) == (0, "")
        assert re.fullmatch(rf"wrote g\.{suffix}: \d+ functions; [\d,]+ smaller ones? not shown\n", done.stdout)
        assert (tmp_path / f"g.{suffix}").read_bytes().startswith(begin)
    width, height = (float(ET.parse(tmp_path / "g.svg").getroot().get(k).removesuffix("pt")) for k in ("width", "height"))
    assert width < 3000 and 0.2 < width / height < 5
    assert sorted(os.listdir(tmp_path)) == ["exp", *sorted("g." + s for s in begins)]


def test_without_graphviz(spartito, tmp_path):
    (tmp_path / "bin").mkdir()
    for suffix in ("svg", "png", "pdf", "dot"):
        command = [*spartito, "plot", "--kind", "graph", str(written.experiment()), "-o", f"g.{suffix}"]
        done = subprocess.run(
            command, cwd=tmp_path, env={**os.environ, "PATH": str(tmp_path / "bin")}, capture_output=True, text=True
        )
        if suffix in ("dot", "svg"):
            assert done.returncode == 0, done.stderr
        else:
            assert done.returncode == 1 and "install the package graphviz" in done.stderr and done.stderr.count("\n") == 1
    assert sorted(os.listdir(tmp_path)) == ["bin", "g.dot", "g.svg"]
    assert "<rect" in (tmp_path / "g.svg").read_text(encoding="utf-8")  # drawn by Spartito: Graphviz draws polygons


@pytest.mark.parametrize(
    ("words", "status", "message"),
    [
        ([], 2, "no file given: -o FILE (.svg, .png, .pdf or .dot)"),
        (["-o", "g.gif"], 2, "-o g.gif: a graph ends in .svg, .png, .pdf or .dot"),
        (["-o", "g.dot", "--match", "nobody"], 1, "no recorded function matches 'nobody'"),
        (["-o", "g.dot", "--location", "99"], 2, "--location 99: `spartito info` lists threads 0 to 1"),
        (["-o", "g.dot", "--process", "9"], 2, "--process 9: `spartito info` lists processes 0 to 0"),
        (["-o", "g.dot", "--location", "0", "--process", "0"], 2, "leave --process and --rank out"),
        (["-o", "g.dot", "--nodes", "200"], 1, "no function has 200 % of the time or more"),
        (["-o", "g.dot", "--theme", "gray"], 2, "--theme: 'gray' is not one of light, dark, grey; did you mean grey?"),
        (["-o", "none/g.dot"], 1, "none/g.dot: No such file or directory"),
    ],
)
def test_mistakes(spartito, tmp_path, words, status, message):
    done = run(spartito, "plot", "--kind", "graph", str(written.experiment()), *words, cwd=tmp_path)
    assert done.returncode == status and message in done.stderr and done.stderr.count("\n") == 1
    assert not os.listdir(tmp_path)


# ---- layout without Graphviz ----


def groups(path):
    return [(g.find(SVG + "title").text.split("\n"), g) for g in ET.parse(path).iter(SVG + "g")]


def box(group):
    return [float(group.find(SVG + "rect").get(k)) for k in ("x", "y", "width", "height")]


def drawn(tmp_path, model=None, **how):
    """Boxes {name: (place, texts)}; calls {(caller, callee): count}."""
    path = tmp_path / "own.svg"
    done = (model or written.model()).graph(str(path), svg=True, **{"node_share": 0, "edge_share": 0, **how})
    boxes, calls = {}, {}
    for lines, group in groups(path):
        if group.find(SVG + "rect") is not None:
            boxes[lines[0]] = (box(group), [t.text for t in group.iter(SVG + "text")])
        else:
            pair, _, often = re.fullmatch(r"(.*): (.*), (\d+)×", lines[0]).groups()
            calls[tuple(pair.split(" calls "))] = int(often)
    return boxes, calls, ET.parse(path).getroot(), done


def test_own_layers_have_the_same_numbers(tmp_path):
    nodes, edges, _, _ = everything(tmp_path)
    boxes, calls, _, _ = drawn(tmp_path)
    assert {name: texts[-3:] for name, (_, texts) in boxes.items()} == {
        name: node["label"].split("\\n")[-3:] for name, node in nodes.items()
    }
    assert calls == {pair: int(e["label"].split("\\n")[1][:-1]) for pair, e in edges.items()}


def test_own_layers_have_no_overlap_and_callers_above(tmp_path):
    code = "import email.mime.multipart, http.client, unittest, xml.dom.minidom, ctypes, logging.config"
    done = run([sys.executable, "-m", "spartito"], "run", "-q", "-o", "exp", "--", sys.executable, "-c", code, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    from spartito._analyse import Model

    for model, how in ((written.model(), {}), (Model(str(tmp_path / "exp")), {"limit": 60}), (Model(str(tmp_path / "exp")), {})):
        boxes, calls, picture, done = drawn(tmp_path, model, **how)
        width, height = float(picture.get("width")), float(picture.get("height"))
        places = sorted(box(g) for _, g in groups(tmp_path / "own.svg") if g.find(SVG + "rect") is not None)
        assert len(places) == done["nodes"]
        rows = {}
        for x, y, w, h in places:
            assert x >= 0 and x + w <= width and y >= 0 and y + h <= height
            rows.setdefault(round(y + h / 2), []).append((x, x + w))
        for row in rows.values():
            assert all(a[1] < b[0] for a, b in zip(row, row[1:]))
        if how:
            assert width < 4000 and width < 5 * height
    boxes, calls, _, _ = drawn(tmp_path, match="__main__:caught")
    for caller, callee in calls:
        assert boxes[callee][0][1] > boxes[caller][0][1]


def test_own_layers_can_be_read_in_every_theme(tmp_path):
    for theme in ("light", "dark", "grey"):
        drawn(tmp_path, theme=theme)
        for _, group in groups(tmp_path / "own.svg"):
            rect = group.find(SVG + "rect")
            for text in group.iter(SVG + "text") if rect is not None else ():
                assert contrast(rect.get("fill"), text.get("fill")) >= 4.5


def test_too_much_for_a_picture_without_graphviz(tmp_path):
    """The longest chain of n functions, and calls that span all of it: n * n / 2 layers to route edges through."""
    n = 1500
    lines = [f"def f{i}(deep): deep and f{i + 1}(1)" for i in range(n)]
    calls = f"f{n} = lambda deep: None\ndef all():\n    f0(1)\n    for f in every: f(0)\n"
    program = "import sys; sys.setrecursionlimit(5000)\n" + "\n".join(lines) + "\n" + calls
    (tmp_path / "prog.py").write_text(f"{program}every = [globals()[f'f{{i}}'] for i in range({n})]\nall()\n")
    command = [sys.executable, "-m", "spartito", "run", "-q", "-o", tmp_path / "x", "--", sys.executable, tmp_path / "prog.py"]
    assert subprocess.run(command, timeout=200).returncode == 0
    model, everything = Model(str(tmp_path / "x")), {"node_share": 0, "edge_share": 0, "svg": True}
    with pytest.raises(Error, match=r"^\d+ functions call each other over too many levels for a picture: draw less of them$"):
        model.graph(str(tmp_path / "all.svg"), limit=0, **everything)
    assert not (tmp_path / "all.svg").exists()
    assert model.graph(str(tmp_path / "some.svg"), limit=300, **everything)["nodes"] == 300
    assert (tmp_path / "some.svg").read_text().count(" calls __main__:") > 300
