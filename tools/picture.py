# SPDX-License-Identifier: BSD-3-Clause
"""Draws docs/report.svg: what `spartito report` shows of examples/weather.py in a terminal."""

import io
import os
import pty
import re
import subprocess
import sys
import tempfile

from rich.console import Console
from rich.text import Text

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
WIDTH = 150


def in_terminal(command, cwd):
    """What the command writes to a terminal of our width."""
    main, side = pty.openpty()
    environment = {**os.environ, "COLUMNS": str(WIDTH), "LINES": "60", "TERM": "xterm-256color"}
    p = subprocess.Popen(command, stdin=side, stdout=side, stderr=side, cwd=cwd, env=environment)
    os.close(side)
    text = b""
    while True:
        try:
            part = os.read(main, 65536)
        except OSError:  # Linux's end of a terminal
            part = b""
        if not part:
            break
        text += part
    os.close(main)
    if p.wait():
        sys.exit(text.decode())
    return text.decode().replace("\r\n", "\n")


def main():
    spartito = [sys.executable, "-m", "spartito"]
    with tempfile.TemporaryDirectory() as work:
        script = os.path.join(ROOT, "examples", "weather.py")
        subprocess.run([*spartito, "run", "-q", "--only-mine", "-o", "weather", "--", sys.executable, script], cwd=work, check=True,
                       stdout=subprocess.DEVNULL)
        views = (["report", "--limit", "10", "weather"],
                 ["report", "tree", "--threshold", "3", "weather"])
        console = Console(record=True, width=WIDTH, file=io.StringIO(), force_terminal=True)
        for n, view in enumerate(views):
            text = in_terminal([*spartito, *view], work)
            console.print(("\n" if n else "") + "$ spartito " + " ".join(view), style="bold", markup=False, highlight=False)
            console.print(Text.from_ansi(text.rstrip("\n").replace(ROOT + os.sep, "").replace(work + os.sep, "")))
    # the reader's own fixed-width font instead of one from the network
    svg = re.sub(r"@font-face \{.*?\}\s*", "", console.export_svg(title="spartito"), flags=re.DOTALL)
    with open(os.path.join(ROOT, "docs", "report.svg"), "w", encoding="utf-8") as f:
        f.write("<!-- SPDX-License-Identifier: BSD-3-Clause -->\n" + svg)


if __name__ == "__main__":
    main()
