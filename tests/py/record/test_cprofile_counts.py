# SPDX-License-Identifier: BSD-3-Clause
"""The calls of each Python and C function are those that cProfile counts."""

import collections
import json
import os
import subprocess
import sys

from programs import WITHOUT_GIL
from spartito._analyse import Model

PROGRAM = """
import argparse, cProfile, collections, csv, ctypes, difflib, email, email.policy, gc, io, json, re, sys, textwrap
import spartito


class Table(dict):
    pass


class Wide(Table):
    @classmethod
    def fromkeys(cls, keys):
        return super().fromkeys(keys)


class Text(str):
    pass


class Definition(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("function", ctypes.c_void_p), ("flags", ctypes.c_int), ("text", ctypes.c_char_p)]


definition = Definition(b"made", ctypes.cast(ctypes.pythonapi.PyObject_Repr, ctypes.c_void_p), 4, None)  # METH_NOARGS
new = ctypes.pythonapi.PyCFunction_NewEx
new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p]
made = new(ctypes.addressof(definition), [], None)  # bound to a list, of which it is no method


def methods():
    tables = [kind(a=1) for kind in (dict, Table, Wide, collections.OrderedDict, collections.Counter)]
    for table in tables * 20:
        get = table.get
        get("a"), table.get("b"), dict.get(table, "a"), getattr(table, "pop")("b", 0)
    for kind in (dict, Table, Wide):
        kind.fromkeys("ab"), kind.mro(), kind.__new__(kind)
    for text in ("a", Text("a")):
        text.upper(), text.join("ab"), text.maketrans("a", "b")
    int.from_bytes(b"1", "big"), True.from_bytes(b"1", "big")
    for _ in range(3):
        made()


def library():
    json.loads(json.dumps({"a": [1, 2.5, None, "x"] * 9}, indent=1))
    parser = argparse.ArgumentParser(prog="x")
    parser.add_argument("-a", type=int, default=3)
    parser.parse_args(["-a", "4"])
    parser.format_help()
    message = email.message_from_string("Subject: hi\\nFrom: a@b.c\\n\\nbody\\n", policy=email.policy.default)
    message["subject"], message.as_string()
    list(difflib.unified_diff("a b c d e".split(), "a c d f e".split()))
    re.sub("a(b)?", lambda match: match.group(0).upper(), "ababaab")
    textwrap.wrap("some words to wrap " * 20, 30)
    list(csv.DictReader(io.StringIO("a,b\\n1,2\\n")))


def work():
    methods()
    library()


work()  # fills the caches of the library
gc.disable()
profile = cProfile.Profile()
profile.enable()
work()
profile.disable()
with spartito.measure(sys.argv[1], c_calls=True):
    work()
counts = []
for entry in profile.getstats():
    code = entry.code
    place = [code] if isinstance(code, str) else [code.co_filename, code.co_firstlineno, code.co_name]
    counts.append([place, entry.callcount])
json.dump(counts, sys.stdout)
"""

#: names in which cProfile does not tell the types apart
OF_ALL_TYPES = ("__new__", "fromkeys", "from_bytes", "maketrans")


def common(text):
    """A name without the type if cProfile does not know it. cProfile searches a method in the first object that it is called on,
    and so finds Counter.update, which calls the method."""
    if text.startswith("<function Counter.update "):
        return "<method 'update' of 'dict' objects>"
    for name in OF_ALL_TYPES:
        if text.startswith((f"<built-in method {name}", f"<method '{name}' of")):
            return name
    return text


def test_counts_of_cprofile(tmp_path):
    program, directory = tmp_path / "program.py", tmp_path / "run"
    program.write_text(PROGRAM, encoding="utf-8")
    command = [sys.executable, str(program), str(directory)]
    done = subprocess.run(command, stdout=subprocess.PIPE, encoding="utf-8", timeout=200, check=True)
    of_cprofile, of_spartito = collections.Counter(), collections.Counter()
    for place, calls in json.loads(done.stdout):
        of_cprofile[(common(place[0]),) if len(place) == 1 else tuple(place)] += calls
    rows = Model(str(directory)).flat()
    for row in rows:
        calls = row["visits"] + row["resumed"]
        if row["kind"] == "c":
            of_spartito[(common(row["qualname"]),)] += calls
        elif row["kind"] == "python" and calls:
            of_spartito[row["file"], row["line"], row["qualname"].rpartition(".")[2]] += calls
    ours = os.sep + os.path.join("site-packages", "spartito") + os.sep
    own = ("<method 'disable' of '_lsprof.Profiler' objects>",)  # cProfile's own call
    assert of_cprofile.pop(own) == 1
    assert {key: n for key, n in of_spartito.items() if ours not in key[0]} == dict(of_cprofile)

    calls = {row["qualname"]: row["visits"] for row in rows if row["kind"] == "c"}
    assert calls["<built-in method made>"] == 3
    assert [name for name in calls if "'get'" in name] == ["<method 'get' of 'dict' objects>"]
    made, from_bytes = calls["<method '__new__' of 'dict' objects>"], calls["<method 'from_bytes' of 'int' objects>"]
    fromkeys = calls["<method 'fromkeys' of 'dict' objects>"]
    # from 3.14 on, the standard library may call fromkeys, too
    assert made == 3 and (fromkeys == 3 or fromkeys > 3 and sys.version_info >= (3, 14))
    if sys.version_info < (3, 15) and not WITHOUT_GIL:
        assert from_bytes == calls["<method 'maketrans' of 'str' objects>"] == 2
    else:  # it does not tell whose static method maketrans is
        assert from_bytes == sum(n for name, n in calls.items() if "maketrans" in name) == 2
    (raw,) = (directory / "raw").glob("*.raw")
    assert raw.read_bytes().count(b"<method 'get' of 'dict' objects>") == 1  # objects of five types share one region
