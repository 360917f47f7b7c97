# SPDX-License-Identifier: BSD-3-Clause
"""The finding that imports take a large part of the run."""

from __future__ import annotations

from spartito.base.text import name, plural, seconds
from spartito.report.findings.finding import Finding, Run

MODULES = 3  # named
BODY = 0.5  # share of the time of all imports; from there on, what a module does in its own code is the first thing to change


def imports(run: Run) -> list[Finding]:
    modules = run.model.imports()
    gain = run.of_threads(modules[0]["incl"])
    if not gain.enough:
        return []
    first = sorted((m for m in modules[1:] if m["importer"] == 0), key=lambda m: -float(m["incl"]))[:MODULES]
    evidence = [f"{plural(len(modules) - 1, 'module')}; imported by the program:"] if first else []
    evidence += [f"{name(m['module'])}: {seconds(m['incl'])} with the modules that it imports" for m in first]
    advice = "import modules that not every run needs in the functions that use them, or import less of a package"
    longest = max(modules[1:], key=lambda m: float(m["excl"]), default=modules[0])
    if longest["excl"] >= BODY * modules[0]["incl"]:
        module = name(longest["module"])
        evidence.append(f"{module} ran its own code for {seconds(longest['excl'])} of this")
        advice = f"move what {module} does when it is imported into functions that run when they are needed; {advice}"
    number = len(run.info["processes"])
    title = f"imports took {seconds(modules[0]['incl'])}" + (f" in {plural(number, 'process')}" if number > 1 else "")
    row = {**first[0], "name": first[0]["module"]} if first else None
    return [Finding("imports", title, gain, evidence, advice, run.report("imports"), row)]
