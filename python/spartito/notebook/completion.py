# SPDX-License-Identifier: BSD-3-Clause
"""Tab completion in lines of Spartito's magics, from the same table of options as the command line's completion."""

from __future__ import annotations

from spartito.notebook import celloptions, cells, commands

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from spartito.options.table import Command, Option

NUMBERED = ("spartito_report", "spartito_view", "spartito_diff", "spartito_save")  # magics whose argument is a measured cell


def _values(option: Option) -> list[str]:
    """The possible values of an option; empty if there is no fixed list."""
    if option.choices:
        return list(option.choices)
    if option.complete == "formats":
        from spartito._analyse import writers

        return [row[0] for row in writers()]
    if option.dest == "hook":
        from spartito._measure import hooks

        return ["auto", *(name for name, works, _ in hooks() if works)]
    if option.dest == "metrics":
        from spartito._measure import metrics

        return [name for name, _, missing in metrics() if not missing]
    if option.dest == "mpi":
        from spartito._measure import mpi_groups

        return ["auto", "off", *mpi_groups()]
    return []


def offers(command: Command, line: str, word: str) -> list[str]:
    """The words that can replace `word`, the unfinished one at the end of `line`."""
    before = line[: len(line) - len(word)].split() if word else line.split()
    option = command.find(before[-1].rstrip("=")) if before else None
    if option and option.kind != "flag":
        return _values(option)
    if word.startswith("-"):
        flags = [flag for o in command.options for flag in (*o.flags, *([o.opposite] if o.switch else ()))]
        return [flag for flag in flags if flag.startswith("--")]
    numbers = [str(number) for number in cells.current.results] if command.name in NUMBERED and cells.current else []
    return [*(topic.name for topic in command.topics), *numbers]


def _command_of(line: str) -> Command | None:
    words = line.split(None, 1)
    name = words[0].lstrip("%") if words and words[0].startswith("%") else ""
    return celloptions.CELL if name == "spartito" else commands.COMMANDS.get(name)


def complete(shell: Any, event: Any) -> list[str]:
    """IPython's hook complete_command. If the result is empty, IPython completes Python names, which a statement needs."""
    line: str = event.text_until_cursor
    command = _command_of(line)
    if not command:
        return []
    word: str = event.symbol  # in a list of values: the text after the last comma
    return [text for text in offers(command, line, word) if text.startswith(word)]


def matcher(context: Any) -> dict[str, Any]:
    """The same for IPython 8.6 and later. "suppress": IPython offers no Python names beside the words."""
    from IPython.core.completer import SimpleCompletion

    line: str = context.text_until_cursor
    command = _command_of(line)
    word: str = context.token
    found = [text for text in offers(command, line, word) if text.startswith(word)] if command else []
    return {"completions": [SimpleCompletion(text=text, type="magic") for text in found], "suppress": bool(found)}


def load(shell: Any) -> None:
    matchers = getattr(shell.Completer, "custom_matchers", None)
    if matchers is not None:
        matcher.matcher_api_version = 2  # type: ignore[attr-defined]
        matchers.append(matcher)
        return
    for name in ("%%spartito", "%spartito", *("%" + name for name in commands.COMMANDS)):
        shell.set_hook("complete_command", complete, str_key=name)


def unload(shell: Any) -> None:
    matchers = getattr(shell.Completer, "custom_matchers", None)
    if matchers is not None:
        if matcher in matchers:
            matchers.remove(matcher)
        return
    for name in ("%%spartito", "%spartito", *("%" + name for name in commands.COMMANDS)):
        shell.strdispatchers["complete_command"].strs.pop(name, None)
