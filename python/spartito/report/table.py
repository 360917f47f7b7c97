# SPDX-License-Identifier: BSD-3-Clause
"""The list of all reports. Their names and options are in options/reports.py."""

from __future__ import annotations

from spartito.report.balance import Balance
from spartito.report.callers import Callers
from spartito.report.criticalpath import CriticalPath
from spartito.report.findings.report import Findings
from spartito.report.flat import Flat
from spartito.report.imports import Imports
from spartito.report.iotable import FileIO
from spartito.report.lines.table import Lines
from spartito.report.memorytable import Memory
from spartito.report.messages import Messages
from spartito.report.own import Own
from spartito.report.protocol import Report
from spartito.report.tasktable import Tasks
from spartito.report.timemory import TripCount, WallClock
from spartito.report.tree import Tree
from spartito.report.waits import Waits

REPORTS: tuple[Report, ...] = (
    Flat(),
    Tree(),
    Callers(),
    Findings(),
    Own(),
    Imports(),
    Lines(),
    Memory(),
    Waits(),
    FileIO(),
    Tasks(),
    Balance(),
    Messages(),
    CriticalPath(),
    TripCount(),
    WallClock(),
)


def find(name: str) -> Report:
    return next(report for report in REPORTS if report.name == name)
