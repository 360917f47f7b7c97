# SPDX-License-Identifier: BSD-3-Clause
"""Translates Score-P's filter files to items of the recorder's filter: +region:PATTERN, -file:PATTERN."""

from __future__ import annotations

from spartito.base.messages import Refused, reason

BLOCKS = {
    "SCOREP_REGION_NAMES_BEGIN": ("region:", "SCOREP_REGION_NAMES_END"),
    "SCOREP_FILE_NAMES_BEGIN": ("file:", "SCOREP_FILE_NAMES_END"),
}
ENDS = tuple(end for _, end in BLOCKS.values())
SIGNS = {"EXCLUDE": "-", "INCLUDE": "+"}


def _words(line: str) -> list[str]:
    """The words of a line without its comment. A backslash before a blank or # makes it part of a word; before other characters the
    backslash is part of the pattern."""
    words: list[str] = []
    word: str | None = None
    letters = iter(line)
    for c in letters:
        if c == "\\":
            after = next(letters, "")
            word = (word or "") + (after if after and after in " \t#" else c + after)
        elif c == "#":
            break
        elif c.isspace():
            if word is not None:
                words.append(word)
            word = None
        else:
            word = (word or "") + c
    if word is not None:
        words.append(word)
    return words


class _Reader:
    def __init__(self, path: str) -> None:
        self.path = path
        self.line = 0
        self.items: list[str] = []
        self.block = ""  # keyword of the current block
        self.begun = 0  # line in which it began
        self.rule = ""  # EXCLUDE or INCLUDE
        self.patterns = 0  # number of patterns of the rule

    def wrong(self, text: str, line: int = 0) -> Refused:
        return Refused(f"filter file {self.path}, line {line or self.line}: {text}")

    def rule_ends(self) -> None:
        if self.rule and not self.patterns:
            raise self.wrong(f"{self.rule} without a pattern")
        self.rule = ""

    def word(self, word: str) -> None:
        if not self.block:
            if word not in BLOCKS:
                known = " or ".join(BLOCKS)
                raise self.wrong(f"{word!r} where {known} is expected")
            self.block, self.begun = word, self.line
        elif word == BLOCKS[self.block][1]:
            self.rule_ends()
            self.block = ""
        elif word in BLOCKS or word in ENDS:
            raise self.wrong(f"{word} within the block that {self.block} begins in line {self.begun}")
        elif word in SIGNS:
            self.rule_ends()
            self.rule, self.patterns = word, 0
        elif not self.rule:
            raise self.wrong(f"{word!r} where EXCLUDE or INCLUDE is expected")
        elif word != "MANGLED" or self.patterns:  # names of Python have no second, mangled form
            self.patterns += 1
            # escaped: in the recorder's filter, re: begins a regular expression
            pattern = "\\" + word if word.startswith("re:") else word
            self.items.append(SIGNS[self.rule] + BLOCKS[self.block][0] + pattern)


def read(path: str) -> list[str]:
    """The items in the order of the file. Refused: the file cannot be read or is invalid; the message has the line."""
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as f:
            text = f.read()
    except OSError as e:
        raise Refused(f"SCOREP_FILTERING_FILE: {path!r} cannot be read: {reason(e)}") from None
    reader = _Reader(path)
    for line in text.split("\n"):
        reader.line += 1
        if "\0" in line:
            raise reader.wrong("a NUL character")
        for word in _words(line):
            reader.word(word)
    if reader.block:
        reader.rule_ends()
        raise reader.wrong(f"the block that {reader.block} begins is not ended by {BLOCKS[reader.block][1]}", reader.begun)
    return reader.items
