# SPDX-License-Identifier: BSD-3-Clause
"""Prints docs/api.md: what help() says of every public name of spartito."""

import inspect
import re
import textwrap

import spartito

HEAD = """# Python API

Made by `make docs` from the docstrings, which `help(spartito)` shows; their examples run as tests.

A program may import `spartito` and use it without being measured: each call then costs next to nothing. The functions
for C, C++ and Cython are those of `include/spartito.h`; see [compiled code](native.md).
"""


# a parameter or an error at the begin of a sentence: "name: str." "group, file: …" "TypeError: …"
ITEM = re.compile(r"(?:^|(?<=[.] ))(?P<names>[a-z_]\w*(?:, [a-z_]\w*)*|[A-Z]\w*(?:Error|Exception))(?:: )")


def wrapped(text, indent=""):
    return textwrap.fill(text, 118, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


def paragraph(text):
    """A paragraph as Markdown: examples are code, parameters and errors a list."""
    if text.lstrip().startswith(">>> "):
        return f"```python\n{textwrap.dedent(text)}\n```"
    text = " ".join(text.split())
    begins = list(ITEM.finditer(text))
    if not begins or begins[0].start():
        return wrapped(text)
    ends = [*(found.start() for found in begins[1:]), len(text)]
    items = [f"- `{found['names']}`: {text[found.end() : end].strip()}" for found, end in zip(begins, ends)]
    return "\n".join(wrapped(item, "  ") for item in items)


def section(level, name, thing):
    try:
        arguments = str(inspect.signature(thing)).replace("'", "")
    except (TypeError, ValueError):  # an attribute
        arguments = ""
    paragraphs = inspect.getdoc(thing).rstrip().split("\n\n")
    return [f"{level} {name.rsplit('.', 1)[-1]}", f"```python\n{name}{arguments}\n```", *map(paragraph, paragraphs)]


def members(kind):
    """Documented members of a class that are its own."""
    return [(name, member) for name, member in vars(kind).items() if not name.startswith("_") and inspect.getdoc(member)]


def main():
    parts = [HEAD.strip()]
    for name in spartito.__all__:
        thing = getattr(spartito, name)
        if name == "__version__":
            continue
        parts += section("##", f"spartito.{name}", thing)
        if inspect.isclass(thing) and inspect.isfunction(vars(thing).get("__init__")):  # of Python: its members have texts
            for member, value in members(thing):
                parts += section("###", f"{name}.{member}", value)
    print("\n\n".join(parts))


if __name__ == "__main__":
    main()
