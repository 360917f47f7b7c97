# SPDX-License-Identifier: BSD-3-Clause
"""What the experiment of a session contains about its tests and fixtures."""

from __future__ import annotations

from spartito._analyse import Model
from spartito.experiments.losses import sentences
from spartito.pytest.durations import PHASES
from spartito.pytest.regions import COLLECTION, FIXTURE, TEARDOWN
from spartito.report.findings import topics
from spartito.view.payload import NONE, unpack

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection

    from spartito.report.findings.finding import Finding

FINDINGS = 3  # the largest ones


class Fixture:
    """Sums over all setups of a fixture: inclusive times in s."""

    def __init__(self) -> None:
        self.setup = self.teardown = 0.0
        self.setups = 0

    @property
    def total(self) -> float:
        return self.setup + self.teardown


def _sentence(finding: Finding, tests: Collection[str]) -> str:
    test = next((region for region in finding.path if region in tests), "")
    return f"finding{f' in {test}' if test else ''}: {finding.title} (a change saves at most {finding.gain})"


class Profile:
    """hottest: for each test the function with the most exclusive time below its region, and that time in s, of all runs together.
    findings: sentences about what costs most and can be changed, with the test in which it is. fixtures: by name. collection: its
    time in s, in the process that took longest. losses: what is not recorded."""

    def __init__(self, directory: str, tests: Collection[str]) -> None:
        """spartito._analyse.Error: the experiment cannot be read."""
        model = Model(directory)
        info = model.info()
        self.processes = len(info["processes"])
        self.losses = sentences(info)
        self.findings = [_sentence(finding, tests) for finding in topics.ranked(model, False, FINDINGS)[0]]
        self.hottest: dict[str, tuple[str, float]] = {}
        self.fixtures: dict[str, Fixture] = {}
        self.collection = max(
            (row["max"] for row in model.flat(match=COLLECTION) if row["kind"] == "user" and row["name"] == COLLECTION), default=0.0
        )
        if info["paths"]:
            self._read(model, info["paths"], tests)

    def _read(self, model: Model, paths: int, tests: Collection[str]) -> None:
        regions, columns = unpack(model.view("regions"))
        kinds = columns["kind"]
        user = regions["kinds"].index("user")
        names = regions["names"]
        _, tree = unpack(model.view("tree", limit=paths))
        parents, row_regions = tree["parent"], tree["region"]
        below: list[tuple[str, bool]] = []  # of each row: the test, "" outside of tests, and whether it is in a phase of that
        times: dict[str, dict[int, float]] = {}  # {test: {region: exclusive time}}
        for row, region in enumerate(row_regions):
            test, in_phase = below[parents[row]] if parents[row] != NONE else ("", False)
            if region != NONE and kinds[region] == user:
                name = names[region]
                if name in tests:
                    test, in_phase = name, False
                elif name in PHASES and test:
                    in_phase = True  # between the phases pytest writes its reports
                elif name.startswith(FIXTURE):
                    self._add_fixture(name, tree["incl"][row], int(tree["visits"][row]))
            elif region != NONE and in_phase:
                of_test = times.setdefault(test, {})
                of_test[region] = of_test.get(region, 0.0) + tree["excl"][row]
            below.append((test, in_phase))
        for test, sums in times.items():
            hottest = max(sums, key=lambda region: sums[region])
            self.hottest[test] = names[hottest], sums[hottest]

    def _add_fixture(self, name: str, time: float, visits: int) -> None:
        fixture = self.fixtures.setdefault(name.removeprefix(FIXTURE).removesuffix(TEARDOWN), Fixture())
        if name.endswith(TEARDOWN):
            fixture.teardown += time
        else:
            fixture.setup += time
            fixture.setups += visits
