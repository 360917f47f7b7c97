# SPDX-License-Identifier: BSD-3-Clause
"""The settings of a recording. Each one comes from the command line, a variable, pyproject.toml or its default."""

from __future__ import annotations

import os
import sys

from spartito.options.table import Usage, near

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


class Setting:
    """One setting. recorded: the measured process reads it from the variable SPARTITO_NAME."""

    __slots__ = ("default", "kind", "name", "option", "recorded")

    def __init__(self, name: str, option: str, kind: str, default: str, recorded: bool = True) -> None:
        self.name = name
        self.option = option
        self.kind = kind
        self.default = default
        self.recorded = recorded

    @property
    def variable(self) -> str:
        return "SPARTITO_" + self.name.upper()


class Value:
    """The value of a setting. origin: "command line", the name of a variable, a key of pyproject.toml or "default"."""

    __slots__ = ("origin", "setting", "text")

    @property
    def named(self) -> str:
        """The option, variable or key that set it."""
        return self.setting.option if self.origin == "command line" else self.origin

    def __init__(self, setting: Setting, text: str, origin: str) -> None:
        self.setting = setting
        self.text = text  # as the measured process reads it
        self.origin = origin


SETTINGS = (
    Setting("output", "-o", "text", "", recorded=False),
    Setting("compress", "--compress", "flag", "0", recorded=False),
    Setting("quiet", "-q", "flag", "0", recorded=False),
    Setting("to", "--to", "formats", "", recorded=False),
    Setting("finalize", "--no-finalize", "flag", "1"),
    Setting("trace", "--trace", "flag", "0"),
    Setting("hook", "--hook", "hook", "auto"),
    Setting("c_calls", "--c-calls", "flag", "0"),
    Setting("trace_memory", "--trace-memory", "size", "512M"),
    Setting("when_full", "--when-full", "when_full", "flush"),
    Setting("filter", "--include/--exclude", "filter", ""),
    Setting("lines", "--lines", "patterns", ""),
    Setting("lines_only", "--lines-only", "flag", "0", recorded=False),
    Setting("sample", "--sample", "flag", "0", recorded=False),
    Setting("sample_rate", "--sample-rate", "rate", "100", recorded=False),
    Setting("sample_native", "--sample-native", "flag", "0", recorded=False),
    Setting("calls", "--calls", "flag", "1", recorded=False),
    Setting("source", "--no-source", "flag", "1"),
    Setting("own", "--own", "paths", ""),
    Setting("only_mine", "--only-mine", "flag", "0"),
    Setting("depth", "--depth", "count", "0"),
    Setting("task_limit", "--task-limit", "count", "100000"),
    Setting("gil", "--gil", "flag", "0"),
    Setting("waits", "--waits", "flag", "0"),
    Setting("annotate", "--annotate", "flag", "0"),
    Setting("label", "--label", "label", ""),
    Setting("label_limit", "--label-limit", "count", "10000"),
    Setting("label_repr", "--label-repr", "types", ""),
    Setting("memory_profile", "--memory-profile", "flag", "0"),
    Setting("memory_sample", "--memory-sample", "bytes", "0"),
    Setting("limit_rss", "--limit-rss", "bytes", "0"),
    Setting("temporary", "--temporary", "count", "1"),
    Setting("io", "--io", "flag", "0"),
    Setting("metrics", "--metric", "metrics", ""),
    Setting("mpi", "--mpi", "mpi", "auto"),
)
# other variables of Spartito, which are no settings
OTHERS = ("SPARTITO_EXPERIMENT", "SPARTITO_SCOREP", "SPARTITO_SCOREP_PROGRAM", "SPARTITO_OMNITRACE", "SPARTITO_INSTRUMENT",
          "SPARTITO_SAMPLER",
          "SPARTITO_SAMPLING", "SPARTITO_PROFILE_DEPTH", "SPARTITO_CLOCK",
          "SPARTITO_CC", "SPARTITO_CXX", "SPARTITO_FC", "SPARTITO_WRAPPER", "SPARTITO_MACHINE",
          "SPARTITO_EXECUTABLE", "SPARTITO_INSTRUMENTER_FILE", "SPARTITO_OMNITRACE_CONFIG",
          "SPARTITO_KERNPROF", "SPARTITO_KERNPROF_SETUP", "SPARTITO_VIEW", "SPARTITO_VIEW_TOKEN",
          "SPARTITO_WAIT_KINDS",
          "SPARTITO_KERNEL_MEMORY", "SPARTITO_KERNEL_PRELOAD")  # fmt: skip
LABELS = ("args", "file", "path", "line")
TRUE = ("1", "true", "yes", "on")
FALSE = ("0", "false", "no", "off", "")
FILTER_HINT = "; both are in one list: filter = ['+INCLUDED', '-EXCLUDED']"
MIN_SIZE, MAX_SIZE = 256 << 10, 10**18  # bytes; the recorder has the same limits
UNITS = {"": 0, "K": 10, "M": 20, "G": 30, "T": 40}


def _bytes(text: str, smallest: int = 1) -> str:
    word = text.strip().upper()
    for end in ("IB", "B"):
        if word.endswith(end):
            word = word[: -len(end)]
            break
    unit = word[-1:] if word[-1:] in ("K", "M", "G", "T") else ""
    digits = word[: len(word) - len(unit)].strip()
    if not digits.isascii() or not digits.replace(".", "", 1).isdigit() or len(digits) > 15:
        raise ValueError("is not a size such as 500K, 64M or 2G")
    size = int(float(digits) * (1 << UNITS[unit]))
    if not smallest <= size <= MAX_SIZE:
        raise ValueError(f"is no size between {'256K' if smallest > 1 else 1} and {MAX_SIZE >> 40}T")
    return str(size)


def _regular(pattern: str) -> None:
    """Checks a regular expression before the program starts. The recorder uses POSIX extended expressions. Python's are similar,
    but (?…) has another meaning in POSIX and is refused. ValueError: the expression is invalid."""
    import re
    import warnings

    if "(?" in pattern:
        raise ValueError(f"{pattern!r}: (?…) is not part of extended regular expressions")
    text = re.sub(r"\[:\w+:\]", "a", pattern)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            re.compile(text)
        except re.error as e:
            raise ValueError(f"{pattern!r} is no regular expression: {e}") from None


def _items(text: str) -> list[str]:
    return list(filter(None, map(str.strip, text.split("\n"))))


def _pattern(pattern: str, item: str) -> None:
    for part in ("module:", "file:", "function:"):
        if pattern.startswith(part):
            pattern = pattern[len(part) :]
            break
    if pattern.startswith("re:"):
        pattern = pattern[3:]
        _regular(pattern)
    if not pattern:
        raise ValueError(f"{item!r} has an empty pattern")


def _rate(text: str) -> str:
    if not (text.isascii() and text.isdigit()) or not 1 <= int(text) <= 1000:
        raise ValueError(f"{text!r} is no whole number of samples a second from 1 to 1000")
    return str(int(text))


def _filter(text: str) -> str:
    items = _items(text)
    for item in items:
        if item[0] not in "+-" or len(item) < 2:
            raise ValueError(f"{item!r} does not begin with + (include) or - (exclude) and a pattern")
        _pattern(item[1:], item)
    return "\n".join(items)


def _patterns(text: str) -> str:
    items = _items(text)
    for item in items:
        _pattern(item, item)
    return "\n".join(dict.fromkeys(items))


def paths(text: str) -> str:
    """Absolute paths, one a line, with a ! before those that have one. ValueError: a file or directory does not exist, or is given
    with and without a !."""
    found: dict[str, str] = {}
    for item in _items(text):
        sign = "!" if item.startswith("!") else ""
        given = item[len(sign) :].strip()
        path = os.path.abspath(given)
        if not given or not os.path.exists(path):
            raise ValueError(f"{given!r}: no such file or directory")
        if found.setdefault(path, sign) != sign:
            raise ValueError(f"{item!r} is given with and without a !")
    return "\n".join(sign + path for path, sign in found.items())


def _hook(text: str) -> str:
    if text == "auto":
        return text
    from spartito._measure import hooks

    known = hooks()
    for name, works, why in known:
        if name == text:
            if works:
                return text
            raise ValueError(f"the hook {text!r} does not work here: {why}")
    names = [name for name, _, _ in known]
    raise ValueError(f"{text!r} is not one of the hooks {', '.join(names)}{near(text, names)}")


def _formats(text: str) -> str:
    names = [name.strip() for name in text.split(",") if name.strip()]
    if names:
        from spartito._analyse import writers

        known = [row[0] for row in writers()]
        for name in names:
            if name not in known:
                raise ValueError(f"unknown format {name!r}{near(name, known)} (known: {', '.join(known)})")
    return ",".join(dict.fromkeys(names))


def _label(text: str) -> str:
    words = [word.lower() for word in text.replace(",", " ").split()]
    for word in words:
        if word not in LABELS:
            raise ValueError(f"{word!r} is not one of {', '.join(LABELS)}{near(word, list(LABELS))}")
    return ",".join(word for word in LABELS if word in words)


def _types(text: str) -> str:
    words = text.replace(",", " ").split()
    for word in words:
        if not all(part.isidentifier() for part in word.split(".")):
            raise ValueError(f"{word!r} is no name of a type such as Grid or package.module.Grid")
    return ",".join(dict.fromkeys(words))


def _metrics(text: str) -> str:
    words = ",".join(dict.fromkeys(text.replace(",", " ").split()))
    if words:
        from spartito._measure import metrics

        metrics(words)
    return words


def mpi_groups(text: str) -> str:
    """Normalizes groups of MPI functions: separated by commas; ~ excludes a group. ValueError: an unknown group."""
    words = [word.lower() for word in text.replace(",", " ").replace(":", " ").replace(";", " ").split()]
    from spartito._measure import mpi_groups as names

    known = names()
    for word in words:
        if word.removeprefix("~") not in known:
            raise ValueError(f"{word!r} is no group of MPI functions{near(word, known)} (known: {', '.join(known)})")
    return ",".join(words) or "off"


def uncounted(text: str) -> list[str]:
    """Sentences about metrics that cannot be counted on this machine."""
    from spartito._measure import metrics

    return [uncounted_metric(name, why) for name, _, why in metrics(text) if why]


def _flag(text: str) -> str:
    word = text.strip().lower()
    if word in TRUE:
        return "1"
    if word in FALSE:
        return "0"
    raise ValueError(f"{text!r} is neither on (1, true, yes, on) nor off (0, false, no, off)")


CHECKS = {
    "filter": _filter, "patterns": _patterns,
    "hook": _hook,
    "formats": _formats,
    "metrics": _metrics,
    "mpi": mpi_groups,
    "label": _label,
    "types": _types,
    "rate": _rate,
    "paths": paths,
}


def normal(setting: Setting, text: str, off: bool = True) -> str:
    """The value as the measured process reads it. off: accept 0 for a setting in bytes, which disables it. ValueError: the value is
    invalid."""
    kind = setting.kind
    if "\0" in text:
        raise ValueError("holds a NUL character")
    if kind == "flag":
        return _flag(text)
    if not text:
        return setting.default
    if kind in ("size", "bytes"):
        try:
            return "0" if off and text == setting.default == "0" else _bytes(text, MIN_SIZE if kind == "size" else 1)
        except ValueError as e:
            raise ValueError(f"{text!r} {e}") from None
    if kind == "count":
        if not (text.isascii() and text.isdigit()) or len(text) > 9:
            raise ValueError(f"{text!r} is not a whole number")
        return str(int(text))
    if kind == "when_full":
        if text not in ("flush", "stop"):
            raise ValueError(f"{text!r} is neither flush nor stop")
        return text
    check = CHECKS.get(kind)
    return check(text) if check else text


def plain_text(value: object) -> str:
    """A value from the command line, a TOML file or a keyword argument, as text. ValueError: its type is wrong."""
    if value is True or value is False:
        return "1" if value else "0"
    if isinstance(value, (list, tuple)):
        for item in value:
            if not isinstance(item, str):
                raise ValueError(f"{item!r} in the list is not text")
        return "\n".join(value)
    if isinstance(value, (str, int)):
        return str(value)
    raise ValueError(f"{value!r} is neither text, a whole number, true or false nor a list")


def project_file(start: str) -> str:
    """Path of the nearest pyproject.toml in `start` or above; "": there is no such file."""
    directory = start
    while True:
        path = os.path.join(directory, "pyproject.toml")
        if os.path.isfile(path):
            return path
        above = os.path.dirname(directory)
        if above == directory:
            return ""
        directory = above


def _project() -> tuple[str, dict[str, object]]:
    """Path of pyproject.toml and its table [tool.spartito]. Usage: the file cannot be read, or a key is unknown."""
    try:
        path = project_file(os.getcwd())
    except OSError:
        return "", {}
    if not path:
        return "", {}
    try:
        with open(path, "rb") as f:
            data = f.read()
    except OSError as e:
        raise Usage(f"{path}: {e.strerror}") from None
    # if none of these words occurs, the file has no such table: loading a TOML parser takes longer than the rest of the launcher
    bare = data.translate(None, b" \t\"'")
    if b"spartito" not in bare or not any(words in bare for words in (b"tool.spartito", b"[tool]", b"tool={")):
        return path, {}
    if sys.version_info >= (3, 11):
        import tomllib as toml
    else:
        import tomli as toml  # type: ignore[import-not-found,unused-ignore]
    try:
        table = toml.loads(data.decode()).get("tool", {}).get("spartito", {})
    except (ValueError, AttributeError) as e:
        raise Usage(f"{path}: cannot be read as TOML: {e}") from None
    if not isinstance(table, dict):
        raise Usage(f"{path}: tool.spartito is not a table")
    keys = [s.name for s in SETTINGS]
    flat = {str(key).replace("-", "_"): value for key, value in table.items()}
    for key in flat:
        if key not in keys:
            hint = FILTER_HINT if key in ("include", "exclude") else near(key, keys)
            raise Usage(f"{path}: unknown key {key!r} in [tool.spartito]{hint}")
    return path, flat


def strange_variables(environment: Mapping[str, str] | None = None) -> list[str]:
    """A line about each variable SPARTITO_* that Spartito does not know, with a suggestion."""
    prefix = "SPARTITO_"
    known = [s.variable for s in SETTINGS]
    lines = []
    for name in sorted(os.environ if environment is None else environment):
        if name.startswith(prefix) and name not in known and name not in OTHERS:
            # compare without the common prefix, which would make all names similar
            tails = [variable[len(prefix) :] for variable in known]
            hint = near(name[len(prefix) :], tails).replace("mean ", "mean " + prefix)
            if name in ("SPARTITO_INCLUDE", "SPARTITO_EXCLUDE"):
                hint = "; SPARTITO_FILTER holds both, as lines of +PATTERN and -PATTERN"
            lines.append(f"the variable {name} is not known and not used{hint}")
    return lines


def resolve(given: dict[str, object]) -> list[Value]:
    """All settings with their values and origins. given: values from the command line. Usage: an invalid value; the text names its
    origin."""
    path, table = _project()
    values = []
    for name in ("source", "finalize"):
        if "no_" + name in given:
            given[name] = not given.pop("no_" + name)
    for setting in SETTINGS:
        if setting.name in given:
            raw, origin = given[setting.name], setting.option
            source = "command line"
        elif setting.variable in os.environ:
            raw, origin = os.environ[setting.variable], setting.variable
            source = setting.variable
        elif setting.name in table:
            raw = table[setting.name]
            origin = source = f"{path}: tool.spartito.{setting.name}"
            if setting.kind == "formats" and isinstance(raw, list):
                raw = ",".join(map(str, raw))
        else:
            values.append(Value(setting, setting.default, "default"))
            continue
        try:
            # on the command line 0 bytes are refused: to disable such a setting, omit the option
            values.append(Value(setting, normal(setting, plain_text(raw), off=source != "command line"), source))
        except ValueError as e:
            raise Usage(f"{origin}: {e}") from None
    _only_included({value.setting.name: value for value in values})
    return values


def _only_included(values: dict[str, Value]) -> None:
    """If the first filter item is an include, excludes all other functions; not with --only-mine, which selects functions
    itself."""
    items = values["filter"]
    if items.text.startswith("+") and values["only_mine"].text == "0":
        items.text = "-*\n" + items.text


def keyword_settings(keywords: dict[str, object]) -> dict[str, str]:
    """The settings of spartito.start(**keywords) for the recorder. TypeError: an unknown keyword. ValueError: an invalid value."""
    known = {s.name: s for s in SETTINGS if s.recorded or s.name == "lines_only"}
    settings = {}
    for name, value in keywords.items():
        if name not in known:
            raise TypeError(f"unknown setting {name!r}{near(name, list(known))}")
        if value is None:
            continue
        try:
            settings[name] = normal(known[name], plain_text(value))
        except ValueError as e:
            raise ValueError(f"{name}: {e}") from None
    if settings.get("annotate", "0") == "1" and settings.get("trace", "0") != "1":
        raise ValueError("annotate: it needs a trace: trace=True as well")
    if settings.pop("lines_only", "0") == "1":
        settings["instrument"] = "0"
    if settings.get("filter", "").startswith("+") and settings.get("only_mine", "0") == "0":
        settings["filter"] = "-*\n" + settings["filter"]
    return settings


def uncounted_metric(name: str, why: str) -> str:
    return f"{name} cannot be counted here: {why}"
