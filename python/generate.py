# SPDX-License-Identifier: BSD-3-Clause
"""Run by the build: prints the man page or a completion script, from the same table as --help.

usage: generate.py man VERSION | generate.py bash|zsh|fish|markdown
"""

import os
import sys
import types

# The package itself cannot be imported before its C half is built; some of its modules can.
package = types.ModuleType("spartito")
package.__path__ = [os.path.join(os.path.dirname(os.path.abspath(__file__)), "spartito")]
sys.modules["spartito"] = package
sys.dont_write_bytecode = True

from spartito.options import shells, table  # noqa: E402


def markdown() -> str:
    parts = [
        "# Commands",
        "",
        "Made by `make docs` from the table that `--help` is made from.",
        "",
        "```",
        table.overview().rstrip(),
        "```",
    ]
    for command in table.COMMANDS:
        parts += ["", f"## spartito {command.name}", "", "```", table.help_text(command, 110, whole=True).rstrip(), "```"]
    return "\n".join(parts)


what = sys.argv[1]
text = shells.man(sys.argv[2]) if what == "man" else markdown() if what == "markdown" else shells.script(what)
sys.stdout.buffer.write((text + "\n").encode())
