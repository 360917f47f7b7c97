# SPDX-License-Identifier: BSD-3-Clause
"""The command line of `python -m omnitrace`: how it is parsed, and its error messages."""

import subprocess
import sys

import pytest
from omnitrace_helpers import environment, outputs, program, run
from spartito.base.messages import Refused
from spartito.compat.omnitrace.options import parse


@pytest.fixture(autouse=True)
def script(tmp_path, monkeypatch):
    program(tmp_path, "import sys\nprint(sys.argv)\n", "s.py")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", "/nowhere")


def test_without_options_the_first_word_is_the_script():
    assert parse(["s.py", "-b", "--", "x"]).command == ["s.py", "-b", "--", "x"]


def test_options_end_at_the_first_dashes():
    asked = parse(["-b", "--", "s.py", "--", "-v", "1"])
    assert asked.builtin and asked.command == ["s.py", "--", "-v", "1"] and asked.verbosity is None
    assert parse(["--", "-m", "pkg", "x"]).command == ["-m", "pkg", "x"]
    assert parse(["--", "-c", "pass"]).command == ["-c", "pass"]


def test_every_option_short_and_long():
    words = "-v 2 -b -c my.cfg -s s.py -F -I a -E b c -R d -MI e -ME f g -MR h --trace-c --label args line -a -- s.py x"
    longs = (
        "--verbosity=2 --builtin --config=my.cfg --setup=s.py --full-filepath=yes --function-include a --function-exclude b c "
        "--function-restrict=d --module-include e --module-exclude f g --module-restrict h --trace-c true --label args line "
        "--annotate-trace on -- s.py x"
    )
    for line in (words, longs):
        asked = parse(line.split())
        config = asked.config
        assert (asked.verbosity, asked.builtin, asked.file, asked.command) == (2, True, "my.cfg", ["s.py", "x"])
        assert asked.setup.endswith("/s.py") and asked.setup.startswith("/")
        assert config.full_filepath and config.trace_c and config.annotate_trace
        assert (config.include_args, config.include_filename, config.include_line) == (True, False, True)
        assert config.include_functions == ["a"] and config.restrict_functions == ["d"]
        assert config.exclude_functions == ["^<.*>$", "b", "c"]
        assert config.include_modules == ["e"] and config.restrict_modules == ["h"]
        assert config.exclude_modules == [r"(encoder|decoder|threading)\.py$", "^<.*>$", "f", "g"]


@pytest.mark.parametrize("word", ["yes", "true", "t", "y", "on", "1", "TRUE", "On"])
def test_spellings_of_true(word):
    assert parse(["--trace-c", word, "--", "s.py"]).config.trace_c
    assert parse([f"-F{word}", "--", "s.py"]).config.full_filepath


@pytest.mark.parametrize("word", ["no", "false", "f", "n", "off", "0", "FALSE", "Off"])
def test_spellings_of_false(word):
    assert not parse(["--trace-c", "--trace-c", word, "--", "s.py"]).config.trace_c
    assert not parse([f"--annotate-trace={word}", "--", "s.py"]).config.annotate_trace


def test_words_that_hang_together():
    asked = parse(["-bv-1", "--label", "--", "s.py"])
    assert asked.builtin and asked.verbosity == -1 and not asked.config.include_args
    assert parse(["-v", "-2", "--", "s.py"]).verbosity == -2
    # an option's name may be abbreviated where it is unique
    assert parse(["--trace", "--", "s.py"]).config.trace_c


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("-b s.py", "options end at `--`, which is missing"),
        ("", "there is no script to run"),
        ("--", "there is no script to run"),
        ("-b --", "there is no script to run"),
        ("nothing.py", "there is no script 'nothing.py'"),
        ("-b -- nothing.py", "there is no script 'nothing.py'"),
        ("-b s.py -- s.py", "'s.py' is no option; the script stands behind `--`"),
        ("--labels args -- s.py", "unknown option --labels; did you mean --label?"),
        ("-Q -- s.py", "unknown option -Q"),
        ("--label args files -- s.py", "--label: 'files' is not one of args, file, line; did you mean file?"),
        ("-F maybe -- s.py", "--full-filepath: 'maybe' is neither true"),
        ("-v much -- s.py", "--verbosity: 'much' is not a whole number"),
        ("-v -- s.py", "--verbosity needs a value"),
        ("-I -- s.py", "--function-include needs a value: a regular expression"),
        ("-E ab(c -- s.py", "--function-exclude: 'ab(c' is no regular expression: missing ), unterminated subpattern at position"),
        ("-MR a[ -- s.py", "--module-restrict: 'a[' is no regular expression"),
        ("-s nowhere.py -- s.py", "--setup: 'nowhere.py' is not a file"),
        ("--builtin=yes -- s.py", "--builtin takes no value"),
        ("--function -- s.py", "--function may mean"),
    ],
)
def test_what_is_refused(words, message):
    with pytest.raises(Refused, match=".") as e:
        parse(words.split())
    assert message in str(e.value) and "\n" not in str(e.value) and e.value.status == 2


def test_refused_in_one_line_and_nothing_is_made(tmp_path):
    done = run(tmp_path, "-b", "s.py")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("omnitrace: options end at `--`") and done.stderr.count("\n") == 1
    assert not outputs(tmp_path)


def test_help_names_every_option(tmp_path):
    from spartito.compat.omnitrace.options import OPTIONS

    done = run(tmp_path, "--help")
    assert done.returncode == 0 and done.stderr == ""
    for name, (short, _) in OPTIONS.items():
        assert name in done.stdout and short in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 120


def test_scripts_are_found_in_path(tmp_path, monkeypatch):
    from spartito.compat.omnitrace.options import find_script

    (tmp_path / "bin").mkdir()
    program(tmp_path / "bin", "", "tool")
    monkeypatch.setenv("PATH", f"/nowhere:{tmp_path}/bin")
    assert find_script("tool") == f"{tmp_path}/bin/tool" and find_script("none") == "none"


def test_nobody_needs_more_than_the_interpreter(tmp_path):
    """The launcher imports few modules, as its start-up time adds to each measured program."""
    code = "import sys; import spartito.compat.omnitrace.command; print(sorted(m for m in sys.modules if m in HEAVY))"
    heavy = "HEAVY = 'typing re json argparse subprocess inspect rich'.split();"
    done = subprocess.run([sys.executable, "-S", "-c", heavy + "sys = __import__('sys'); sys.path[:0] = " + repr(sys.path) + ";"
                           + code], capture_output=True, text=True, env=environment())  # fmt: skip
    assert done.stdout.strip() == "[]", done.stdout + done.stderr
