# SPDX-License-Identifier: BSD-3-Clause
"""The text output of `spartito diff`: what changed between experiments, as sentences and as a table."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from spartito.base.text import Column, Output, count, local_time, name, plural, seconds
from spartito.compare import conditions
from spartito.compare.pathnames import namer
from spartito.experiments.description import command, launcher, what_ran
from spartito.experiments.reading import shown

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from spartito.compare.conditions import Side

CERTAIN = 0.05  # a smaller corrected p-value means a change
# For a side with one run there is no test. Then a change counts as "same" below this share of the function's exclusive time, and as
# "small" below this share of the total time of the first group.
SAME = 0.01
SMALL = 0.001
SENTENCES = 4  # maximum number of functions in sentences
MAX_FILES = 6  # listed moved directories
STYLES = {"slower": "red", "new": "red", "faster": "green", "gone": "green"}


class Group:
    """Repeated runs of one state of the program. letter: their name in the output."""

    def __init__(self, letter: str, directories: Sequence[str], infos: Sequence[dict[str, Any]]) -> None:
        self.letter = letter
        self.directories = [os.path.normpath(d) for d in directories]
        self.infos = infos

    def __str__(self) -> str:
        runs = "" if len(self.directories) == 1 else f"{len(self.directories)} runs: "
        begun = sorted(info["begin"] for info in self.infos)
        times = " to ".join(dict.fromkeys((local_time(begun[0]), local_time(begun[-1]))))
        ran = dict.fromkeys(what_ran(d, command(launcher(d)[0], info)) for d, info in self.side[1])
        return f"{self.letter}  {runs}{name(', '.join(map(shown, self.directories)))} ({name(', '.join(ran))}; {times})"

    @property
    def side(self) -> Side:
        return self.letter, list(zip(self.directories, self.infos))


def is_present(side: dict[str, Any]) -> bool:
    """Whether a function ran on this side."""
    return bool(side["visits"] or side["incl"] > 0)


def word(row: dict[str, Any], group: int, whole: float) -> str:
    """The verdict about a row: "slower", "faster", "same", "new", "gone", "noise", "small" (not judged), or "" if it ran on neither
    side. whole: total exclusive time of the first group in s."""
    before, after, change = row["sides"][0], row["sides"][group], row["changes"][group - 1]
    if not is_present(before) or not is_present(after):
        return "new" if is_present(after) else "gone" if is_present(before) else ""
    if change["p_corrected"] is not None and change["p_corrected"] >= CERTAIN:
        return "noise"
    if change["p"] is not None and not change["judged"]:
        return "small"
    if change["p"] is None and abs(change["excl"]) < SAME * max(before["excl"], after["excl"]):
        return "same"
    if change["p"] is None and 0 < abs(change["excl"]) < SMALL * whole:
        return "small"
    return "slower" if change["excl"] > 0 else "faster" if change["excl"] < 0 else "same"


def whole(found: dict[str, Any]) -> float:
    """Total exclusive time of the first group in s."""
    return float(found["all"]["sides"][0]["excl"])


def relative(row: dict[str, Any], group: int, key: str = "excl") -> float | None:
    """The change in percent of the value of the first group; None: that is 0."""
    before = row["sides"][0][key]
    return 100 * row["changes"][group - 1][key] / before if before > 0 else None


def signed(value: float) -> str:
    return ("+" if value > 0 else "") + seconds(value)


def percent(value: float | None) -> str:
    """A change in percent as text; as a factor if it has four digits. None: empty."""
    if value is None:
        return ""
    return factor(value / 100) or f"{value:+.1f}"


def more(change: float) -> str:
    """A change in percent as words: "12.3 % more", "40.0 % less", "×12 as much"."""
    grown = factor(change / 100)
    return f"{grown} as much" if grown else f"{abs(change):.1f} % {'more' if change > 0 else 'less'}"


def margin(row: dict[str, Any], group: int) -> float | None:
    """Half of the 95 % confidence interval of the change, in percent of the value of the first group; None: not known."""
    before, found = row["sides"][0]["excl"], row["changes"][group - 1]["margin"]
    return 100 * found / before if before > 0 and found is not None else None


def factor(growth: float) -> str:
    """A growth as factor: "×12" for 11; empty below 10."""
    return times(1 + growth) if growth >= 10 else ""


def times(ratio: float) -> str:
    """A ratio with three significant digits: "×12.3", "×98,400", "×1.23 million"."""
    value = float(f"{ratio:.3g}")
    return f"×{value:,.15g}" if value < 1e6 else f"×{value / 1e6:,.15g} million"


def calls(row: dict[str, Any], group: int) -> str:
    before, after = (count(round(row["sides"][g]["visits"])) for g in (0, group))
    return before if before == after else f"{before} → {after}"


def _call_counts(row: dict[str, Any], group: int) -> str:
    before, after = (round(row["sides"][g]["visits"]) for g in (0, group))
    if before == after:
        times = plural(after, "time")
        return f"called {times} as before" if _steady(row, group) else f"called about {times} on both sides"
    return f"called {plural(after, 'time')} instead of {count(before)}"


def _steady(row: dict[str, Any], group: int) -> bool:
    """Whether the number of calls is the same in all runs of each of the two sides."""
    return not any(round(row["sides"][g]["visits_std"], 6) for g in (0, group))


def sentence(row: dict[str, Any], group: int, called: Callable[[dict[str, Any]], str], what: str) -> str:
    """A sentence about a row. called: makes the name of a row. what: the verdict of word()."""
    before, after = row["sides"][0], row["sides"][group]
    if what == "new":
        return f"{called(row)} is new: {seconds(after['excl'])} self time in {plural(round(after['visits']), 'call')}"
    if what == "gone":
        return f"{called(row)} is gone: {seconds(before['excl'])} self time in {plural(round(before['visits']), 'call')}"
    change = relative(row, group)
    much = "" if change is None else f" ({percent(change)}{'' if change >= 1000 else ' %'})"
    times = f"{seconds(before['excl'])} → {seconds(after['excl'])}{much}"
    return f"{called(row)} got {what}: self time {times}, {_call_counts(row, group)}"


def _whole(found: dict[str, Any], groups: Sequence[Group], group: int) -> str:
    """A sentence about the change of the total time."""
    before, after = found["all"]["sides"][0], found["all"]["sides"][group]
    change = relative(found["all"], group)
    p = found["all"]["changes"][group - 1]["p"]
    around = margin(found["all"], group)
    sure = "" if around is None else f" (±{around:.{0 if around >= 10 else 1}f} %)"
    sure += "" if p is None else f", which is {'more than' if p < CERTAIN else 'within'} the noise (p = {p:.2g})"
    text = f"{groups[group].letter} took {seconds(after['excl'])} in total, {groups[0].letter} {seconds(before['excl'])}"
    if change is None or abs(change) < 0.05:
        return f"{text}: the same{sure}"
    return f"{text}: {more(change)}{sure}"


def summary(found: dict[str, Any], groups: Sequence[Group], share: float, by_path: bool) -> list[str]:
    """Sentences about what got slower and faster."""
    lines = [_whole(found, groups, g) for g in range(1, len(groups))]
    if not conditions.chosen_alike([g.side for g in groups]):
        lines.append("what got slower or faster, is new or gone may come from the other options instead of the program")
    last = len(groups) - 1
    judged = [(r, word(r, last, whole(found))) for r in found["rows"] if r["changes"][-1]["judged"]]
    changed = [(r, what) for r, what in judged if what in STYLES]
    changed.sort(key=lambda pair: -abs(pair[0]["changes"][-1]["excl"]))
    del changed[SENTENCES:]
    if not changed:
        noise = " by more than the noise" if found["all"]["changes"][-1]["p"] is not None else " much"
        lines.append(f"no {'call path' if by_path else 'function'} that takes {share:g} % of the time or more changed{noise}")
    often = [r for r, what in judged if what == "noise" and _call_count_changed(r, last)]
    often.sort(key=lambda r: -max(side["excl"] for side in r["sides"]))
    called = namer([*(r for r, _ in changed), *often[:SENTENCES]])
    lines += [sentence(row, last, called, what) for row, what in changed]
    within = "in every run, though its time is within the noise"
    return lines + [f"{called(row)} was {_call_counts(row, last)} {within}" for row in often[:SENTENCES]]


def _call_count_changed(row: dict[str, Any], group: int) -> bool:
    """Whether the numbers of calls differ, and each side has the same number in all of its runs."""
    return bool(row["sides"][0]["visits"] != row["sides"][group]["visits"]) and _steady(row, group)


def moved(found: dict[str, Any]) -> list[str]:
    """Sentences about modules and files that were renamed. Files that only moved are summed up by directory."""
    lines = [
        f"module {name(m['before'])} is now called {name(m['after'])} ({plural(m['functions'], 'function')})"
        for m in found["modules"]
    ]
    places: dict[tuple[str, str], list[int]] = {}
    for f in found["files"]:
        before, after = f["before"].split("/"), f["after"].split("/")
        while len(before) > 1 and len(after) > 1 and before[-1] == after[-1]:
            before.pop()
            after.pop()
        place = places.setdefault(("/".join(before), "/".join(after)), [0, 0])
        place[0] += 1
        place[1] += f["functions"]
    renamed = {(m["before"], m["after"]) for m in found["modules"]}  # files of notebook cells are called like their modules
    places = {place: held for place, held in places.items() if place not in renamed}
    for (a, b), (files, functions) in list(places.items())[:MAX_FILES]:
        held = plural(functions, "function") if files == 1 else f"{plural(files, 'file')}, {plural(functions, 'function')}"
        lines.append(f"{name(a or '/')} is now {name(b or '/')} ({held})")
    if len(places) > MAX_FILES:
        lines.append(f"files in {plural(len(places) - MAX_FILES, 'more directory', 'more directories')} have moved")
    return lines


def unlike(groups: Sequence[Group]) -> list[str]:
    """Sentences about differences between the groups apart from their program, printed before the numbers."""
    return conditions.unlike([g.side for g in groups])


def _preempted(found: dict[str, Any], groups: Sequence[Group]) -> list[str]:
    """A sentence about the time in which other threads or programs had the processor, which is in no other number."""
    times = found["preempted"]
    if not times:
        return []
    parts = []
    for group, time, side in zip(groups, times, found["all"]["sides"]):
        share = 100 * time / (time + side["excl"]) if time else 0.0
        parts.append(f"{seconds(time)} ({share:.1f} %) of {group.letter}")
    return [f"no time contains preemption, when others had the processor: {', '.join(parts)}"]


def notes(found: dict[str, Any], groups: Sequence[Group], share: float, compensated: bool) -> list[str]:
    """Sentences that explain the numbers, printed after the table."""
    lines = [*_preempted(found, groups), *conditions.costs([g.side for g in groups], compensated)]
    if all(len(g.directories) > 1 for g in groups):
        lines.append(
            f"noise: by Welch's t-test of exclusive times over the runs, with Holm's correction over what takes {share:g} % of the "
            f"time or more, p < {CERTAIN:g} is a change; what takes less is called small; ± of the change of all: 95 % confidence"
        )
    else:
        lines.append("a group has only one run, so the noise is not known: spartito diff A1 A2 A3 --with B1 B2 B3")
    return lines


def _is_repeated(group: Group) -> bool:
    return len(group.directories) > 1


def _columns(groups: Sequence[Group], by_path: bool) -> list[Column]:
    columns = [Column(f"self {groups[0].letter}")]
    if _is_repeated(groups[0]):
        columns.append(Column("±", rank=3))
    for g in groups[1:]:
        columns.append(Column(f"self {g.letter}"))
        if _is_repeated(g):
            columns.append(Column("±", rank=3))
        if _is_repeated(g) and _is_repeated(groups[0]):
            columns.append(Column("p", rank=4))
        columns += [Column("change"), Column("%")]
    columns += [Column("total change", rank=2), Column("calls", rank=5), Column("what", left=True)]
    columns.append(Column("call path" if by_path else "function", left=True, style="cyan"))
    return columns if by_path else [*columns, Column("defined at", left=True, style="dim", rank=1)]


def _cells(row: dict[str, Any], called: str, what: str, groups: Sequence[Group], by_path: bool) -> tuple[str, ...]:
    last = len(groups) - 1
    cells = [seconds(row["sides"][0]["excl"])]
    if _is_repeated(groups[0]):
        cells.append(seconds(row["sides"][0]["excl_std"]))
    for g in range(1, len(groups)):
        side, change = row["sides"][g], row["changes"][g - 1]
        cells.append(seconds(side["excl"]))
        if _is_repeated(groups[g]):
            cells.append(seconds(side["excl_std"]))
        if _is_repeated(groups[g]) and _is_repeated(groups[0]):
            p = change["p_corrected"]
            cells.append("" if p is None else f"{p:.2g}")
        cells += [signed(change["excl"]), percent(relative(row, g))]
    cells += [signed(row["changes"][-1]["incl"]), calls(row, last), what, called]
    if not by_path:
        cells.append(name(f"{row['file']}:{row['line']}" if row["line"] else row["file"]))
    return tuple(cells)


def write(
    out: Output,
    found: dict[str, Any],
    groups: Sequence[Group],
    limit: int,
    share: float,
    by_path: bool,
    compensated: bool,
    timed: bool = True,
) -> None:
    """Writes sentences and the table. timed: all experiments contain times, and not only memory."""
    for group in groups:
        out.line(str(group), "bold")
    for line in unlike(groups):
        out.line(line, "yellow")
    if not timed:
        out.line("no calls and no samples were recorded on both sides: times are not compared")
        return
    for line in summary(found, groups, share, by_path):
        out.line(line)
    out.line()
    rows = found["rows"][:limit] if limit else found["rows"]
    called = namer(rows)
    words = [word(row, len(groups) - 1, whole(found)) for row in rows]
    cells = [_cells(row, called(row), what, groups, by_path) for row, what in zip(rows, words)]
    out.table(_columns(groups, by_path), cells, [STYLES.get(what, "") for what in words])
    if found["count"] > len(rows):
        out.line(f"… {plural(found['count'] - len(rows), 'more row')}; --limit 0 shows all")
    out.line()
    for line in (*moved(found), *notes(found, groups, share, compensated)):
        out.line(line)
