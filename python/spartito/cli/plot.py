# SPDX-License-Identifier: BSD-3-Clause
"""spartito plot: draws a chart or the call graph."""

from __future__ import annotations

from spartito.base.text import standard_output
from spartito.experiments import losses
from spartito.experiments.reading import load, one_experiment
from spartito.options.table import PLOTS, Usage
from spartito.picture import chart, graph
from spartito.picture.drawing import output

CHART_SUFFIXES, GRAPH_SUFFIXES = (".svg", ".png"), (".svg", ".png", ".pdf", ".dot")
OF_CHARTS, OF_GRAPHS = ("width", "height"), ("nodes", "edges", "limit")  # options that only charts, or only graphs, have


def main(values: dict[str, object], operands: list[str]) -> int:
    kind = str(values.get("kind", ""))
    if not kind:
        raise Usage(f"no kind given: --kind {', '.join(PLOTS[:-1])} or {PLOTS[-1]}")
    is_graph = kind == "graph"
    for key in OF_CHARTS if is_graph else OF_GRAPHS:
        if key in values:
            raise Usage(f"--{key} is not for --kind {kind}")
    chart.check(kind, values)
    path, suffix = output(values, "graph" if is_graph else "chart", GRAPH_SUFFIXES if is_graph else CHART_SUFFIXES)
    directory = one_experiment("plot", operands)
    model, info = load(directory)
    standard_output().line((graph if is_graph else chart).draw(model, info, values, path, suffix))
    losses.say_all(model.info(), directory)  # reading the trace may have found damage
    return 0
