# SPDX-License-Identifier: BSD-3-Clause
"""The documentation is correct: commands in pages print what the pages show, and Spartito accepts each command line in a code
block."""

import re
import shlex
import subprocess
import sys

import pytest
from conftest import ROOT
from spartito.options import table

TOOL = ROOT / "tools" / "doc_commands.py"
PAGES = sorted(path for path in [ROOT / "README.md", *ROOT.glob("docs/**/*.md")] if path.name != "commands.md")
EXECUTED = [page for page in PAGES if "\n```console" in page.read_text()]
FENCES = re.compile(r"^```.*?^```$", re.M | re.S)


def name(page):
    return str(page.relative_to(ROOT))


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("page", EXECUTED, ids=name)
def test_commands_print_what_the_page_shows(page):
    """On a busy machine times change some words of the output, so one of three runs must agree. An outdated page never agrees."""
    for _ in range(3):
        done = subprocess.run([sys.executable, TOOL, page], capture_output=True, text=True)
        if done.returncode == 0:
            return
    pytest.fail(done.stdout + done.stderr)


def command_lines(page):
    """The words of each Spartito command in a page's indented blocks and shell blocks."""
    text = page.read_text()
    shell = [block for block in FENCES.findall(text) if block.startswith(("```sh\n", "```bash\n", "```console"))]
    lines = [line for block in shell for line in block.splitlines()]
    lines += [line for line in FENCES.sub("", text).splitlines() if line.startswith("    ")]
    for line in "\n".join(lines).replace("\\\n", " ").splitlines():
        found = re.match(r"\s*(?:\$ )?(?:[A-Z_]+=\S* |mpiexec [^|]*?|srun [^|]*?)*(spartito .*)", line)
        if found:
            try:
                yield shlex.split(found[1], comments=True)
            except ValueError:  # prose with an apostrophe
                continue


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_options_of_command_lines_exist(page):
    known = {command.name: command for command in table.COMMANDS}
    for words in command_lines(page):
        command = known.get(words[1]) if len(words) > 1 else None
        if command is None:
            continue
        flags = {flag for option in command.options for flag in [*option.flags, *([option.opposite] if option.switch else [])]}
        for word in words[2:]:
            if word in ("--", "|", "&&", ";") or word.startswith(("#", ">")):
                break
            if word.startswith("--"):
                assert word.split("=")[0] in {*flags, "--help", "--help-all"}, f"{shlex.join(words)}: no option {word}"
            elif command.foreign and not word.startswith("-"):
                break  # the target program, or the compiler, and its arguments


def test_the_page_of_the_api_is_that_of_the_docstrings():
    command = [sys.executable, ROOT / "tools" / "api_page.py"]
    made = subprocess.run(command, cwd=ROOT / "docs", check=True, stdout=subprocess.PIPE, text=True)
    assert (ROOT / "docs" / "api.md").read_text() == made.stdout, "run `make docs`"


def test_the_tool_finds_what_is_not_true(tmp_path):
    page = tmp_path / "page.md"
    good = "# Page\n\n```console\n$ echo one 1.25 ms; echo two\none 3 s\n…\n```\n\n```console status=3\n$ exit 3\n```\n"
    wrong = [("one 3", "other 3"), ("status=3", "status=2"), ("; echo two", "; false")]
    for text in (good, *(good.replace(*change) for change in wrong)):
        page.write_text(text)
        assert subprocess.run([sys.executable, TOOL, page], capture_output=True).returncode == (text != good)
    page.write_text(good)
    subprocess.run([sys.executable, TOOL, "--write", page], check=True)
    assert page.read_text() == good.replace("one 3 s\n…", "one 1.25 ms\ntwo")
