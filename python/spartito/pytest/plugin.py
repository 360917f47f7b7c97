# SPDX-License-Identifier: BSD-3-Clause
"""The options of `pytest --spartito`. pytest imports this module at each start, so it loads the rest only with --spartito."""

from __future__ import annotations

import math

import pytest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pytest import Config, Parser

OLDEST = (8, 0)  # version of pytest: the first one with new-style hook wrappers, which record nothing of pluggy between regions
TOP = 10  # default of --spartito-top
NEED_IT = ("--spartito-dir", "--spartito-top", "--spartito-save", "--spartito-baseline", "--spartito-fail-above")


def _percent(text: str) -> float:
    value = float(text.removesuffix("%"))
    if not (math.isfinite(value) and value >= 0):
        raise ValueError("not a percentage")
    return value


def _number(text: str) -> int:
    value = int(text)
    if value < 1:
        raise ValueError("not a positive number")
    return value


_percent.__name__, _number.__name__ = "percentage", "number"  # argparse prints them: invalid percentage value: 'x'


def pytest_addoption(parser: Parser) -> None:
    group = parser.getgroup("spartito", "profiles of tests")
    group.addoption("--spartito", action="store_true", help="measure the session, and show where the slowest tests spend time")
    group.addoption("--spartito-dir", metavar="DIR", help="the experiment: a new or empty directory (default spartito-pytest-TIME)")
    group.addoption("--spartito-top", metavar="N", type=_number, help=f"tests to show, the slowest first (default {TOP})")
    group.addoption("--spartito-save", metavar="FILE", help="write the durations of the tests that passed, as a baseline")
    group.addoption(
        "--spartito-baseline",
        metavar="FILE",
        action="append",
        help="compare with the durations in FILE; given several times, the files are repeated runs",
    )
    group.addoption(
        "--spartito-fail-above",
        metavar="PERCENT",
        type=_percent,
        help="exit status 1 if a test takes more than PERCENT longer than in the baseline",
    )


def pytest_configure(config: Config) -> None:
    given = [name for name in NEED_IT if config.getoption(name) is not None]
    if not config.getoption("--spartito"):
        if given:
            raise pytest.UsageError(f"{given[0]} needs --spartito")
        return
    if getattr(pytest, "version_tuple", (0,)) < OLDEST:
        raise pytest.UsageError(f"--spartito needs pytest {OLDEST[0]}.{OLDEST[1]} or newer; this is {pytest.__version__}")
    if config.getoption("--spartito-fail-above") is not None and not config.getoption("--spartito-baseline"):
        raise pytest.UsageError("--spartito-fail-above needs --spartito-baseline FILE")
    from spartito.pytest import session

    session.begin(config, config.getoption("--spartito-top") or TOP)
