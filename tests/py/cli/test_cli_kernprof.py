# SPDX-License-Identifier: BSD-3-Clause
"""kernprof's command line, its defaults from pyproject.toml, and the targets of -p."""

import re
import sys

import pytest
from spartito.base.messages import Refused
from spartito.compat.kernprof.options import Asked, configure, parse
from spartito.compat.kernprof.targets import choose, functions, imported, own_profile, split

SCRIPT = """\
import os.path
from shapes import Square
import shapes.round as r


def outer():
    def inner():
        return [x for x in ()]
    return inner


if outer:
    class C:
        async def method(self):
            return lambda: 0
        class D:
            def deep(self): pass
"""


@pytest.mark.parametrize(
    ("words", "kind", "what", "arguments", "given"),
    [
        ("-l x.py -v", "file", "x.py", ["-v"], {"line_by_line": True}),
        ("-lbvz x.py a b", "file", "x.py", ["a", "b"], {"line_by_line": True, "builtin": True, "verbose": 1, "skip_zero": True}),
        ("-lm pkg.mod -l", "module", "pkg.mod", ["-l"], {"line_by_line": True}),
        ("-l -mpkg x", "module", "pkg", ["x"], {"line_by_line": True}),
        ("-c print(1) -m x", "code", "print(1)", ["-m", "x"], {}),
        ("x.py -m y -c z", "file", "x.py", ["-m", "y", "-c", "z"], {}),
        ("- a", "stdin", "-", ["a"], {}),
        ("-l -- -x.py -- b", "file", "-x.py", ["--", "b"], {"line_by_line": True}),
        ("-vv --view --verbose x.py", "file", "x.py", [], {"verbose": 4}),
        ("-qq x.py", "file", "x.py", [], {"quiet": 2}),
        ("-oout.lprof -s setup.py -u1e-3 x.py", "file", "x.py", [], {"outfile": "out.lprof", "setup": "setup.py", "unit": 1e-3}),
        ("--outfile=o --setup s --unit 2 x.py", "file", "x.py", [], {"outfile": "o", "setup": "s", "unit": 2.0}),
        ("-i x.py", "file", "x.py", [], {"output_interval": 1}),
        ("-i 5 x.py", "file", "x.py", [], {"output_interval": 5}),
        ("-i7 -l x.py", "file", "x.py", [], {"output_interval": 7, "line_by_line": True}),
        ("-il x.py", "file", "x.py", [], {"output_interval": 1, "line_by_line": True}),
        ("--output-interval=3 x.py", "file", "x.py", [], {"output_interval": 3}),
        ("-p a,b -p c --prof-imports x.py", "file", "x.py", [], {"prof_mod": ["a,b", "c"], "prof_imports": True}),
        ("--line-by-line --no-rich x.py", "file", "x.py", [], {"line_by_line": True, "rich": False}),
        ("--rich no --builtin=Yes x.py", "file", "x.py", [], {"rich": False, "builtin": True}),
        ("--no-preimports --line x.py", "file", "x.py", [], {"preimports": False, "line_by_line": True}),
        ("", "", "", [], {}),
    ],
)
def test_command_lines(words, kind, what, arguments, given):
    asked = parse(words.split())
    assert (asked.kind, asked.what, asked.arguments, asked.given) == (kind, what, arguments, given)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--line-by-lime"], "unknown option --line-by-lime; did you mean --line-by-line?"),
        (["-lx", "a.py"], "unknown option -x in -lx"),
        (["-k"], "unknown option -k"),
        (["-o"], "-o needs a value"),
        (["-m"], "-m needs a value"),
        (["--no-"], "--no- may be "),
        (["-u", "zero", "x"], "-u: 'zero' is not a number above 0"),
        (["-u0", "x"], "-u: '0' is not a number above 0"),
        (["--output-interval=soon", "x"], "--output-interval: 'soon' is not a whole number of seconds"),
        (["--rich=maybe", "x"], "--rich: 'maybe' is neither yes nor no"),
        (["--view=2", "x"], "--view takes no value"),
    ],
)
def test_what_cannot_be_understood(words, message):
    with pytest.raises(Refused, match=re.escape(message)) as e:
        parse(words)
    assert e.value.status == 2 and "\n" not in str(e.value)


def configured(tmp_path, monkeypatch, text, words=""):
    (tmp_path / "below").mkdir(exist_ok=True)
    (tmp_path / "pyproject.toml").write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path / "below")
    monkeypatch.delenv("LINE_PROFILER_RC", raising=False)
    asked = parse([*words.split(), "x.py"])
    configure(asked)
    return asked


TABLE = "[tool.line_profiler.kernprof]\n"


def test_defaults_of_a_file(tmp_path, monkeypatch):
    text = TABLE + "line-by-line = true\nunit = 1\nprof-mod = 'a'\noutfile = 'o'\n"
    asked = configured(tmp_path, monkeypatch, text, "-o mine")
    assert (asked["line_by_line"], asked["unit"], asked["prof_mod"], asked["outfile"]) == (True, 1.0, ["a"], "mine")
    assert asked["rich"] is False and asked["preimports"] is True
    assert configured(tmp_path, monkeypatch, text, "--no-config")["line_by_line"] is False
    assert configured(tmp_path, monkeypatch, text, f"--config {tmp_path / 'pyproject.toml'}")["line_by_line"] is True
    assert configured(tmp_path, monkeypatch, "[tool.other]\nx = 1\n")["line_by_line"] is False


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (TABLE + "line = true", "unknown key 'line' in [tool.line_profiler.kernprof]"),
        (TABLE + "builtin = 'yes'", "kernprof.builtin: 'yes' is not of type bool"),
        (TABLE + "unit = -1.0", "kernprof.unit: -1.0 is not a number above 0"),
        (TABLE + "unit = \nrich = true", "cannot be read as TOML: Invalid value (at line 2, column 8)"),
    ],
)
def test_a_file_that_cannot_be_read(tmp_path, monkeypatch, text, message):
    with pytest.raises(Refused, match=re.escape(message)) as e:
        configured(tmp_path, monkeypatch, text)
    assert str(tmp_path / "pyproject.toml") in str(e.value)


def test_a_configuration_that_is_not_there(tmp_path):
    with pytest.raises(Refused, match="--config /nonexistent.toml: No such file"):
        configure(parse(["--config", "/nonexistent.toml", "x.py"]))


def test_what_is_not_given_has_a_default():
    asked = Asked()
    assert (asked["unit"], asked["quiet"], asked["prof_mod"]) == (1e-6, None, [])


# ---- -p ----


@pytest.fixture
def project(tmp_path):
    (tmp_path / "script.py").write_text(SCRIPT, encoding="utf-8")
    (tmp_path / "shapes").mkdir()
    (tmp_path / "shapes/__init__.py").write_text("class Square:\n def area(self): pass\ndef unit(): pass\n", encoding="utf-8")
    (tmp_path / "shapes/round.py").write_text("def pi():\n def more(): pass\n", encoding="utf-8")
    (tmp_path / "broken.py").write_text("def f(:\n", encoding="utf-8")
    return tmp_path


def chosen(project, *given, imports=False, preimports=True):
    return choose(str(project / "script.py"), given, imports, preimports, [str(project), *sys.path])


def taken(targets, *names):
    """The names that match the patterns as the recorder compares them."""
    found = [pattern for pattern in targets.patterns if pattern.startswith("re:")]
    assert found == targets.patterns
    return [name for name in names if any(re.search(pattern[3:], name) for pattern in found)]


def test_functions_of_a_script(project):
    names = ["outer", "outer.<locals>.inner", "C.method", "C.D.deep"]
    assert functions(str(project / "script.py")) == names
    targets = chosen(project, str(project / "script.py"))
    here = [f"__main__:{name}" for name in names]
    others = ["__main__:<module>", "__main__:C", "__main__:C.method.<locals>.<lambda>", "__main__:outers", "x__main__:outer"]
    assert taken(targets, *here, *others) == here and not targets.unknown


def test_modules_classes_and_functions(project):
    square, unit, pi = "shapes:Square.area", "shapes:unit", "shapes.round:pi"
    everything = [square, unit, pi, "shapes.round:pi.<locals>.more", "shapes:<module>", "shapes2:unit", "__main__:outer"]
    for given, expected in (
        ("shapes", [square, unit, pi]),
        ("shapes.__init__", [square, unit]),
        ("shapes.round", [pi]),
        ("shapes.Square", [square]),
        ("shapes.Square.area,shapes.round.pi", [square, pi]),
        (str(project / "shapes/round.py"), [pi]),
    ):
        targets = chosen(project, given)
        assert taken(targets, *everything) == expected, given
        assert not targets.unknown, given


def test_what_is_not_there(project):
    targets = chosen(project, "nothing.at.all,shapes.Triangle", str(project / "broken.py"), "math")
    assert targets.unknown == ["nothing.at.all", "shapes.Triangle", str(project / "broken.py"), "math"]
    assert not targets.patterns
    targets = chosen(project, "shapes.Sqare", "shapes.unti", "shapes.Square.aera")
    assert list(targets.hints.values()) == [f"; did you mean shapes.{name}?" for name in ("Square", "unit", "Square.area")]


def test_imports_of_the_script(project):
    script = str(project / "script.py")
    assert imported(script) == ["os.path", "shapes.Square", "shapes.round"]
    names = ["shapes:Square.area", "shapes.round:pi", "shapes:unit"]
    assert taken(chosen(project, "shapes", imports=True), "__main__:outer") == []
    targets = chosen(project, script, imports=True)
    assert taken(targets, "__main__:outer", *names) == ["__main__:outer", *names[:2]] and not targets.unknown
    assert taken(chosen(project, "shapes,json", preimports=False), *names, "json:dumps") == names


def test_an_empty_target_forgets_the_others(tmp_path):
    odd = tmp_path / "a,b.py"
    odd.write_text("", encoding="utf-8")
    assert split(["x,y", "", "z", "z,w", str(odd)]) == ["z", "w", str(odd)]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("@profile\ndef f(): pass\n", 0),
        ("\ndef profile(f): return f\n", 2),
        ("import profile\n", 1),
        ("from mine import x, other as profile\n", 1),
        ("from line_profiler import profile\n", 0),
        ("profile = profile\n", 1),
        ("try:\n    profile\nexcept NameError:\n    profile = lambda f: f\n", 0),
        ("def f():\n    profile = 1\n", 0),
        ("a, (b, profile) = 1, (2, 3)\n", 1),
    ],
)
def test_a_profile_of_its_own(tmp_path, text, line):
    (tmp_path / "s.py").write_text(text, encoding="utf-8")
    assert own_profile(str(tmp_path / "s.py")) == line
