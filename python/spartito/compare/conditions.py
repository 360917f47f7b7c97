# SPDX-License-Identifier: BSD-3-Clause
"""Differences in how runs were recorded. They may explain a change of times that the program did not cause."""

from __future__ import annotations

import shlex

from spartito.base.text import count, name, plural, seconds
from spartito.experiments import contents, cost
from spartito.experiments.description import command, launcher, what_ran
from spartito.options.cellpatterns import typed_filters, typed_lines
from spartito.options.settings import SETTINGS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    # the repeated runs of one state of the program: their name in sentences, and the directory and info() of each run
    Side = tuple[str, Sequence[tuple[str, dict[str, Any]]]]

# settings of the recorder that are no options of the command line
INSIDE = {
    "clock": "SPARTITO_CLOCK=",
    "profile_depth": "SPARTITO_PROFILE_DEPTH=",
    "scorep": "the command or module of the Score-P bindings",
    "omnitrace": "the command or module of Omnitrace",
}
OPTIONS = {**{setting.name: setting.option for setting in SETTINGS if setting.recorded}, **INSIDE}
DEFAULTS = {"clock": "auto", "profile_depth": "0", **{setting.name: setting.default for setting in SETTINGS}}
# settings on which neither times nor names depend; the hook in use is a fact of the run (_facts())
IDLE = ("hook", "trace_memory", "when_full", "source", "task_limit", "label_limit")
# settings that decide which calls are recorded; the time of other calls counts as their caller's
CHOOSING = ("c_calls", "filter", "only_mine", "depth", "instrument", "io", "mpi", "profile_depth")
CELL = "In["  # prefix of the names of cells
# facts about the program instead of the recording, most important first, with their headline
OF_THE_PROGRAM = {"commands": "other command", "exit statuses": "other exit status"}
MAX_HOSTS = 6  # named in a sentence


def _filters(items: list[str]) -> Iterable[str]:
    if len(items) > 1 and items[0] == "-*" and items[1].startswith("+"):
        del items[0]  # implied by --include as the first option
    for item in items:
        yield f"{'--include' if item.startswith('+') else '--exclude'} {shlex.quote(item[1:])}"


def _options(directory: str, info: dict[str, Any]) -> dict[str, str]:
    """{option as the user would type it: name of the setting}, without defaults. For a notebook cell, without the items that the
    notebook adds."""
    given, options = contents.settings(info), {}
    ran = what_ran(directory, command(launcher(directory)[0], info))
    cell = ran.split(" to ")[0] if ran.startswith(CELL) else ""
    if given.get("instrument") == "0":
        options["--lines-only" if given.get("lines") else "calls of functions left out"] = "instrument"
    for key, option in OPTIONS.items():
        value = given.get(key, "")
        if key in IDLE or value in ("", "0", DEFAULTS.get(key)):
            continue
        if key == "filter":
            items = value.split("\n")
            options.update(dict.fromkeys(_filters(typed_filters(items, cell) if cell else items), key))
        elif key == "lines":
            patterns = value.split("\n")
            options.update({f"{option} {shlex.quote(one)}": key for one in (typed_lines(patterns, cell) if cell else patterns)})
        elif value == "1" and key not in ("depth", "profile_depth"):
            options[option] = key
        else:
            options[f"{option}{'' if option.endswith('=') else ' '}{shlex.quote(value)}"] = key
    return options


def _given(sides: Sequence[Side]) -> tuple[list[list[dict[str, str]]], dict[str, str]]:
    """The options of each run of each side, and those options that some runs have and others do not."""
    given = [[_options(directory, info) for directory, info in runs] for _, runs in sides]
    if not all(contents.settings(info) for _, runs in sides for _, info in runs):
        return given, {}  # experiments of other tools or old versions do not contain their settings
    every = {option: key for side in given for run in side for option, key in run.items()}
    return given, {option: key for option, key in every.items() if not all(option in run for side in given for run in side)}


def chosen_alike(sides: Sequence[Side]) -> bool:
    """Whether the options of all runs select the same calls for recording."""
    return not set(_given(sides)[1].values()) & set(CHOOSING)


def _recorded(sides: Sequence[Side]) -> list[str]:
    """One sentence about options that some runs were recorded with and others were not; empty: all options are equal."""
    given, unlike = _given(sides)
    if not unlike:
        return []
    parts: list[str] = []
    without: list[str] = []
    for (who, runs), side in zip(sides, given):
        words = []
        for option in unlike:
            n = sum(option in run for run in side)
            words += [name(option) + (f" ({n} of {count(len(runs))} runs)" if n < len(runs) else "")] if n else []
        if words:
            parts.append(f"{who} {'with' if parts else 'was recorded with'} {', '.join(words)}")
        else:
            without.append(f"{who} without")
    tail = ": what is not recorded is in the time of its caller" if set(unlike.values()) & set(CHOOSING) else ""
    return [", ".join((*parts, *without)) + tail]


def _hosts(info: dict[str, Any]) -> str:
    hosts = sorted({p["host"] for p in info["processes"]})
    return ", ".join(hosts[:MAX_HOSTS]) + (f" and {count(len(hosts) - MAX_HOSTS)} more" if len(hosts) > MAX_HOSTS else "")


def _facts(directory: str, info: dict[str, Any]) -> dict[str, str]:
    """Facts other than options that may make times differ; an empty text: not known."""
    meta, known = contents.first_meta(info), launcher(directory)[0]
    ran, status = what_ran(directory, command(known, info)), known.get("status")
    return {
        "commands": "" if ran.startswith(CELL) else ran,  # cells are not compared: each cell has another name
        "exit statuses": str(status) if isinstance(status, int) else "",
        "versions of Spartito": meta.get("spartito", ""),
        "versions of Python": meta.get("python", "").split(" ")[0],
        "hooks": meta.get("hook", ""),
        "hosts": _hosts(info),
        "processors": meta.get("cpu", ""),
    }


def _machines(sides: Sequence[Side]) -> dict[str, str]:
    """A sentence for each fact that differs between runs, by the key of the fact."""
    found = [[_facts(directory, info) for directory, info in runs] for _, runs in sides]
    sentences = {}
    for what in found[0][0]:
        values = [list(dict.fromkeys(run[what] for run in side)) for side in found]
        if all(text for side in values for text in side) and len({text for side in values for text in side}) > 1:
            parts = [f"{who}: {' and '.join(map(name, texts))}" for (who, _), texts in zip(sides, values)]
            sentences[what] = f"the {what} differ: {'; '.join(parts)}"
    return sentences


def _shapes(sides: Sequence[Side]) -> list[str]:
    """Sentences about different numbers of ranks, processes or threads. Times are sums over them."""

    def numbers(info: dict[str, Any]) -> dict[str, int]:
        return {"rank": sum(info["worlds"]), "process": len(info["processes"]), "thread": len(info["locations"])}

    first, *others = [(who, [numbers(info) for _, info in runs]) for who, runs in sides]
    sentences = []
    for who, those in others:
        for one in first[1][0]:
            here, there = (sorted({run[one] for run in runs}) for runs in (first[1], those))
            if here != there:
                a, b = (" or ".join((*map(count, some[:-1]), plural(some[-1], one))) for some in (here, there))
                sentences.append(f"{first[0]} has {a}, {who} {b}: times are sums over all of them")
                break
    return sentences


def unlike(sides: Sequence[Side]) -> list[str]:
    """Sentences about differences between the sides apart from their program; empty: all were recorded in the same way."""
    return [*_recorded(sides), *_machines(sides).values(), *_shapes(sides)]


def headline(sides: Sequence[Side]) -> str:
    """The most important difference of unlike() in a few words; empty: all were recorded in the same way."""
    machines = _machines(sides)
    if _recorded(sides) or machines.keys() - OF_THE_PROGRAM.keys():
        return "not recorded alike"
    own = [text for what, text in OF_THE_PROGRAM.items() if what in machines]
    return own[0] if own else "not as parallel" if _shapes(sides) else ""


def costs(sides: Sequence[Side], compensated: bool) -> list[str]:
    """One sentence about the mean cost of measuring on each side; empty: no call was recorded."""
    found = [[cost.cost(info, compensated) for _, info in runs] for _, runs in sides]
    if not any(taken for side in found for taken, _ in side):
        return []
    parts = []
    for (who, runs), side in zip(sides, found):
        taken, share = (sum(column) / len(side) for column in zip(*side))
        errors = [error for error in (cost.measuring_error(info) for _, info in runs) if error is not None]
        error = seconds(sum(errors) / len(side)) if len(errors) == len(side) else None
        parts.append(f"{cost.with_error(seconds(taken), error)} ({100 * share:.1f} %) of {who}")
    return [f"measuring took about {', '.join(parts)}, which {cost.cost_place(compensated)}"]
