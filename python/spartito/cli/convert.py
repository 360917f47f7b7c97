# SPDX-License-Identifier: BSD-3-Clause
"""spartito convert: write an experiment for another tool."""

from __future__ import annotations

from spartito.base.text import plural, standard_output
from spartito.experiments import conversion, losses
from spartito.experiments.naming import chosen
from spartito.experiments.reading import beside, load, one_experiment
from spartito.options.table import Usage


def main(values: dict[str, object], operands: list[str]) -> int:
    directory = one_experiment("convert", operands)
    if "to" not in values:
        names = ", ".join(f.name for f in conversion.formats())
        raise Usage(f"no format given: --to FORMAT ({names})")
    wanted = [conversion.find(name) for name in dict.fromkeys(str(values["to"]).split(","))]
    calls = "samples_as_calls" in values
    if calls and all(f.name != "otf2" for f in wanted):
        raise Usage("--samples-as-calls is for OTF2 archives: --to otf2")
    if "per_rank" in values:
        return _per_rank(directory, wanted, values)
    if len(wanted) > 1 and "output" in values:
        raise Usage("-o names one file, and --to several formats: leave one of them out, or add --per-rank")
    model, info = load(directory)
    process = chosen(info, values)
    for f in wanted:
        path = str(values.get("output") or conversion.default_path(directory, f))
        conversion.convert(model, f, path, process, calls)
        standard_output().line(conversion.wrote(path, f, info))
    return losses.say_all(model.info(), directory)  # reading the trace may have found damage


def _per_rank(directory: str, wanted: list[conversion.Format], values: dict[str, object]) -> int:
    from spartito.experiments import perrank

    for one in ("process", "rank"):
        if one in values:
            raise Usage(f"--per-rank writes every process, and --{one} names one: leave one of them out")
    model, _ = load(directory)
    path = str(values.get("output") or beside(directory, "-ranks"))
    files = perrank.convert(model, wanted, path)
    standard_output().line(f"wrote {plural(files, 'file')} into {path}")
    return losses.say_all(model.info(), directory)
