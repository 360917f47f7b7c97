# SPDX-License-Identifier: BSD-3-Clause
"""spartito convert: write an experiment for another tool."""

from __future__ import annotations

from spartito import conversion, losses
from spartito.options import Usage
from spartito.reading import load, one_directory
from spartito.text import standard_output


def main(values: dict[str, object], operands: list[str]) -> int:
    directory = one_directory("convert", operands)
    if "to" not in values:
        names = ", ".join(f.name for f in conversion.formats())
        raise Usage(f"no format given: --to FORMAT ({names})")
    f = conversion.find(str(values["to"]))
    path = str(values.get("output") or conversion.default_path(directory, f))
    model, info = load(directory)
    process = values.get("process", -1)
    assert isinstance(process, int)
    if process >= len(info["processes"]):
        raise Usage(f"--process {process}: the experiment has processes 0 to {len(info['processes']) - 1}")
    conversion.convert(model, bool(info["traced"]), f, path, process)
    losses.say_all(model.info(), directory)  # damage of the trace is found when it is read
    standard_output().line(f"wrote {path}" + (f" (open with {f.opens})" if f.opens else ""))
    return 0
