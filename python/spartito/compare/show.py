# SPDX-License-Identifier: BSD-3-Clause
"""Prints the comparison of experiments as text or JSON, for the command line and for notebooks."""

from __future__ import annotations

import json
import os
import sys
from typing import Any

from spartito.base.markdown import Markdown
from spartito.base.messages import Refused, complain
from spartito.base.text import Output, name, plural, seconds, standard_output
from spartito.compare import memorydifference
from spartito.compare.difference import (
    CERTAIN,
    Group,
    is_present,
    margin,
    more,
    moved,
    notes,
    relative,
    summary,
    unlike,
    whole,
    word,
    write,
)
from spartito.compare.pathnames import namer
from spartito.experiments import cost, losses
from spartito.experiments.reading import load
from spartito.options.table import Usage

ROWS = 20
SHARE = 1.0  # percent of the time that an entry takes to be judged
# exit status of --fail-above; 1 means unreadable input, 2 a wrong command line, losses.INCOMPLETE is 4
EXCEEDED = 3
MAX_LINES = 10  # functions above the limit that are listed


def _fraction(values: dict[str, object]) -> float | None:
    """The limit of --fail-above in percent; None: not given."""
    text = values.get("fail_above")
    if text is None:
        return None
    try:
        number = float(str(text).removesuffix("%").strip())
    except ValueError:
        number = -1.0
    if not 0 <= number < float("inf"):
        raise Usage(f"--fail-above: {text!r} is not a percentage such as 5%")
    return number


def _duplicates(groups: list[Group]) -> list[str]:
    """Sentences about experiments that a side contains twice, so that the noise seems too small, and about experiments that both
    sides contain, so that the change seems too small."""
    lines = []
    seen: dict[str, Group] = {}
    for group in groups:
        places = [os.path.realpath(d) for d in group.directories]
        again = dict.fromkeys(d for i, d in enumerate(group.directories) if places[i] in places[:i])
        lines += [f"{name(d)} is more than once in {group.letter}: the noise looks smaller than it is" for d in again]
        for place, d in dict(zip(places, group.directories)).items():
            other = seen.setdefault(place, group)
            if other is not group:
                lines.append(f"{name(d)} is in {other.letter} and in {group.letter}: the change looks smaller than it is")
    return lines


def _incomplete(groups: list[Group]) -> dict[str, str]:
    """{directory: reason} of experiments whose times are not those of whole runs, so that their comparison means nothing."""
    found = {d: losses.not_whole(info, d) for group in groups for d, info in group.side[1]}
    return {name(d): why for d, why in found.items() if why}


def _exceeding(found: dict[str, Any], groups: list[Group], limit: float) -> list[str]:
    """Sentences about functions that took more than `limit` percent more time than in the first group, beyond the noise."""
    all_of = found["all"]
    those = []
    for g in range(1, len(groups)):
        for row in (all_of, *found["rows"]):
            change = row["changes"][g - 1]
            p = change["p"] if row is all_of else change["p_corrected"]
            much = relative(row, g)
            both = all(is_present(row["sides"][k]) for k in (0, g))
            if both and change["judged"] and much is not None and much > limit and (p is None or p < CERTAIN):
                those.append((g, row, much))
    called = namer([row for _, row, _ in those if row is not all_of])
    lines = []
    for g, row, change in those:
        before, after = row["sides"][0]["excl"], row["sides"][g]["excl"]
        what = "everything took" if row is all_of else f"{called(row)} itself took"
        lines.append(f"{what} {more(change)} in {groups[g].letter} ({seconds(before)} → {seconds(after)}), above {limit:g} %")
    return lines


def _undecided(found: dict[str, Any], groups: list[Group], limit: float, exceeded: list[str]) -> list[str]:
    """Sentences about results that noise leaves undecided: an exceeded limit without repeated runs, or a limit within the
    confidence interval."""
    if exceeded:
        alone = any(len(group.directories) == 1 for group in groups)
        return ["with one run on a side the noise is not known; --with takes repeated runs"] if alone else []
    lines = []
    for g in range(1, len(groups)):
        around, change = margin(found["all"], g), relative(found["all"], g)
        if around is not None and change is not None and around > limit and change + around > limit:
            lines.append(
                f"--fail-above: the runs differ so much from each other that {groups[g].letter} may also have taken "
                f"{more(change + around)} in total; more runs or a quieter machine resolve {limit:g} %"
            )
    return lines


def _json(
    found: dict[str, Any],
    groups: list[Group],
    values: dict[str, object],
    share: float,
    exceeded: list[str] | None,
    undecided: list[str],
    incomplete: dict[str, str],
    memory: dict[str, Any] | None,
) -> None:
    limit, compensated = _limit(values), bool(values.get("compensate"))
    for row in found["rows"]:
        row["what"] = [word(row, g, whole(found)) for g in range(1, len(groups))]
        row["percent"] = [relative(row, g) for g in range(1, len(groups))]
    document = {
        "experiments": [g.directories for g in groups],
        "unit": "s",
        "by": str(values.get("by", "region")),
        "test": "Welch's t-test, Holm's correction",
        "certain": CERTAIN,
        "share": share / 100,
        "compensated": compensated,
        "costs": [[cost.cost(info, compensated)[0] for info in g.infos] for g in groups],
        "unlike": unlike(groups),
        "notes": [
            *summary(found, groups, share, values.get("by") == "path"),
            *moved(found),
            *notes(found, groups, share, compensated),
        ],
        **({} if exceeded is None else {"exceeded": exceeded, "undecided": undecided, "incomplete": list(incomplete)}),
        **found,
        "rows": found["rows"][:limit] if limit else found["rows"],
        **({} if memory is None else {"memory": {**memory, "rows": memory["rows"][:limit] if limit else memory["rows"]}}),
    }
    json.dump(document, sys.stdout, indent=1)
    sys.stdout.write("\n")


def _unfit(incomplete: dict[str, str]) -> list[str]:
    """Sentences about experiments from which --fail-above cannot decide."""
    return [f"--fail-above: {directory} {why}, so nothing follows from its times" for directory, why in incomplete.items()]


def _write_verdict(out: Output, groups: list[Group], above: float | None, exceeded: list[str] | None, doubts: list[str]) -> None:
    """The title of a comparison in Markdown, and the result of --fail-above, which otherwise is printed on standard error."""
    out.stream.write(f"### Spartito: {', '.join(g.letter for g in groups[1:])} compared with {groups[0].letter}\n\n")
    if above is None:
        return
    out.line(f"Above the limit of {above:g} %" if exceeded else f"Nothing is above the limit of {above:g} %", "bold")
    for line in [*(exceeded or [])[:MAX_LINES], *doubts]:
        out.line(line)
    more_lines = len(exceeded or []) - MAX_LINES
    if more_lines > 0:
        out.line(f"{plural(more_lines, 'more function')} above the limit")
    out.line()


def _limit(values: dict[str, object]) -> int:
    limit = values.get("limit", ROWS)
    assert isinstance(limit, int)
    return limit


def show(values: dict[str, object], wanted: list[list[str]]) -> int:
    """Prints the comparison. values: the options of `spartito diff`. wanted: the directories of each group; the first group is
    compared with each of the others. Returns the exit status: 0, EXCEEDED or losses.INCOMPLETE."""
    if values.get("json") and values.get("markdown"):
        raise Usage("--json and --markdown exclude each other")
    above = _fraction(values)
    share = values.get("share", SHARE)
    assert isinstance(share, (int, float))
    if not 0 <= share <= 100:
        raise Usage(f"--share: {share:g} is not a percentage of the time, 0 to 100")
    loaded = [[load(directory, bool(values.get("compensate"))) for directory in group] for group in wanted]
    groups = [
        Group(chr(ord("A") + i) if i < 26 else f"#{i + 1}", wanted[i], [info for _, info in group])
        for i, group in enumerate(loaded)
    ]
    from spartito._analyse import compare

    by, match = str(values.get("by", "region")), str(values.get("match") or "")
    found = compare(
        [model for group in loaded for model, _ in group],
        [len(group) for group in loaded],
        by=by,
        sort=str(values.get("sort", "change")),
        match=match,
        share=share / 100,
    )
    if match and not found["rows"]:
        raise Refused(f"--match: no recorded function matches {match!r}")
    memory = memorydifference.gather([[model for model, _ in group] for group in loaded], groups, match)
    untimed = memorydifference.without_times(groups)
    if above is not None and untimed:
        raise Refused(f"--fail-above: {untimed[0]} holds memory and no times: record calls or samples as well")
    exceeded = None if above is None else _exceeding(found, groups, above)
    undecided = [] if above is None else _undecided(found, groups, above, exceeded or [])
    incomplete = {} if above is None else _incomplete(groups)
    if values.get("json"):
        _json(found, groups, values, share, exceeded, undecided, incomplete, memory)
    else:
        out = Markdown(sys.stdout) if values.get("markdown") else standard_output()
        if values.get("markdown"):
            _write_verdict(out, groups, above, exceeded, [*undecided, *_unfit(incomplete)])
        write(out, found, groups, _limit(values), share, by == "path", bool(values.get("compensate")), not untimed)
        if memory is not None:
            memorydifference.write(out, memory, groups, _limit(values))
    sys.stdout.flush()
    for directory, info in dict(run for group in groups for run in group.side[1]).items():
        losses.say_all(info, directory, True)
    for line in _duplicates(groups):
        complain(line, "diff")
    for line in (exceeded or [])[:MAX_LINES]:
        complain(line, "diff")
    if exceeded and len(exceeded) > MAX_LINES:
        complain(f"{plural(len(exceeded) - MAX_LINES, 'more function')} above the limit; --json lists all", "diff")
    for line in undecided:
        complain(line, "diff")
    for line in _unfit(incomplete):
        complain(line, "diff")
    return losses.INCOMPLETE if incomplete else EXCEEDED if exceeded else 0
