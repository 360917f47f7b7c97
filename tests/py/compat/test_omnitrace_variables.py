# SPDX-License-Identifier: BSD-3-Clause
"""The variables OMNITRACE_* and configuration files: how they are read, their effects, and error messages."""

import json
import re
import sys

import pytest
from omnitrace_helpers import COUNTS, outputs, program, rows, run
from spartito.base.messages import Refused
from spartito.compat.omnitrace.configfile import read
from spartito.compat.omnitrace.variables import Variables

FIB = "def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)\nfib(3)\n"


def pairs(path, text):
    path.write_text(text)
    return [(entry.name, entry.text) for entry in read(str(path))]


def test_lines_of_a_configuration_file(tmp_path, monkeypatch):
    monkeypatch.setenv("PLACE", "/tmp/x")
    text = """\
# a comment
$ON = true

OMNITRACE_PROFILE = $ON   # why
  omnitrace_trace=off
COUT_OUTPUT = ${ON}
OMNITRACE_OUTPUT_PATH = $env:PLACE/out-%tag%
OMNITRACE_TIMEMORY_COMPONENTS = trip_count, wall_clock
OMNITRACE_OUTPUT_PREFIX =
"""
    assert pairs(tmp_path / "a.cfg", text) == [
        ("OMNITRACE_PROFILE", "true"),
        ("OMNITRACE_TRACE", "off"),
        ("OMNITRACE_COUT_OUTPUT", "true"),
        ("OMNITRACE_OUTPUT_PATH", "/tmp/x/out-%tag%"),
        ("OMNITRACE_TIMEMORY_COMPONENTS", "trip_count, wall_clock"),
        ("OMNITRACE_OUTPUT_PREFIX", ""),
    ]


def test_json(tmp_path):
    plain = {"OMNITRACE_PROFILE": True, "MAX_DEPTH": 3, "OMNITRACE_TIMEMORY_COMPONENTS": ["trip_count", "wall_clock"]}
    found = [("OMNITRACE_PROFILE", "true"), ("OMNITRACE_MAX_DEPTH", "3"),
             ("OMNITRACE_TIMEMORY_COMPONENTS", "trip_count wall_clock")]  # fmt: skip
    assert pairs(tmp_path / "a.json", json.dumps(plain)) == found
    dumped = {"omnitrace": {"settings": {name: {"value": value, "description": "…"} for name, value in plain.items()}}}
    assert pairs(tmp_path / "b.json", json.dumps(dumped, indent=2)) == found


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("# x\n\nOMNITRACE_PROFILE on\n", 3, "'OMNITRACE_PROFILE on' is not of the form NAME = VALUE"),
        ("OMNITRACE_PROFILE = on\nOMNITRACE_TRACE = $OFF\n", 2, "the variable $OFF has no value here"),
        ("OMNITRACE_TRACE = $\n", 1, "no name follows the $"),
        ("a b = c\n", 1, "'a b' is no name of a variable"),
        ("OMNITRACE_PROFILE = on\n\nOMNITRACE_COUT_OUTPUT = perhaps\n", 3, "OMNITRACE_COUT_OUTPUT: 'perhaps' is neither true"),
        ("A = b\n\0\n", 2, "a NUL character"),
        ("A = b\n# \udcff\n", 2, "byte 3 is not UTF-8"),
        ('{\n  "OMNITRACE_PROFILE": true,\n}\n', 2 if sys.version_info >= (3, 13) else 3, ""),  # the comma, or what follows it
        ('{\n  "A": 1,\n  "OMNITRACE_MAX_DEPTH": "deep"\n}\n', 3, "OMNITRACE_MAX_DEPTH: 'deep' is not a whole number"),
        ('{\n  "OMNITRACE_PROFILE": null\n}\n', 2, "the value of 'OMNITRACE_PROFILE' is neither text"),
        ("<?xml version='1.0'?>\n", 1, "XML is not read here"),
    ],
)
def test_unreadable_configuration_files_are_named_with_the_line(tmp_path, text, line, message):
    program(tmp_path, "print('ran')")
    (tmp_path / "my.cfg").write_bytes(text.encode("utf-8", "surrogateescape"))
    done = run(tmp_path, "-c", "my.cfg", "--", "program.py")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(f"omnitrace: configuration file my.cfg, line {line}: "), done.stderr
    assert message in done.stderr and done.stderr.count("\n") == 1
    assert not outputs(tmp_path)


def test_a_configuration_file_that_is_not_there(tmp_path):
    program(tmp_path, "print('ran')")
    done = run(tmp_path, "-c", "no.cfg", "--", "program.py")
    assert (done.returncode, done.stderr) == (1, "omnitrace: configuration file no.cfg: No such file or directory\n")


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("PROFILE", "perhaps", "is neither true"),
        ("MAX_DEPTH", "-1", "is not a whole number"),
        ("PRECISION", "40", "is more than 18 digits"),
        ("TIMING_UNITS", "lightyears", "is no unit of time"),
        ("SAMPLING_FREQ", "fast", "is not a number"),
        ("OUTPUT_PATH", "a-%what%", "%what% in 'a-%what%' is not one of %tag%"),
        ("TIME_FORMAT", "../%F", "names no directory"),
    ],
)
def test_values_that_cannot_be_read(tmp_path, name, value, message):
    program(tmp_path, "print('ran')")
    done = run(tmp_path, "program.py", env={"OMNITRACE_" + name: value})
    assert (done.returncode, done.stdout) == (1, "") and done.stderr.count("\n") == 1
    assert done.stderr.startswith(f"omnitrace: OMNITRACE_{name}: ") and message in done.stderr
    assert not outputs(tmp_path)


def test_profile_and_trace_are_each_others_opposite():
    def of(**words):
        found = Variables({"OMNITRACE_" + name: value for name, value in words.items()})
        return found.profiled, found.traced

    assert of() == (False, True)
    assert of(PROFILE="ON") == (True, False)
    assert of(PROFILE="off") == (False, True)
    assert of(TRACE="1") == (False, True)
    assert of(TRACE="no") == (True, False)
    assert of(PROFILE="yes", TRACE="t") == (True, True)
    assert of(PROFILE="n", TRACE="f") == (False, False)


def test_the_environment_is_stronger_than_files_and_the_option_than_the_variable(tmp_path):
    for name, depth in (("a.cfg", 1), ("b.cfg", 2)):
        (tmp_path / name).write_text(f"OMNITRACE_MAX_DEPTH = {depth}\nOMNITRACE_MAX_WIDTH = {depth}\n")
    (tmp_path / ".omnitrace.cfg").write_text("OMNITRACE_PRECISION = 3\nOMNITRACE_MAX_DEPTH = 9\n")
    env = {"OMNITRACE_CONFIG_FILE": str(tmp_path / "a.cfg"), "OMNITRACE_MAX_WIDTH": "7", "HOME": str(tmp_path)}
    values = Variables(env, str(tmp_path / "b.cfg")).values
    assert (values["MAX_DEPTH"], values["MAX_WIDTH"], values["PRECISION"]) == ("2", "7", "3")
    with pytest.raises(Refused, match="b.cfg: .*No such file"):
        Variables({}, str(tmp_path / "none/b.cfg"))


def notes(**words):
    return Variables({"OMNITRACE_" + name: value for name, value in words.items()}).notes


def test_each_setting_without_effect_is_reported_in_one_line():
    (line,) = notes(USE_SAMPLING="on", SAMPLING_FREQ="100")
    assert line.startswith("OMNITRACE_USE_SAMPLING: nothing is sampled here")
    (line,) = notes(SAMPLING_FREQ="100")
    assert line.startswith("OMNITRACE_SAMPLING_FREQ has no effect here")
    (line,) = notes(TIMEMORY_COMPONENTS="wall_clock peak_rss")
    assert line.startswith("OMNITRACE_TIMEMORY_COMPONENTS: there is no peak_rss here")
    (line,) = notes(USE_ROCTRACER="true")
    assert line == "OMNITRACE_USE_ROCTRACER has no effect here"
    (line,) = notes(MEMORY_UNITS="MB")
    assert line.startswith("OMNITRACE_MEMORY_UNITS has no effect here")
    (line,) = notes(PROFIL="on")
    assert line == "OMNITRACE_PROFIL is no variable of Omnitrace and has no effect; did you mean OMNITRACE_PROFILE?"
    # settings that are off have no effect
    assert notes(USE_ROCTRACER="OFF", USE_SAMPLING="0") == []


def test_notes_come_before_the_program(tmp_path):
    program(tmp_path, FIB)
    done = run(tmp_path, "program.py", env={"OMNITRACE_USE_SAMPLING": "1"})
    assert done.returncode == 0
    assert done.stderr.splitlines()[0].startswith("omnitrace: OMNITRACE_USE_SAMPLING: nothing is sampled")


def test_output_directory_and_names(tmp_path):
    program(tmp_path, FIB)
    assert run(tmp_path, "program.py").returncode == 0
    (out,) = outputs(tmp_path)
    assert re.fullmatch(r"omnitrace-program-output/\d{4}-\d\d-\d\d_\d\d\.\d\d", str(out.relative_to(tmp_path)))
    assert {p.name for p in out.iterdir()} == {"trip_count.txt", "trip_count.json", "metadata.json", "spartito"}
    metadata = json.loads((out / "metadata.json").read_text())["omnitrace"]["metadata"]
    assert metadata["settings"]["OMNITRACE_TIMEMORY_COMPONENTS"] == "trip_count"
    assert metadata["command_line"][-1] == "program.py" and metadata["experiment"] == "spartito"
    assert sorted(metadata["output"]) == ["metadata.json", "trip_count.json", "trip_count.txt"]
    assert json.loads((out / "trip_count.json").read_text())["timemory"]


def test_names_as_variables_have_them(tmp_path):
    program(tmp_path, FIB)
    env = {"OMNITRACE_OUTPUT_PATH": "all/%tag%", "OMNITRACE_TIME_OUTPUT": "off", "OMNITRACE_OUTPUT_PREFIX": "my-",
           "OMNITRACE_USE_PID": "on", "OMNITRACE_JSON_OUTPUT": "no"}  # fmt: skip
    assert run(tmp_path, "program.py", env=env).returncode == 0
    (out,) = outputs(tmp_path)
    assert out == tmp_path / "all/program"
    names = {re.sub(r"\d+", "N", p.name) for p in out.iterdir()}
    assert names == {"my-trip_count-N.txt", "my-metadata-N.json", "spartito"}
    # in a second run the experiment is kept, and the results are replaced
    env["OMNITRACE_USE_PID"] = "off"
    for _ in range(2):
        assert run(tmp_path, "program.py", env=env).returncode == 0
    assert {"my-trip_count.txt", "my-metadata.json", "spartito", "spartito-2", "spartito-3"} < {p.name for p in out.iterdir()}


def test_each_run_of_a_minute_has_a_directory(tmp_path):
    program(tmp_path, FIB)
    for _ in range(3):
        assert run(tmp_path, "program.py", env={"OMNITRACE_TIME_FORMAT": "day"}).returncode == 0
    above = tmp_path / "omnitrace-program-output"
    assert sorted(p.name for p in above.iterdir()) == ["day", "day-2", "day-3"]


def test_tables_on_standard_output(tmp_path):
    program(tmp_path, FIB + "print('mine')\n")
    done = run(tmp_path, "program.py", env={"OMNITRACE_COUT_OUTPUT": "on", "OMNITRACE_TEXT_OUTPUT": "off"})
    assert done.stdout.startswith("mine\n|---") and "COUNTS NUMBER OF INVOCATIONS" in done.stdout
    assert not list(tmp_path.rglob("trip_count.txt")) and list(tmp_path.rglob("trip_count.json"))


def table(path, **words):
    program(path, FIB)
    done = run(path, "program.py", env={"OMNITRACE_" + name: value for name, value in words.items()})
    assert done.returncode == 0, done.stderr
    return done


def test_rows_as_variables_have_them(tmp_path):
    for name, words, found in (
        ("plain", {}, [("fib", 1, 0), ("|_fib", 2, 1), ("  |_fib", 2, 2)]),
        ("depth", {"MAX_DEPTH": "1"}, [("fib", 1, 0), ("|_fib", 2, 1)]),
        ("flat", {"FLAT_PROFILE": "on"}, [("fib", 5, 0)]),
        ("line", {"TIMELINE_PROFILE": "on"}, 5),
    ):
        (tmp_path / name).mkdir()
        table(tmp_path / name, **words)
        got = rows(tmp_path / name)
        assert got == found or len(got) == found, got


def test_times_as_variables_have_them(tmp_path):
    table(tmp_path, TIMEMORY_COMPONENTS="wall_clock;trip_count", TIMING_UNITS="us", PRECISION="2")
    text = next(tmp_path.rglob("wall_clock.txt")).read_text()
    assert "| usec " in text and re.search(r"\| +\d+\.\d\d \|", text) and "% SELF" in text
    assert list(tmp_path.rglob("trip_count.txt"))


def test_disabled_programs_run_as_if_nothing_was(tmp_path):
    program(tmp_path, "import os, sys\nprint(os.environ.get('SPARTITO_EXPERIMENT', ''))\nsys.exit(3)\n")
    for env in ({"OMNITRACE_ENABLED": "off"}, {"OMNITRACE_PROFILE": "off", "OMNITRACE_TRACE": "off"}):
        done = run(tmp_path, "program.py", env=env)
        assert (done.returncode, done.stdout, done.stderr) == (3, "\n", "")
    assert [p.name for p in tmp_path.iterdir()] == ["program.py"]


def test_a_variable_set_to_nothing_counts_as_not_set(tmp_path):
    assert Variables({"OMNITRACE_PROFILE": "", "OMNITRACE_MAX_DEPTH": ""}).values == Variables({}).values
    assert Variables(COUNTS).components == ["trip_count"]


def test_the_trace_for_perfetto(tmp_path):
    code = """\
        import os, omnitrace
        def work(): pass
        with omnitrace.user.region("mine"): work()
        print(os.getpid())
    """
    program(tmp_path, code)
    for env, name in (({}, "perfetto-trace-{}.proto"), ({"OMNITRACE_USE_PID": "no"}, "perfetto-trace.proto"),
                      ({"OMNITRACE_PERFETTO_FILE": "%tag%.%pid%.pf"}, "program.{}.pf")):  # fmt: skip
        done = run(tmp_path, "program.py", env={"OMNITRACE_PROFILE": "", "OMNITRACE_TIME_FORMAT": "out", **env})
        assert done.returncode == 0, done.stderr
        out = outputs(tmp_path)[-1]
        files = {p.name for p in out.iterdir()}
        data = (out / name.format(done.stdout.strip())).read_bytes()
        assert b"work" in data and b"mine" in data and b"python" in data and b"user" in data
        assert b"__main__:work" not in data and not [n for n in files if n.endswith(".txt")]
    both = {"OMNITRACE_TRACE": "on", "OMNITRACE_OUTPUT_PATH": "both"}
    assert run(tmp_path, "program.py", env=both).returncode == 0
    names = {re.sub(r"\d+", "N", p.name) for p in outputs(tmp_path / "both")[0].iterdir()}
    assert names == {"trip_count.txt", "trip_count.json", "perfetto-trace-N.proto", "metadata.json", "spartito"}


def test_annotations_without_a_trace(tmp_path):
    program(tmp_path, FIB)
    done = run(tmp_path, "-a", "--", "program.py")
    assert (done.returncode, done.stderr.splitlines()[0]) == (0, "omnitrace: -a has no effect: OMNITRACE_TRACE is off")
