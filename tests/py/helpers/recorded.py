# SPDX-License-Identifier: BSD-3-Clause
"""An experiment as shown by the report and by the OTF2 trace."""

import json
import subprocess

from commandline import run
from foreign import OTF2_PRINT, Trace


class Experiment:
    def __init__(self, spartito, path):
        self.spartito, self.path = spartito, path
        done = run(spartito, "report", "tree", "--threshold", "0", "--limit", "0", "--json", path)
        assert (done.returncode, done.stderr) == (0, "")
        self.rows = json.loads(done.stdout)["rows"]

    def paths(self, below=""):
        """{('a', 'b'): visits} of the call tree; parameters follow the name of their path."""
        out, stack = {}, []
        for row in self.rows:
            name = row["name"] + "".join(f" {p['name']}={p['value']}" for p in row.get("parameters", []))
            stack[row["depth"] :] = [name]
            if not below or below in stack:
                at = stack.index(below) if below else 0
                out[tuple(stack[at:])] = row["visits"]
        return out

    def row(self, name):
        return next(row for row in self.rows if row["name"] == name)

    def trace(self):
        target = self.path / "otf2"
        if not target.exists():
            done = run(self.spartito, "convert", self.path, "--to", "otf2", "-o", target)
            assert (done.returncode, done.stderr) == (0, "")
        return Trace(target / "traces.otf2")

    def modes(self):
        """OFF or ON of each MEASUREMENT_ON_OFF record, in order."""
        self.trace()
        done = subprocess.run([OTF2_PRINT, self.path / "otf2" / "traces.otf2"], capture_output=True, text=True)
        return [line.split()[-1] for line in done.stdout.splitlines() if line.startswith("MEASUREMENT_ON_OFF")]
