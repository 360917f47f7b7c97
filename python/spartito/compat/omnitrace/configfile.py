# SPDX-License-Identifier: BSD-3-Clause
"""Omnitrace's configuration files: lines `NAME = VALUE` with comments and $variables, or JSON."""

from __future__ import annotations

import os

from spartito.base.messages import Refused, reason

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

PREFIX = "OMNITRACE_"


class Entry:
    """A value, and its origin: file and line."""

    __slots__ = ("name", "origin", "text")

    def __init__(self, name: str, text: str, origin: str) -> None:
        self.name = name
        self.text = text
        self.origin = origin


def _name(word: str) -> str:
    upper = word.strip().upper()
    return upper if upper.startswith(PREFIX) else PREFIX + upper


def _lines(path: str, data: bytes) -> Iterator[tuple[str, str]]:
    """(origin, text) of each line."""
    for number, line in enumerate(data.split(b"\n"), 1):
        where = f"configuration file {path}, line {number}"
        try:
            text = line.decode()
        except UnicodeDecodeError as e:
            raise Refused(f"{where}: byte {e.start + 1} is not UTF-8") from None
        if "\0" in text:
            raise Refused(f"{where}: a NUL character")
        yield where, text


def _expanded(where: str, text: str, known: dict[str, str]) -> str:
    """Replaces $NAME and $env:NAME by their values."""
    out = []
    words = text.split("$")
    for i, word in enumerate(words):
        if i == 0:
            out.append(word)
            continue
        env = word[:4].lower() == "env:"
        rest = word[4:] if env else word
        braces = rest.startswith("{") and "}" in rest
        n = rest.index("}") if braces else 0
        if not braces:
            while n < len(rest) and (rest[n].isalnum() or rest[n] == "_"):
                n += 1
        name = rest[1:n] if braces else rest[:n]
        if not name:
            raise Refused(f"{where}: no name follows the $ in {text!r}")
        if env:
            value = os.environ.get(name, "")
        elif name in known:
            value = known[name]
        else:
            raise Refused(f"{where}: the variable ${name} has no value here")
        out.append(value + rest[n + braces :])
    return "".join(out)


def _text(path: str, data: bytes) -> Iterator[Entry]:
    known: dict[str, str] = {}
    for where, line in _lines(path, data):
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        name, sep, value = text.partition("=")
        name, value = name.strip(), value.split(" #")[0].strip()
        if not sep:
            raise Refused(f"{where}: {text!r} is not of the form NAME = VALUE")
        value = _expanded(where, value, known)
        if name[:5].lower() == "$env:":
            os.environ[name[5:]] = value
        elif name.startswith("$"):
            known[name[1:]] = value
        elif not name.replace("_", "").isalnum() or not name.isascii():
            raise Refused(f"{where}: {name!r} is no name of a variable")
        else:
            yield Entry(_name(name), value, where)


def _json_text(value: object) -> str | None:
    if isinstance(value, dict):
        return _json_text(value.get("value"))
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        parts = [_json_text(one) for one in value]
        return None if None in parts else " ".join(part or "" for part in parts)
    return str(value) if isinstance(value, (str, int, float)) else None


def _json(path: str, data: bytes) -> Iterator[Entry]:
    import json

    list(_lines(path, data))
    try:
        found = json.loads(data)
    except ValueError as e:
        line = getattr(e, "lineno", 1)
        raise Refused(f"configuration file {path}, line {line}: {getattr(e, 'msg', e)}") from None
    text = data.decode()
    # omnitrace-avail writes {"omnitrace": {"settings": {NAME: {"value": …}}}}; {NAME: …} is accepted, too
    for key in ("omnitrace", "settings"):
        if isinstance(found, dict) and isinstance(found.get(key), dict):
            found = found[key]
    if not isinstance(found, dict):
        raise Refused(f"configuration file {path}, line 1: not an object of names and values")
    for name, value in found.items():
        at = text.find(json.dumps(name))
        where = f"configuration file {path}, line {text.count(chr(10), 0, max(at, 0)) + 1}"
        plain = _json_text(value)
        if plain is None:
            raise Refused(f"{where}: the value of {name!r} is neither text, a number, true or false nor a list of these")
        yield Entry(_name(name), plain, where)


def read(path: str) -> list[Entry]:
    """The values in the order of the file. Refused: the file cannot be read; the message has the line."""
    try:
        with open(path, "rb") as f:
            data = f.read()
    except OSError as e:
        raise Refused(f"configuration file {path}: {reason(e)}") from None
    start = data.lstrip()[:1]
    if start == b"<":
        raise Refused(f"configuration file {path}, line 1: XML is not read here; lines NAME = VALUE are, and JSON")
    return list(_json(path, data) if start == b"{" else _text(path, data))
