# SPDX-License-Identifier: BSD-3-Clause
"""Help, version, mistakes in command lines, completion and the man page; and which modules a launcher imports."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from commandline import run
from spartito.options.table import COMMANDS
from terminal import on_terminal

PYTHON = sys.executable


@pytest.mark.parametrize("verb", [v.name for v in COMMANDS])
def test_help_of_each_verb(spartito, verb):
    done = run(spartito, verb, "--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"usage: spartito {verb}")
    assert "examples:" in done.stdout
    assert run(spartito, "help", verb).stdout == done.stdout


def test_overview_and_version(spartito):
    done = run(spartito, "--help")
    assert done.returncode == 0
    assert all(f"\n  {v.name} " in done.stdout for v in COMMANDS)
    assert run(spartito, "--version").stdout.startswith("spartito ")


def test_without_a_word_it_says_how_to_start(spartito):
    done = run(spartito)
    assert (done.returncode, done.stderr) == (0, "")
    assert "spartito script.py" in done.stdout and done.stdout.count("\n") < 30


def test_help_lists_ten_options_and_help_all_each(spartito):
    from spartito.options.table import RUN

    short, whole = run(spartito, "run", "--help").stdout, run(spartito, "run", "--help-all").stdout
    assert sum(option.common for option in RUN.options) == 10
    for option in RUN.own_options:
        line = f"\n  {', '.join(option.flags)}"
        assert line in whole and (line in short) == option.common and option.group
    everything = run(spartito, "--help-all").stdout
    assert all(f"usage: spartito {command.usage}" in everything for command in COMMANDS)


def test_help_of_a_report_lists_its_options_alone(spartito):
    done = run(spartito, "report", "waits", "--help")
    assert done.returncode == 0 and "--limit" in done.stdout and "--csv" not in done.stdout
    assert run(spartito, "help", "report", "waits").stdout == done.stdout


def test_an_option_has_one_meaning():
    """An option takes the same kind of value in every command."""
    kinds = {}
    for command in COMMANDS:
        for option in command.own_options:
            for flag in option.flags:
                kinds.setdefault(flag, set()).add((option.kind, option.metavar if option.kind != "flag" else ""))
    # -o names what the command writes
    assert {flag: found for flag, found in kinds.items() if len(found) > 1 and flag not in ("-o", "--output")} == {}


def test_each_report_has_a_class():
    from spartito.options.reports import REPORTS
    from spartito.options.table import find_command
    from spartito.report import table

    assert [topic.name for topic in REPORTS] == [report.name for report in table.REPORTS]
    known = {option.dest for option in find_command("report").own_options}
    assert set().union(*(topic.options for topic in REPORTS)) == known


@pytest.mark.parametrize("words", [["script.py", "a"], ["./script.py", "a"], ["-m", "script", "a"], ["python", "script.py", "a"],
                                   ["--trace", "script.py", "a"], ["-q", "--", "python", "script.py", "a"]])
def test_run_may_be_left_out(spartito, tmp_path, words):
    (tmp_path / "script.py").write_text("import sys\ndef f(): pass\nf()\nprint(sys.argv[1:])\nsys.exit(7)\n")
    environment = {**os.environ, "PATH": os.path.dirname(PYTHON) + os.pathsep + os.environ["PATH"], "SPARTITO_OUTPUT": "x"}
    done = run(spartito, *words, cwd=tmp_path, env=environment)
    assert (done.returncode, done.stdout) == (7, "['a']\n"), done.stderr
    assert "script:f" in run(spartito, "report", "--limit", "0", "x", cwd=tmp_path).stdout.replace("__main__", "script")


def test_the_newest_experiment_is_taken(spartito, tmp_path):
    (tmp_path / "script.py").write_text("def f(): pass\nf()\n")
    for name in ("b", "a"):
        assert run(spartito, "run", "-q", "-o", name, "script.py", cwd=tmp_path).returncode == 0
    for words in (["report"], ["report", "tree"], ["info"], ["html"], ["convert", "--to", "pstats"]):
        done = run(spartito, *words, cwd=tmp_path)
        assert done.returncode == 0 and "spartito: a, the newest experiment here\n" in done.stderr
    assert (tmp_path / "a.html").exists() and (tmp_path / "a.prof").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["rnu"], "unknown command 'rnu'; did you mean run?"),
        (["nosuch"], "unknown command 'nosuch'; to measure a program of that name: spartito run -- nosuch"),
        (["--vresion"], "unknown option --vresion; did you mean --version?"),
        (["run"], "no command given"),
        (["run", "-q", "--"], "no command given"),
        (["run", "-x", "--", "true"], "unknown option -x"),
        (["report"], "there is no experiment in the current directory: spartito report DIR"),
        (["finalize"], "no experiment given"),
        (["report", "--waits", "a"], "--waits is a word, not an option: spartito report waits [options] DIR"),
        (["report", "a", "b"], "'a' is neither a report nor an experiment; reports: flat, tree, "),
        (["report", "wait", "a"], "'wait' is neither a report nor an experiment; did you mean waits?"),
        (["report", ".", "b"], "one experiment at a time, not also 'b'"),
        (["report", "--sort", "vists", "a"], "--sort: 'vists' is not one of"),
        (["report", "tree", "callers", "--csv", "a"], "--csv is not for the report tree"),
        (["report", "--depth", "3", "a"], "--depth is not for the report flat; it is for tree or trip-count or wall-clock"),
        (["report", "tree", "--threshold", "x", "a"], "--threshold: 'x' is not a number"),
        (["convert", "a"], "no format given"),
        (["convert", "a", "--to", "pstast"], "unknown format 'pstast'; did you mean pstats?"),
        (["completion"], "name one shell"),
        (["completion", "bsh"], "unknown shell 'bsh'; did you mean bash?"),
        (["doctor", "x"], "'x' is no process id"),
    ],
)
def test_mistakes(spartito, tmp_path, words, message):
    done = run(spartito, *words, cwd=tmp_path)
    assert done.returncode == 2
    assert message in done.stderr and done.stderr.count("\n") == 1
    assert done.stdout == ""


def test_flags_in_one_word():
    from spartito.options.table import find_command, parse

    assert parse(find_command("run"), ["-qox", "a", "-q"]) == ({"quiet": True, "output": "x"}, ["a", "-q"])
    assert parse(find_command("run"), ["-qo", "x", "--", "--a"]) == ({"quiet": True, "output": "x"}, ["--a"])
    for words in (["-m", "pytest", "-q"], ["-c", "pass"], ["-mpytest"]):
        assert parse(find_command("run"), ["-q", *words]) == ({"quiet": True}, words)
    assert parse(find_command("convert"), ["d", "--to=a", "-o", "p"]) == ({"to": "a", "output": "p"}, ["d"])


COMPLETIONS = [
    (["spartito", "rep"], "report"),
    (["spartito", "--v"], "--version"),
    (["spartito", "run", "--when-full", "st"], "stop"),
    (["spartito", "run", "--on"], "--only-mine"),
    (["spartito", "convert", "dir", "--to", "pst"], "pstats"),
    (["spartito", "report", "--sort", "vis"], "visits"),
    (["spartito", "report", "critical"], "critical-path"),
    (["spartito", "report", "exp"], "experiment"),
    (["spartito", "completion", "z"], "zsh"),
    (["spartito", "run", "--", "python", "scr"], "script.py"),
]
FUNCTION = f'spartito() {{ "{PYTHON}" -m spartito "$@"; }}'
IN_BASH = """
{function}
eval "$(spartito completion bash)"
COMP_WORDS=({words}) COMP_CWORD={n}
compopt() {{ :; }}
_spartito
printf '%s\\n' "${{COMPREPLY[@]}}"
"""
IN_FISH = """
function spartito; "{python}" -m spartito $argv; end
spartito completion fish | source
complete -C "$argv[1]"
"""


@pytest.fixture
def completing(tmp_path):
    """A directory with an experiment and a script to complete."""
    for shell in ("bash", "zsh", "fish"):
        assert shutil.which(shell), f"the tests need {shell}; tools/system.sh test installs it"
    (tmp_path / "experiment").mkdir()
    (tmp_path / "script.py").write_text("")
    return tmp_path


@pytest.mark.parametrize(("words", "found"), COMPLETIONS)
def test_completion_in_bash(completing, words, found):
    text = IN_BASH.format(function=FUNCTION, words=" ".join(f"'{w}'" for w in words), n=len(words) - 1)
    done = subprocess.run(["bash", "-c", text], cwd=completing, capture_output=True, text=True)
    assert (done.stderr, done.stdout.split()) == ("", [found])


@pytest.mark.parametrize(("words", "found"), COMPLETIONS)
def test_completion_in_fish(completing, words, found):
    command = ["fish", "--no-config", "-c", IN_FISH.format(python=PYTHON), " ".join(words)]
    environment = {**os.environ, "HOME": str(completing)}
    done = subprocess.run(command, cwd=completing, capture_output=True, text=True, env=environment)
    assert done.stderr == ""
    assert [line.split("\t")[0].rstrip("/") for line in done.stdout.splitlines()] == [found]


def test_completion_in_zsh(completing):
    """zsh completes only in an interactive shell: the test types Tab on a terminal."""
    environment = {**os.environ, "TERM": "dumb", "HOME": str(completing)}
    with on_terminal(["zsh", "-f", "-i"], cwd=completing, env=environment) as (_, terminal):
        terminal.type(b"PS1=; autoload -U compinit; compinit -u -D; " + FUNCTION.encode() + b"\n")
        terminal.type(b'eval "$(spartito completion zsh)"; print rea""dy\n')
        terminal.until(b"ready")
        for words, found in COMPLETIONS:
            # ^A moves to the begin, ^E to the end: the completed line becomes an argument of print
            terminal.type(b"\x15" + " ".join(words).encode() + b"\t\x01print -r -- '<\x05>' ''\n")
            line = terminal.until(b"> \r\n").replace(b"\r", b"").rsplit(b"\n<", 1)[1]
            assert line.split(b">")[0].decode().split() == [*words[:-1], found]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts_are_valid(spartito, completing, shell):
    done = run(spartito, "completion", shell)
    assert done.returncode == 0 and all(v.name in done.stdout for v in COMMANDS)
    (completing / "script").write_text(done.stdout)
    assert subprocess.run([shell, "-n", completing / "script"]).returncode == 0


def test_man_page(root, tmp_path):
    done = subprocess.run([PYTHON, root / "python/generate.py", "man", "1.2"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert all(f".SS spartito {v.name}\n" in done.stdout for v in COMMANDS)
    assert shutil.which("groff"), "the tests need groff; tools/system.sh test installs it"
    (tmp_path / "spartito.1").write_text(done.stdout)
    shown = subprocess.run(["groff", "-man", "-Tutf8", "-ww", tmp_path / "spartito.1"], capture_output=True, text=True)
    assert shown.stderr == ""
    assert "Start" in shown.stdout


HEAVY = [
    "re",
    "argparse",
    "json",
    "subprocess",
    "typing",
    "pathlib",
    "rich",
    "importlib.metadata",
    "signal",
    "shutil",
    "tempfile",
    "logging",
    "textwrap",
    "difflib",
    "inspect",
    "ctypes",
    "socket",
]


@pytest.mark.parametrize("quiet", [["-q"], []], ids=["quiet", "with the summary"])
def test_nothing_heavy_is_imported_for_a_run(tmp_path, quiet):
    """Neither before the program starts nor after it has ended, if there is nothing to say about it."""
    code = "import sys; from spartito.cli.main import main; "
    code += f"main(['run', *{quiet}, '-o', 'x', '--', sys.executable, '-c', '1']); print(' '.join(sorted(sys.modules)))"
    done = subprocess.run([PYTHON, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert ("__main__:<module>" in done.stderr) == (not quiet)
    plain = subprocess.run([PYTHON, "-c", "import sys; print(' '.join(sorted(sys.modules)))"], capture_output=True, text=True)
    imported = set(done.stdout.split()) - set(plain.stdout.split())
    assert not imported & set(HEAVY)


@pytest.mark.parametrize(("page", "word"), [("commands.md", "markdown"), ("configuration.md", "settings")])
def test_generated_pages_are_those_of_the_tables(page, word):
    root = Path(__file__).resolve().parents[3]
    made = subprocess.run([PYTHON, root / "python" / "generate.py", word], check=True, stdout=subprocess.PIPE, text=True)
    assert (root / "docs" / page).read_text() == made.stdout, "run `make docs`"
