# SPDX-License-Identifier: BSD-3-Clause
"""Annotations (facts of a function's code) in traces for viewers equal those that the program's own profile function finds."""

import json
import sys

import pftrace
import pytest
from commandline import run
from omnitrace_helpers import outputs
from omnitrace_helpers import program as written
from omnitrace_helpers import run as omnitrace
from spartito._analyse import Model
from spartito.options.settings import keyword_settings

pytest.importorskip("perfetto")

PROGRAM = """\
import json, sys

def plain(a, b=2, *more, key=None, **rest):
    c = a + b
    return [c, more, rest]

def outer(n):
    m = n + 1
    def inner():
        return m * n
    return inner()

def items(n):
    for i in range(n):
        yield i * n

def main():
    plain(1, 2, 3, key=4, x=5)
    outer(3)
    return list(items(2))

facts = {}
def profile_function(frame, event, argument):
    code = frame.f_code
    if event == "call" and code.co_name not in facts:
        where = {"file": code.co_filename, "line": code.co_firstlineno, "lasti": frame.f_lasti}
        facts[code.co_name] = {**where, **{name: getattr(code, "co_" + name) for name in ("argcount", "nlocals", "stacksize")}}

if sys.argv[1:]:
    sys.setprofile(profile_function)
main()
sys.setprofile(None)
print(json.dumps(facts))
"""
NAMES = {"plain", "outer", "inner", "items", "main"}


def expected(path):
    """{function: its annotations}"""
    done = run([sys.executable], path, "profile_function")
    return {name: notes for name, notes in json.loads(done.stdout).items() if name in NAMES}


def annotations(trace, of=lambda name: name.rpartition(".")[2].rpartition(":")[2]):
    """({function: annotations} of begun calls, the same of resumed calls)."""
    begun, resumed = {}, {}
    for events in trace.threads.values():
        for e in events:
            if e.kind == "B" and of(e.name) in NAMES:
                (resumed if "resumed" in e.categories else begun)[of(e.name)] = e.notes
    return begun, resumed


@pytest.mark.parametrize("label", [(), ("--label", "args")], ids=["plain", "labels"])
def test_annotations_are_what_python_says(tmp_path, spartito, label):
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    facts = expected(path)
    assert facts.keys() == NAMES and facts["plain"]["argcount"] == 2 and facts["plain"]["nlocals"] == 6
    words = ("--trace", "--annotate", *label, "-o", tmp_path / "x", "--", sys.executable, path)
    assert run(spartito, "run", "-q", *words).returncode == 0
    model = Model(str(tmp_path / "x"))
    for name, suffix, read in (("perfetto", "pftrace", pftrace.perfetto), ("chrome", "json", pftrace.chrome)):
        model.convert(name, str(tmp_path / f"t.{suffix}"))
        begun, resumed = annotations(
            read(tmp_path / f"t.{suffix}"), lambda name: name.partition("(")[0].rpartition(".")[2].rpartition(":")[2]
        )
        assert begun == facts
        goes_on = {name: value for name, value in facts["items"].items() if name != "lasti"}
        assert resumed == {"items": goes_on}
    # the merged experiment has the same
    assert run(spartito, "finalize", "--force", tmp_path / "x").returncode == 0
    Model(str(tmp_path / "x")).convert("perfetto", str(tmp_path / "merged.pftrace"))
    assert (tmp_path / "merged.pftrace").read_bytes() == (tmp_path / "t.pftrace").read_bytes()


def test_only_where_it_is_asked_for(tmp_path, spartito):
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    assert run(spartito, "run", "-q", "--trace", "-o", tmp_path / "x", "--", sys.executable, path).returncode == 0
    Model(str(tmp_path / "x")).convert("perfetto", str(tmp_path / "t.pftrace"))
    begun, _ = annotations(pftrace.perfetto(tmp_path / "t.pftrace"))
    assert begun == dict.fromkeys(NAMES, {})
    done = run(spartito, "run", "--annotate", "-o", tmp_path / "y", "--", sys.executable, path)
    assert done.returncode == 2 and "--annotate" in done.stderr and "--trace" in done.stderr
    with pytest.raises(ValueError, match="annotate: "):
        keyword_settings({"annotate": True})
    assert keyword_settings({"annotate": True, "trace": True}) == {"annotate": "1", "trace": "1"}


@pytest.mark.parametrize("way", ["option", "code"])
def test_omnitrace(tmp_path, way):
    code = PROGRAM
    if way == "code":
        code = code.replace("import json", "from omnitrace.profiler import config; config.annotate_trace = True; import json")
    facts = expected(tmp_path / written(tmp_path, PROGRAM))
    written(tmp_path, code)
    options = ["-a", "--"] if way == "option" else []
    done = omnitrace(tmp_path, *options, "program.py", env={"OMNITRACE_PROFILE": "", "OMNITRACE_TRACE": "on"})
    assert done.returncode == 0 and all(line.startswith("omnitrace: wrote") for line in done.stderr.splitlines()), done.stderr
    (out,) = outputs(tmp_path)
    (trace,) = out.glob("perfetto-trace-*.proto")
    begun, _ = annotations(pftrace.perfetto(trace))
    for notes in (*begun.values(), *facts.values()):
        notes["file"] = notes["file"].rpartition("/")[2]
    assert begun == facts
