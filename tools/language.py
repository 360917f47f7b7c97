# SPDX-License-Identifier: BSD-3-Clause
"""language.py [FILE…]: checks prose for plain language: the project's Markdown files, with docs/commands.md all help texts, the
descriptions in src/view/contract.json, and the comments and docstrings of source files (those of COMMENTED, or any that is named).
It reports words that are not the field's terms; in Markdown also sentences of more than SENTENCE words, and lines of more than
COLUMNS columns that are neither in a table nor in a code block. The status is 1 if it found something."""

import io
import json
import pathlib
import re
import subprocess
import sys
import tokenize

SENTENCE, COLUMNS = 40, 120  # words, columns
ROOT = pathlib.Path(__file__).resolve().parent.parent
HELP = "docs/commands.md"  # all of its text is in code blocks
API = "docs/api.md"  # docstrings, with lists of columns in one sentence
CONTRACT = "src/view/contract.json"
COMMENTED = [
    *("include/*.h", "src/*.[ch]", "src/mpi/*.py", "tests/*.[ch]", "tests/*.cpp", "tests/*.py", "bench/*.c", "bench/*.py"),
    *("examples/*.[ch]", "examples/*.py", "tools/*.py", "python/*.py", "python/*.pyi", "dropin/*.py", "packaging/*.py"),
    *(f"viewer/*.{suffix}" for suffix in ("css", "mjs", "py", "ts", "tsx")),
]  # source files whose comments are checked
# a pattern of what is not written: what is written instead
WORDS = {
    r"rooms?(?! for\b)|doors?|houses?": "component, extension module, tree",
    r"look(s|ed|ing)?(?! (like|up)\b)": "sample, read, see, open",
    r"pyramids?": "level-of-detail index",
    r"roll call": "rank census",
    r"circles?": "cycle",
    r"moments?": "time, timestamp",
    r"so many|so much": "the number, N",
    r"go(es)? on|that went on|going on": "continue, resume, be outstanding",
    r"(is|are|was|were|be|been) told|told apart|tells? apart": "reported, known, distinguished",
    r"says of itself": "reports",
    r"what it says|what they say": "name the thing",
    r"(is|are|has|have) (?-i:none)": "unavailable, no …",  # not None of Python
    r"set aside": "suspend",
    r"of (its|their) own": "dedicated, separate",
    r"switch(es|ed)? (on|off)": "enable, disable",
    r"who (waits?|waited|held|holds|got|has got)\b": "waiter, lock holder",
    r"in force": "active",
    r"of one thread(?=\.)": "name the thing",
    r"a wish": "a hint",
    r"makes? anew|writes? it anew|anew": "again",
    r"stands? for": "represent",
    r"by hand": "manually, explicitly",
    r"own times?": "exclusive time, self",
    r"(has|have|had) got": "acquired, received",
}
PATTERNS = [(re.compile(rf"\b({pattern})\b", re.I), instead) for pattern, instead in WORDS.items()]


def blocks(text):
    """(number of the first line, text of a paragraph or list item, whether it is code) of a Markdown file, without tables."""
    begin, lines, fenced = 0, [], False
    for number, line in enumerate([*text.splitlines(), ""], 1):
        fence = line.lstrip().startswith("```")
        code = fenced or fence or (line.startswith("    ") and not lines)
        fenced ^= fence
        item = re.match(r"\s*([-*]|\d+\.)\s", line)
        if lines and (not line.strip() or code or item or line.startswith(("#", "|", ">"))):
            yield begin, " ".join(lines), False
            lines = []
        if code:
            yield number, line, True
        elif line.strip() and not line.startswith("|"):
            if not lines:
                begin = number
            lines.append(line.strip())


def plain(text):
    """Without code, pictures and the targets of links."""
    return re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", re.sub(r"`[^`]*`", "code", text))


def sentences(text):
    return re.split(r"(?<=[.!?])[*)\"]*\s+(?=[A-Z*`\"(\d])", re.sub(r"^\s*([-*]|\d+\.)\s+", "", text))


def strange_words(text):
    """What is wrong with each word of a text that is not a term."""
    return [f'"{found.group(1)}": {instead}' for pattern, instead in PATTERNS for found in pattern.finditer(plain(text))]


def in_markdown(name, text):
    """(line, what is wrong) of a Markdown file."""
    fenced = False
    for number, line in enumerate(text.splitlines(), 1):
        fenced ^= line.lstrip().startswith("```")
        if len(line) > COLUMNS and not fenced and not line.startswith(("|", "    ", "!", "[")):
            yield number, f"{len(line)} columns, at most {COLUMNS}"
        for wrong in strange_words(line) if line.startswith("|") else []:
            yield number, wrong
    for number, block, code in blocks(text):
        if code and name != HELP:
            continue
        for wrong in strange_words(block):
            yield number, wrong
        for sentence in [] if code or name == API else sentences(plain(block)):
            words = len(sentence.split())
            if words > SENTENCE:
                yield number, f"a sentence of {words} words, at most {SENTENCE}: {sentence[:60]}…"


def in_contract(text):
    """(line, what is wrong) of the descriptions of a JSON schema, which stand in a line each."""
    for number, line in enumerate(text.splitlines(), 1):
        for said in re.findall(r'"description": ("(?:[^"\\]|\\.)*")', line):
            for wrong in strange_words(json.loads(said)):
                yield number, wrong


def comments(name, text):
    """(line, text) of each comment and docstring of a source file. A string is a docstring if it begins a statement."""
    if name.endswith(".py"):
        begins = True
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT or (token.type == tokenize.STRING and begins and token.string.endswith('"""')):
                yield token.start[0], token.string
            if token.type not in (tokenize.COMMENT, tokenize.NL):
                begins = token.type in (tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT)
    else:
        for found in re.finditer(r"/\*.*?\*/|(?<!\S)//[^\n]*", text, re.S):
            yield text.count("\n", 0, found.start()) + 1, found[0]


def in_comments(name, text):
    """(line, what is wrong) of a source file: the line in which its comment begins. `room` is the name of many parameters."""
    for number, comment in comments(name, text):
        for wrong in strange_words(re.sub(r"\s*\n\s*\*?\s*|\broom\b", " ", comment)):
            yield number, wrong


def check(name, text):
    suffix = pathlib.PurePath(name).suffix
    return {".md": in_markdown, ".json": lambda _, text: in_contract(text)}.get(suffix, in_comments)(name, text)


def main():
    tracked = ["git", "ls-files", "*.md", CONTRACT, *COMMENTED]
    names = sys.argv[1:] or subprocess.run(tracked, cwd=ROOT, check=True, capture_output=True, text=True).stdout.split()
    found = 0
    for name in names:
        text = (ROOT / name).read_text(encoding="utf-8")
        for number, wrong in sorted(check(name, text)):
            print(f"{name}:{number}: {wrong}")
            found += 1
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
