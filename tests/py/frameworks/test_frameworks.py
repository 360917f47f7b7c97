# SPDX-License-Identifier: BSD-3-Clause
"""What a run of a program with processes or threads says first is its hot function, with its true share of the running time."""

import pytest
from frameworks import PROGRAMS, Run
from spartito.analysis import Model
from spartito.experiments import processtime
from viewing import Viewer, needs_viewer

pytestmark = needs_viewer
pytest.importorskip("sklearn")


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_hot_function_is_first_with_its_share(name, tmp_path):
    run = Run(name, tmp_path)
    model = Model(str(run.directory))
    info, (hot,) = model.info(), model.flat(sort="running", limit=1)
    running = sum(loc["running"] for loc in info["locations"])
    outside = sum(usage.cpu - usage.functions for usage in processtime.usages(info))
    assert running + outside == pytest.approx(run.used, rel=0.05, abs=0.05 * len(info["processes"])), run.summary
    assert hot["running"] == pytest.approx(run.hot, rel=0.05, abs=0.02 * len(info["processes"])), run.summary
    _, _, share, *_, function = run.summary[2].split()  # below the title and the heads of the columns
    assert function == run.function, "\n".join(run.summary)
    assert float(share) == pytest.approx(run.hot / (run.used - outside) * 100, abs=5), "\n".join(run.summary)
    viewer = Viewer(run.directory, tmp_path)
    try:
        first, time = viewer.open("")["functions"][0][:2]
        assert first == run.function and time == pytest.approx(hot["running"])
        assert viewer.open("view=table")["top"][0]["name"] == run.function
        assert viewer.page.exceptions() == []
    finally:
        viewer.close()
