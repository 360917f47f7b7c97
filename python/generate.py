# SPDX-License-Identifier: BSD-3-Clause
"""Generates texts from the table of commands. The build prints the man page and the completion scripts with it. `make docs` prints
docs/commands.md (markdown) and docs/configuration.md (settings), and rewrites the docstring of spartito.view.kinds from
src/view/contract.json (kinds).

usage: generate.py man VERSION | generate.py bash|zsh|fish|markdown|settings|kinds
"""

import json
import os
import re
import sys
import textwrap
import types

# The package cannot be imported before its extension modules are built; the modules that this file needs can.
package = types.ModuleType("spartito")
package.__path__ = [os.path.join(os.path.dirname(os.path.abspath(__file__)), "spartito")]
sys.modules["spartito"] = package
sys.dont_write_bytecode = True

from spartito.options import shells, table  # noqa: E402
from spartito.options.settings import SETTINGS  # noqa: E402


def markdown() -> str:
    parts = [
        "# Commands",
        "",
        "Made by `make docs` from the table that `--help` is made from.",
        "",
        "```",
        table.overview().rstrip(),
        "```",
    ]
    for command in table.COMMANDS:
        parts += ["", f"## spartito {command.name}", "", "```", table.help_text(command, 110, whole=True).rstrip(), "```"]
    return "\n".join(parts)


CONFIGURATION = """# Configuration, environment and exit status

Made by `make docs` from the table of settings. `spartito config` prints the active value and source of each setting.

## Settings of a recording

A setting comes from the first of these that has it: the command line, the variable, the key in the table
`[tool.spartito]` of the nearest `pyproject.toml`, the default. A flag is `1`, `true`, `yes`, `on` or `0`, `false`,
`no`, `off`. Lists are separated by commas in a variable, and are arrays in `pyproject.toml`. `spartito.start()` and
`spartito.measure()` take the keys as keywords; `output` is their parameter `directory`. A key whose option begins with
`--no-` is off with that option.

| key | variable | option | default | meaning |
|---|---|---|---|---|
{settings}

```toml
[tool.spartito]
trace = true
trace_memory = "256M"
filter = ["-numpy:*"]
```

## Other variables

| variable | meaning |
|---|---|
| `SPARTITO_EXPERIMENT` | the experiment directory of a measured process; `spartito run` sets it for the program and its children |
| `SPARTITO_CLOCK` | the clock of timestamps: `tsc` or `monotonic`; default: the processor's counter where it is reliable |
| `SPARTITO_CC`, `SPARTITO_CXX`, `SPARTITO_FC`, `SPARTITO_WRAPPER` | for `spartito compile`: see [compiled code](native.md) |
| `SPARTITO_WAIT_KINDS` | a file with more functions that wait, for `spartito report`: see [off-CPU time](waits.md#off-cpu-time) |
| `SPARTITO_VIEW` | the experiment that `jupyter-server-proxy` shows; see [the viewer](viewer.md) |
| `NO_COLOR`, `COLUMNS` | no colours, and the width of tables in a terminal; in a pipe or file tables are whole |

A variable that begins with `SPARTITO_` or `SCOREP_` and is not known is reported once, with the name that was perhaps
meant.

## Exit status

| status | command | meaning |
|---|---|---|
| that of the program | `spartito run`, `spartito SCRIPT` | also when the recording failed; a signal ends both |
| 0 | all others | done |
| 1 | all | a file or process could not be read or written; a line on standard error names it |
| 2 | all | wrong command line: an unknown option, a missing argument |
| 3 | `diff --fail-above` | something became slower than the limit |
| 4 | `report`, `convert`, `html`, `diff` | the result is there, but parts of the experiment are damaged or lost |
"""


# settings whose meaning is not that of one option
MEANINGS = {
    "filter": "patterns of names in order, the last match wins: `+PATTERN` (--include) records what matches, `-PATTERN` "
    "(--exclude) does not; if the first one begins with +, nothing else is recorded",
}
OFF_IF_ZERO = ("memory_sample", "limit_rss")  # sizes in bytes; 0 disables them


def settings() -> str:
    options = {flag: option for option in table.RUN.options for flag in option.flags}
    rows = []
    for one in SETTINGS:
        flags = one.option.split("/")
        texts = [options[flag].help for flag in flags if flag in options]
        text = re.sub(r" \(default [^:)]*\)|, default [^)]*(?=\))", "", "; ".join(texts)).replace("(default 0: ", "(0: ")
        meaning = MEANINGS.get(one.name) or text
        meaning = ("off: " if flags[0].startswith("--no-") else "") + meaning.replace("|", "\\|")
        default = {"flag": {"0": "off", "1": "on"}}.get(one.kind, {}).get(one.default, one.default) or "–"
        default = "off" if one.name in OFF_IF_ZERO else default
        rows.append(f"| `{one.name}` | `{one.variable}` | {', '.join(f'`{flag}`' for flag in flags)} | {default} | {meaning} |")
    return CONFIGURATION.format(settings="\n".join(rows)).rstrip()


HERE = os.path.dirname(os.path.abspath(__file__))
KINDS = os.path.join(HERE, "spartito", "view", "kinds.py")
BEGIN, END = "\n    facts\n", '\n"""\n'  # the generated part of that file's docstring is between these


def _member(name: str, shape: dict, optional: bool) -> str:
    """The text for one property of a JSON schema: its name with [] for each level of arrays, its type, and its description."""
    suffix = ""
    while shape.get("type") == "array" and isinstance(shape["items"], dict):
        suffix += "[]"
        shape = {**shape["items"], **({"description": shape["description"]} if "description" in shape else {})}
    refs = [one["$ref"] for one in (shape, *shape.get("allOf", ()), *shape.get("anyOf", ())) if "$ref" in one]
    facts = [ref.rsplit("/", 1)[1] for ref in refs]
    if optional:
        facts.append("optional")
    if "null" in shape.get("type", "") and "null:" not in shape.get("description", ""):
        facts.append("or null")
    if "enum" in shape:
        facts.append(", ".join(repr(word) for word in shape["enum"]))
    facts += [shape["description"]] if shape.get("description") else []
    facts += [_members(shape)] if shape.get("properties") else []
    return name + suffix + (f" ({'; '.join(facts)})" if facts else "")


def _members(shape: dict) -> str:
    required = shape.get("required", ())
    return ", ".join(_member(name, one, name not in required) for name, one in shape["properties"].items())


def _named(name: str, *sentences: str) -> str:
    text = " ".join(filter(None, sentences))
    return f"    {name}\n" + textwrap.fill(text, 132, initial_indent=" " * 8, subsequent_indent=" " * 8, break_on_hyphens=False)


def _sentence(head: str, text: str) -> str:
    return f"{head}{text}." if text else ""


def kinds() -> str:
    """The source of spartito.view.kinds with the docstring that the contract gives."""
    with open(os.path.join(HERE, "..", "src", "view", "contract.json"), encoding="utf-8") as f:
        contract = json.load(f)
    parts = []
    for name, kind in contract["properties"].items():
        accepted, meta, columns = (kind["properties"][which] for which in ("parameters", "meta", "columns"))
        meta_text = meta["$ref"].rsplit("/", 1)[1] if "$ref" in meta else _members(meta)
        numbers = _members(columns) if columns.get("properties") else ""
        more = ["with metrics: " + one["description"] for one in columns.get("patternProperties", {}).values()]
        # parameters are optional by default, so the text does not mark them as optional
        parameters = _members({**accepted, "required": list(accepted.get("properties", ()))}) if accepted.get("properties") else ""
        parts.append(
            _named(
                name, kind["description"], _sentence("Parameters: ", parameters), _sentence("meta: ", meta_text),
                _sentence("Columns: ", "; ".join(filter(None, [numbers, *more]))),
            )
        )  # fmt: skip
    for name, shape in contract["definitions"].items():
        members = "" if "tsType" in shape or "properties" not in shape else _members(shape)
        parts.append(_named(name, shape.get("description", ""), _sentence("", members)))
    with open(KINDS, encoding="utf-8") as f:
        source = f.read()
    begin = source.index(BEGIN)
    return source[: begin + 1] + "\n".join(parts) + source[source.index(END, begin) :]


what = sys.argv[1]
if what == "kinds":
    made = kinds()
    with open(KINDS, "w", encoding="utf-8") as f:
        f.write(made)
    sys.exit()
pages = {"markdown": markdown, "settings": settings}
text = shells.man(sys.argv[2]) if what == "man" else pages[what]() if what in pages else shells.script(what)
sys.stdout.buffer.write((text + "\n").encode())
