# SPDX-License-Identifier: BSD-3-Clause
"""MPI events and definitions of an OTF2 archive, as otf2-print shows them."""

import re

import foreign
from spartito._analyse import Model


class Archive:
    def __init__(self, path):
        self.path = path
        list(foreign.Trace.lines("--warnings-as-errors", "--silent", path))
        self.raw = list(foreign.Trace.lines("-G", path))
        self.definitions = [re.sub(r" <\d+>|(?<=[^ ]) +(?=  )", "", line) for line in self.raw]
        events = list(foreign.Trace.lines(path))
        self.events = [m.groups() for m in (re.match(r"([A-Z_0-9]+) +(\d+) +(\d+)  ?(.*)", line) for line in events) if m]

    def of(self, kind, *parts):
        return [line for line in self.definitions if line.split(" ")[0] == kind and all(p in line for p in parts)]

    def at(self, location, *kinds):
        """The events of a location, without references and times."""
        found = [(kind, re.sub(r" <\d+>", "", rest)) for kind, where, _, rest in self.events if int(where) == location]
        return [f"{kind} {rest}".strip() for kind, rest in found if not kinds or kind in kinds]

    def calls(self, location):
        """Each MPI call with its records: [function, record…]."""
        found, call = [], None
        for event in self.at(location):
            entered = re.match(r'(ENTER|LEAVE) Region: "(MPI_\w+)"$', event)
            if entered and entered[1] == "ENTER":
                assert call is None, event
                call = [entered[2]]
                found.append(call)
            elif entered:
                assert call and call[0] == entered[2], event
                call = None
            elif call and '"waiting"' not in event and '"preempted"' not in event:  # as the machine is busy
                call.append(event)
            elif not call:
                assert not re.match("MPI_|RMA_|COMM_|NON_BLOCKING", event), f"{event} outside of a call"
        return found


def converted(directory, path, process=-1):
    """Converts an experiment; returns its Archive."""
    Model(directory).convert("otf2", str(path), process=process)
    return Archive(path / "traces.otf2")
