# SPDX-License-Identifier: BSD-3-Clause
"""What the experiment of a session contains about its tests and fixtures."""

from __future__ import annotations

from spartito._analyse import Model
from spartito.experiments.losses import sentences
from spartito.pytest.durations import PHASES
from spartito.pytest.regions import COLLECTION, FIXTURE, TEARDOWN
from spartito.report.findings import topics
from spartito.report.waittables.offcpu import preempted_sentence
from spartito.view.payload import NONE, unpack

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection

FINDINGS = 3  # the largest ones of the session


class Fixture:
    """Sums over all setups of a fixture: inclusive times in s."""

    def __init__(self) -> None:
        self.setup = self.teardown = 0.0
        self.setups = 0

    @property
    def total(self) -> float:
        return self.setup + self.teardown


def _findings(model: Model, tests: Collection[str], shown: Collection[str]) -> list[str]:
    """Sentences about the largest findings, and about the largest one in each of the tests that are shown."""
    found = []
    seen: set[str] = set()
    for number, finding in enumerate(topics.ranked(model, False, 0)[0]):
        test = next((region for region in finding.path if region in tests), "")
        if number < FINDINGS or (test in shown and test not in seen):
            found.append(finding.sentence(test))
        seen.add(test)
    return found


class OfTest:
    """Times in s in the phases of a test, of all its runs together. running and waiting: of the thread that ran it; without off-CPU
    time, running is all time. function: the one with the most exclusive running time, and `longest` that time; "": none was
    recorded."""

    def __init__(self) -> None:
        self.running = self.waiting = self.longest = 0.0
        self.function = ""


class Profile:
    """split: times are split into running and waiting. tests and fixtures: by name. findings: sentences about what costs most and
    can be changed, with the test in which it is. collection: its time in s, in the process that took longest. preempted: a
    sentence if threads had no processor for a notable time. losses: what is not recorded."""

    def __init__(self, directory: str, tests: Collection[str], shown: Collection[str] = ()) -> None:
        """tests: all that ran. shown: those of which the first finding is wanted, however small it is beside others.
        spartito._analyse.Error: the experiment cannot be read."""
        model = Model(directory)
        info = model.info()
        self.processes = len(info["processes"])
        self.losses = sentences(info)
        self.preempted = preempted_sentence(info)
        self.findings = _findings(model, tests, shown)
        self.split = {"running", "waiting"} <= {metric["name"] for metric in info["metrics"]}
        self.tests: dict[str, OfTest] = {}
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
        if self.split:
            # the metrics are in ns; each one has a payload with its own order of paths
            _, tree = unpack(model.view("tree", limit=paths, metric="running"))
            running = [time * 1e-9 for time in tree["metric:running:excl"]]
            _, other = unpack(model.view("tree", limit=paths, metric="waiting"))
            waits = dict(zip(other["path"], other["metric:waiting:excl"]))
            waiting = [waits.get(path, 0.0) * 1e-9 for path in tree["path"]]
        else:
            _, tree = unpack(model.view("tree", limit=paths))
            running = list(tree["excl"])
            waiting = [0.0] * len(running)
        parents, row_regions = tree["parent"], tree["region"]
        below: list[tuple[str, bool]] = []  # of each row: the test, "" outside of tests, and whether it is in a phase of that
        times: dict[str, dict[int, float]] = {}  # {test: {region: exclusive running time}}
        for row, region in enumerate(row_regions):
            test, in_phase = below[parents[row]] if parents[row] != NONE else ("", False)
            is_user = region != NONE and kinds[region] == user
            if is_user:
                name = names[region]
                if name in tests:
                    test, in_phase = name, False
                elif name in PHASES and test:
                    in_phase = True  # between the phases pytest writes its reports
                elif name.startswith(FIXTURE):
                    self._add_fixture(name, tree["incl"][row], int(tree["visits"][row]))
            if in_phase:
                of_test = self.tests.setdefault(test, OfTest())
                of_test.running += running[row]
                of_test.waiting += waiting[row]
                if region != NONE and not is_user:
                    functions = times.setdefault(test, {})
                    functions[region] = functions.get(region, 0.0) + running[row]
            below.append((test, in_phase))
        for test, functions in times.items():
            longest = max(functions, key=lambda region: functions[region])
            self.tests[test].function, self.tests[test].longest = names[longest], functions[longest]

    def _add_fixture(self, name: str, time: float, visits: int) -> None:
        fixture = self.fixtures.setdefault(name.removeprefix(FIXTURE).removesuffix(TEARDOWN), Fixture())
        if name.endswith(TEARDOWN):
            fixture.teardown += time
        else:
            fixture.setup += time
            fixture.setups += visits
