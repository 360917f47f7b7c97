# SPDX-License-Identifier: BSD-3-Clause
"""Translates patterns of notebook cells from the form that the user types to the form that the recorder reads, and back."""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

THIS = "."  # the pattern that the user types for the cell itself
STATEMENTS = ":<module>"  # suffix of a cell's pattern: statements outside of functions
# filter items for the process that runs cells. The last match wins, so functions that the user includes are recorded.
# "-" leaves a function out; "!" also leaves out the functions that it calls.
BETWEEN = (
    # parts of IPython that call the user's code
    "-module:IPython", "-module:ipykernel", "-module:traitlets", "-module:zmq",
    # the kernel's event loop, which runs the user's tasks while a cell awaits them
    "-module:tornado", "-module:asyncio.base_events", "-module:asyncio.events", "-asyncio.selector_events:*", "-module:selectors",
    # parts that never call the user's code
    "!module:jupyter_client", "!module:ipykernel.iostream", "!module:ipykernel.displayhook",
    "!ipykernel.zmqshell:ZMQDisplayPublisher.*",
    "!IPython.core.interactiveshell:InteractiveShell.show*", "!IPython.core.interactiveshell:InteractiveShell._format*",
    "!module:matplotlib_inline",
    # magics that run the user's code, such as %%time: only their helpers
    "!module:IPython.core.magic_arguments", "!module:IPython.core.compilerop", "!module:IPython.core.inputtransformer2",
    "!IPython.core.magic:Magics.parse_options", "!IPython.core.interactiveshell:InteractiveShell.transform_*",
    "!IPython.core.magics.execution:TimeitTemplateFiller.*", "!IPython.core.magics.execution:_format_time",
    "!IPython.core.interactiveshell:InteractiveShell.*find_*", "!module:IPython.utils", "!IPython.core.magics.script:*",
    "!module:codeop", "!IPython.core.displayhook:DisplayHook.semicolon_*",
    # a !command is recorded as one call, and so is input()
    "+ipykernel.kernelbase:Kernel.raw_input", "+ipykernel.kernelbase:Kernel.getpass",
    "-module:pexpect", "-module:ptyprocess",
    "+*:InteractiveShell.getoutput", "+*:InteractiveShell.system_*", "+*:ZMQInteractiveShell.system_piped",
)  # fmt: skip


def pattern(text: str, name: str) -> str:
    """The pattern for the recorder. Brackets of a cell name such as In[7] are escaped, as the shell pattern In[7] would match In7.
    name: of the current cell, which replaces THIS."""
    if text == THIS:
        text = name
    return re.sub(r"\bIn\[(\d+)\]", r"In[[]\1]", text)


def line_patterns(text: str, name: str) -> list[str]:
    """The patterns of --lines for the recorder. The name of a cell matches its functions only; a second pattern matches the
    statements outside of functions."""
    made = pattern(text, name)
    return [made, made + STATEMENTS] if re.fullmatch(r"In\[\[\]\d+\]", made) else [made]


def plain(made: str) -> str:
    """The pattern with unescaped cell names."""
    return made.replace("In[[]", "In[")


def typed(made: str, name: str) -> str:
    """The inverse of pattern(): a pattern as the user may have typed it."""
    return THIS if plain(made) == name else plain(made)


def typed_lines(made: list[str], name: str) -> list[str]:
    """The inverse of line_patterns()."""
    return [typed(one, name) for one in made if not (one.endswith(STATEMENTS) and one[: -len(STATEMENTS)] in made)]


def typed_filters(items: Iterable[str], name: str) -> list[str]:
    """The filter items (with their sign) as the user may have typed them, without those of BETWEEN."""
    return [one[:1] + typed(one[1:], name) for one in items if one not in BETWEEN]
