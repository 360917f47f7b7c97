# SPDX-License-Identifier: BSD-3-Clause
"""Options, variables and pyproject.toml; `spartito config`."""

import os
import subprocess
import sys

import pytest
from commandline import run


def config(spartito, tmp_path, *words, **variables):
    done = run(spartito, "config", *words, cwd=tmp_path, env={**os.environ, **variables})
    assert done.returncode == 0, done.stderr
    rows = {}
    for line in done.stdout.splitlines()[1:]:
        cells = [c for c in line.split("  ") if c]
        rows[cells[0].strip()] = (cells[1].strip(), cells[2].strip())
    return rows, done.stderr


def test_defaults(spartito, tmp_path):
    rows, message = config(spartito, tmp_path)
    assert message == ""
    assert rows["trace_memory"] == ("512M", "default") and rows["trace"] == ("off", "default")
    assert rows["when_full"] == ("flush", "default") and rows["hook"] == ("auto", "default")


def test_order_of_sources(spartito, tmp_path):
    (tmp_path / "pyproject.toml").write_text(
        '[tool.spartito]\ntrace = true\ntrace-memory = "1G"\ndepth = 7\nonly-mine = true\nfilter = ["-numpy", "+numpy.fft"]\n'
    )
    below = tmp_path / "a" / "b"
    below.mkdir(parents=True)
    rows, _ = config(spartito, below, "--trace-memory", "64M", SPARTITO_TRACE_MEMORY="2G", SPARTITO_DEPTH="9")
    assert rows["trace_memory"] == (str(64 << 20), "command line")
    assert rows["depth"] == ("9", "SPARTITO_DEPTH")
    assert rows["trace"] == ("on", f"{tmp_path}/pyproject.toml: tool.spartito.trace")
    assert rows["filter"][0] == "-numpy +numpy.fft"


@pytest.mark.parametrize(
    "text",
    ["[ tool . spartito ]\ndepth = 7", "[tool]\nspartito.depth = 7", "tool . 'spartito' . depth = 7",
     "tool = { spartito = { depth = 7 } }", '["tool"."spartito"]\ndepth = 7', "[tool]\nother = 1\n[tool.spartito]\ndepth = 7"],
)  # fmt: skip
def test_spellings_of_the_table(spartito, tmp_path, text):
    (tmp_path / "pyproject.toml").write_text(text + "\n")
    assert config(spartito, tmp_path)[0]["depth"][0] == "7"


def test_switches_have_an_opposite(spartito, tmp_path):
    (tmp_path / "pyproject.toml").write_text("[tool.spartito]\ntrace = true\nsource = false\n")
    rows, _ = config(spartito, tmp_path, "--no-trace", "--source", "--no-gil", SPARTITO_GIL="1")
    assert {rows[name] for name in ("trace", "gil")} == {("off", "command line")} and rows["source"] == ("on", "command line")
    rows, _ = config(spartito, tmp_path, "--no-trace", "--trace")
    assert rows["trace"] == ("on", "command line")
    done = run(spartito, "config", "--no-trace-memory", cwd=tmp_path)
    assert done.returncode == 2 and "unknown option --no-trace-memory" in done.stderr


def test_include_first_means_nothing_else(spartito, tmp_path):
    assert config(spartito, tmp_path, "--include", "a", "--exclude", "a.b")[0]["filter"][0] == "-* +a -a.b"
    assert config(spartito, tmp_path, "--exclude", "a", "--include", "a.b")[0]["filter"][0] == "-a +a.b"
    assert config(spartito, tmp_path, "--include", "a", "--only-mine")[0]["filter"][0] == "+a"


def test_unknown_variable_is_named(spartito, tmp_path):
    _, message = config(spartito, tmp_path, SPARTITO_TRACE_MEMROY="1G")
    assert "SPARTITO_TRACE_MEMROY is not known and not used; did you mean SPARTITO_TRACE_MEMORY?" in message
    assert "SPARTITO_XYZZY is not known and not used\n" in config(spartito, tmp_path, SPARTITO_XYZZY="1")[1]
    assert "SPARTITO_FILTER holds both" in config(spartito, tmp_path, SPARTITO_EXCLUDE="json")[1]


@pytest.mark.parametrize("call", [
    "compat.kernprof.command import main; main(['-q', '-l', 'p.py'])",
    "compat.omnitrace.command import main; main(['p.py'], [])",
])  # fmt: skip
def test_unknown_variable_is_named_by_other_commands(tmp_path, call):
    (tmp_path / "p.py").write_text("pass\n")
    words = [sys.executable, "-c", f"from spartito.{call}"]
    env = {**os.environ, "SPARTITO_TRACE_MEMROY": "1G"}
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, env=env)
    assert done.returncode == 0
    assert done.stderr.count("SPARTITO_TRACE_MEMROY is not known and not used; did you mean SPARTITO_TRACE_MEMORY?") == 1


@pytest.mark.parametrize("verb", ["config", "run"])
@pytest.mark.parametrize(
    ("words", "variables", "project", "message"),
    [
        (["--trace-memory", "12Q"], {}, "", "--trace-memory: '12Q' is not a size"),
        (["--trace-memory", "1K"], {}, "", "--trace-memory: '1K' is no size between 256K and 909494T"),
        (["--limit-rss", "909495T"], {}, "", "--limit-rss: '909495T' is no size between 1 and 909494T"),
        (["--when-full", "halt"], {}, "", "--when-full: 'halt' is not one of flush, stop"),
        (["--depth", "-3"], {}, "", "--depth: '-3' is not a whole number"),
        (["--depth"], {}, "", "--depth needs a value"),
        (["--sample-rate", "often"], {}, "", "--sample-rate: 'often' is no whole number of samples a second from 1 to 1000"),
        (["--exclude", "re:["], {}, "", "--include/--exclude: '[' is no regular expression"),
        (["--exclude", ""], {}, "", "--exclude: the pattern is empty"),
        (["--to", "pstat"], {}, "", "--to: unknown format 'pstat'; did you mean pstats?"),
        (["--hook", "evalfram"], {}, "", "--hook: 'evalfram' is not one of the hooks"),
        (["--trace=1"], {}, "", "--trace takes no value"),
        (["--tarce"], {}, "", "unknown option --tarce; did you mean --trace?"),
        ([], {"SPARTITO_TRACE": "maybe"}, "", "SPARTITO_TRACE: 'maybe' is neither on"),
        ([], {"SPARTITO_FILTER": "numpy"}, "", "SPARTITO_FILTER: 'numpy' does not begin with +"),
        ([], {}, "[tool.spartito]\ntrace_memory = 3.5\n", "pyproject.toml: tool.spartito.trace_memory: 3.5 is neither text"),
        ([], {}, "[tool.spartito]\ntrace_memroy = '1G'\n",
         "unknown key 'trace_memroy' in [tool.spartito]; did you mean trace_memory?"),
        ([], {}, "[tool.spartito]\nexclude = ['json']\n", "unknown key 'exclude' in [tool.spartito]; both are in one list: filter"),
        ([], {}, "[tool.spartito\n", "pyproject.toml: cannot be read as TOML"),
        ([], {}, "[tool]\nspartito = 3\n", "pyproject.toml: tool.spartito is not a table"),
    ],
)  # fmt: skip
def test_bad_values_name_their_place(spartito, tmp_path, verb, words, variables, project, message):
    if project:
        (tmp_path / "pyproject.toml").write_text(project)
    program = ["--", sys.executable, "-c", "print('ran')"] if verb == "run" else []
    done = run(spartito, verb, *words, *program, cwd=tmp_path, env={**os.environ, **variables})
    if words == ["--depth"] and verb == "run":
        message = "--depth: '--' is not a whole number"
    assert done.returncode == 2
    assert message in done.stderr and done.stderr.count("\n") == 1
    assert done.stdout == ""


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--sample-rate", "500"], "--sample-rate is for samples, and there are none: give --sample as well"),
        (["--memory-profile", "--memory-sample", "64K"], "--memory-profile records every block, --memory-sample samples them"),
    ],
)
def test_an_option_without_effect_is_refused(spartito, tmp_path, words, message):
    done = run(spartito, "run", *words, "--", sys.executable, "-c", "print('ran')", cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1) and message in done.stderr


@pytest.mark.parametrize(
    ("text", "size"),
    [("65536K", 64 << 20), ("1.5G", 3 << 29), ("4MiB", 4 << 20), ("4mb", 4 << 20), ("300000", 300000), ("909494T", 909494 << 40)],
)
def test_sizes(text, size):
    from spartito.options.settings import SETTINGS, normal

    (memory,) = [s for s in SETTINGS if s.name == "trace_memory"]
    assert normal(memory, text) == str(size)


def test_settings_reach_the_program(spartito, tmp_path):
    code = "import os; print(*sorted(f'{k}={v}' for k, v in os.environ.items() if 'SPARTITO_' in k and 'EXP' not in k))"
    words = [
        "--trace",
        "--trace-memory",
        "4M",
        "--depth",
        "50",
        "--exclude",
        "json",
        "--when-full",
        "stop",
        "--only-mine",
        "--c-calls",
    ]
    done = run(spartito, "run", "-q", *words, "--", sys.executable, "-c", code, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.split() == [
        "SPARTITO_C_CALLS=1",
        "SPARTITO_DEPTH=50",
        "SPARTITO_FILTER=-json",
        "SPARTITO_ONLY_MINE=1",
        "SPARTITO_TRACE=1",
        "SPARTITO_TRACE_MEMORY=4194304",
        "SPARTITO_WHEN_FULL=stop",
    ]
