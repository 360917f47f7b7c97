# SPDX-License-Identifier: BSD-3-Clause
"""The options of %%spartito and %spartito: those of `spartito run`, from the command line's own table."""

from __future__ import annotations

import io
import shlex

from spartito.notebook.measuring import Request, not_said
from spartito.options.cellpatterns import STATEMENTS, line_patterns, pattern, plain
from spartito.options.kinds import option_lines
from spartito.options.settings import resolve, strange_variables, uncounted
from spartito.options.table import RUN, Command, Option, Usage, parse
from spartito.run.implied import with_memory, with_trace, without_effect
from spartito.sample.sampling import records_calls

TYPE_CHECKING = False
if TYPE_CHECKING:
    from spartito.options.settings import Value

OUTPUT = Option(
    "-o --output",
    "the experiment directory; where there is something in it, one with a number behind its name (default: "
    "spartito-notebook/spartito-CELL-TIME)",
    "DIR",
    complete="dir",
)
ALONE = Option("--no-config", "without what %spartito_config has made the default")
# a cell's result is shown below it, so it is never left for later
_kept = [option for option in RUN.own_options if option.dest != "no_finalize"]
_options = (*(OUTPUT if option.dest == OUTPUT.dest else option for option in _kept), ALONE)
CELL = Command("%%spartito", "%%spartito [options]", "measure a cell", RUN.details, _options, ())
NO_LINES = "--lines-only: no line was recorded; name functions by --lines, or the cell by --lines ."
defaults: dict[str, object] = {}  # of the session, from %spartito_config


def split(line: str) -> list[str]:
    """Words as in a shell. Usage: a quotation mark is missing."""
    try:
        return shlex.split(line)
    except ValueError as e:
        raise Usage(f"{line}: {str(e).lower()}") from None


def parse_options(line: str) -> dict[str, object]:
    """The options of a line that holds nothing else. Usage: what cannot be understood."""
    given, rest = parse(CELL, split(line))
    if rest:
        raise Usage(f"unexpected {rest[0]!r}: the line takes options alone, the code begins below it")
    return given


def parse_statement(line: str) -> tuple[dict[str, object], str]:
    """The options in front of a statement, and the statement as it stands there."""
    stream = io.StringIO(line)
    words = shlex.shlex(stream, posix=True)
    words.whitespace_split, words.commenters = True, ""
    options: list[str] = []
    at = 0
    try:
        while line[at:].lstrip().startswith("-"):
            word = words.get_token() or ""
            at = stream.tell()
            if word == "--":
                break
            options.append(word)
            option = CELL.find(word)
            if option and option.kind != "flag":
                options.append(words.get_token() or "")
                at = stream.tell()
    except ValueError as e:
        raise Usage(f"{line}: {str(e).lower()}") from None
    return parse(CELL, options)[0], line[at:].strip()


def _patterns(given: dict[str, object], name: str) -> None:
    lines, items = given.get("lines"), given.get("filter")
    if isinstance(lines, list):
        given["lines"] = [one for text in lines for one in line_patterns(text, name)]
    if isinstance(items, list):
        given["filter"] = [text[0] + pattern(text[1:], name) for text in items]


def merged(given: dict[str, object]) -> dict[str, object]:
    """With the defaults of the session below it; filters of both count."""
    if given.get(ALONE.dest):
        return {name: value for name, value in given.items() if name != ALONE.dest}
    both = {**defaults, **given}
    first, then = defaults.get("filter"), given.get("filter")
    if isinstance(first, list) and isinstance(then, list):
        both["filter"] = [*first, *then]
    return both


def values_of(given: dict[str, object], name: str = "In[0]") -> list[Value]:
    """Usage: a value that cannot be read."""
    all_given = merged(given)
    all_given.pop("help", None)
    _patterns(all_given, name)
    values = resolve(all_given)
    texts = {value.setting.name: value.text for value in values}
    if texts["to"]:
        with_trace(texts, values)
    without_effect({value.setting.name: value for value in values})
    return values


def check(line: str) -> str | None:
    """For a cell that is only looked at: Usage; or the text that it asks for, which is no measurement."""
    given = parse_options(line)
    if given.get("help"):
        return help_text()
    values_of(given)
    return None


def request(given: dict[str, object], name: str) -> tuple[Request, list[str]]:
    """And sentences about what cannot be counted here."""
    values = values_of(given, name)
    texts = {value.setting.name: value.text for value in values}
    settings = {value.setting.name: value.text for value in values if value.setting.recorded and value.origin != "default"}
    by_name = {value.setting.name: value for value in values}
    sampled = texts["sample"] == "1"
    if texts["lines_only"] == "1" or texts["calls"] == "0" or (sampled and not records_calls(by_name)):
        settings["instrument"] = "0"
    settings.update(with_memory(by_name))
    made = Request(
        name,
        settings,
        texts["output"],
        to=tuple(filter(None, texts["to"].split(","))),
        compress=texts["compress"] == "1",
        quiet=texts["quiet"] == "1",
        lines_only=texts["lines_only"] == "1",
        sample_rate=texts["sample_rate"] if sampled else "",
        sample_native=texts["sample_native"] == "1",
    )
    return made, [*not_said(strange_variables()), *(uncounted(texts["metrics"]) if texts["metrics"] else [])]


def help_text() -> str:
    """All options, as `spartito run --help` tells them."""
    return "\n".join(option_lines(CELL.options, 80))


def without_lines(directory: str, settings: dict[str, str], lines_only: bool) -> list[str]:
    """Sentences: what was asked for by --lines and --lines-only, and is not in the result."""
    patterns = settings["lines"].split("\n") if settings.get("lines") else []
    if not patterns and not lines_only:
        return []
    from spartito._analyse import Error, Model
    from spartito.run.linepatterns import matches, unmatched

    try:
        model = Model(directory)
        if not patterns:
            return [] if model.lines() else [NO_LINES]
        taken = dict(zip(patterns, matches(model, len(patterns))))
        # a cell without functions has its statements, and the other way round
        missing = [p for p in patterns if not (taken[p] or p.endswith(STATEMENTS) or taken.get(p + STATEMENTS))]
        said = [text for text in unmatched(model, patterns, []) if any(text.startswith(f"--lines {p!r}:") for p in missing)]
        return [plain(text) for text in said]
    except Error:
        return []  # the result says what is wrong with it
