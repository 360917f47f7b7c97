# SPDX-License-Identifier: BSD-3-Clause
"""Patterns of a measured cell: what the user types, what the recorder is given, and the way back. Nothing heavy is imported."""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

THIS = "."  # as a pattern: the cell itself
STATEMENTS = ":<module>"  # behind a cell's pattern: what is outside of functions
# of the process in which the cell runs; the last one wins, so what the user includes is recorded
BETWEEN = (
    # parts of the shell that run the program's own code
    "-module:IPython", "-module:ipykernel", "-module:traitlets", "-module:zmq",
    # the kernel's loop, which runs tasks while the cell waits for them
    "-module:tornado", "-module:asyncio.base_events", "-module:asyncio.events", "-asyncio.selector_events:*", "-module:selectors",
    # and such as run none: what they call in the library is theirs
    "!module:jupyter_client", "!module:ipykernel.iostream", "!module:ipykernel.displayhook",
    "!ipykernel.zmqshell:ZMQDisplayPublisher.*",
    "!IPython.core.interactiveshell:InteractiveShell.show*", "!IPython.core.interactiveshell:InteractiveShell._format*",
    "!module:matplotlib_inline",
    # magics around the program's own code, such as %%time
    "!module:IPython.core.magic_arguments", "!module:IPython.core.compilerop", "!module:IPython.core.inputtransformer2",
    "!IPython.core.magic:Magics.parse_options", "!IPython.core.interactiveshell:InteractiveShell.transform_*",
    "!IPython.core.magics.execution:TimeitTemplateFiller.*", "!IPython.core.magics.execution:_format_time",
    "!IPython.core.interactiveshell:InteractiveShell.*find_*", "!module:IPython.utils", "!IPython.core.magics.script:*",
    "!module:codeop", "!IPython.core.displayhook:DisplayHook.semicolon_*",
    # a !command is one call, and so is a question
    "+ipykernel.kernelbase:Kernel.raw_input", "+ipykernel.kernelbase:Kernel.getpass",
    "-module:pexpect", "-module:ptyprocess",
    "+*:InteractiveShell.getoutput", "+*:InteractiveShell.system_*", "+*:ZMQInteractiveShell.system_piped",
)  # fmt: skip


def pattern(text: str, name: str) -> str:
    """For the recorder. name: of the cell, In[7], which is a cell, and no pattern for In7."""
    if text == THIS:
        text = name
    return re.sub(r"\bIn\[(\d+)\]", r"In[[]\1]", text)


def line_patterns(text: str, name: str) -> list[str]:
    """Of a cell the statements outside of functions as well, which its name alone would not take."""
    made = pattern(text, name)
    return [made, made + STATEMENTS] if re.fullmatch(r"In\[\[\]\d+\]", made) else [made]


def plain(made: str) -> str:
    """Cells as they are called."""
    return made.replace("In[[]", "In[")


def typed(made: str, name: str) -> str:
    """What the user may have typed for pattern()."""
    return THIS if plain(made) == name else plain(made)


def typed_lines(made: list[str], name: str) -> list[str]:
    """The same for all that line_patterns() gave."""
    return [typed(one, name) for one in made if not (one.endswith(STATEMENTS) and one[: -len(STATEMENTS)] in made)]


def typed_filters(items: Iterable[str], name: str) -> list[str]:
    """Without those that every cell has; each with its sign."""
    return [one[:1] + typed(one[1:], name) for one in items if one not in BETWEEN]
